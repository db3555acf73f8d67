// Package mcpproxy stands between an MCP client and a stdio server, and lets the sidecar decide each tools/call.
//
// Frames pass as the bytes they came in. Only what is decided on is parsed: tools/call with its results, the hints of tools/list, the
// server's name in initialize, and cancellations. A frame that two parsers could read differently (duplicate members at any depth,
// invalid UTF-8) is not passed on.
//
// Nothing runs that the sidecar did not allow: a call it does not answer for is answered here, as a tool result that the model can read.
// An answer of the server that belongs to no request that we saw pass is dropped, since it could be a result that nobody cleaned.
package mcpproxy
