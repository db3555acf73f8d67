// Package mcpproxy stands between an MCP client and a stdio server, and lets the sidecar decide each tools/call and clean each answer.
//
// Frames pass as the bytes they came in. Only what is decided on or cleaned is parsed: tools/call, cancellations, and what the server
// answers. Cleaning changes strings in their place and no other byte. A frame that two parsers could read differently (duplicate members
// at any depth, invalid UTF-8) is not passed on, and of a response only its id and its result or error.
//
// Nothing runs that the sidecar did not allow: a call it does not answer for is answered here, as a tool result that the model can read.
// Nothing that the server answers is shown unless the sidecar has cleaned it: a tool's result is withheld in the same way, any other
// answer as a JSON-RPC error. Tokens that the client sends back (cursors, sealed states, ids of tasks) pass as they are once the sanitizer has
// read them. An answer that belongs to no request that we saw pass is dropped, since nobody would have cleaned it.
//
// What the server sends of its own accord, requests and notifications, passes as it is.
package mcpproxy
