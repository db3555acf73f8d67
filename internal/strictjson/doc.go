// Package strictjson reads JSON that two parsers cannot understand differently, and writes its one canonical form.
//
// Refused at any depth: duplicate keys, invalid UTF-8, lone surrogates, trailing data, more than 64 levels, more than 10,000 keys, and
// numbers that no double can come near (1e400). Keys match exactly. Numbers keep their exact text (wire.md §1, §5).
package strictjson
