package client

import (
	"slices"
	"strings"
)

// Hosts are the agents' programs whose built-in tools the sidecar has declared under the program's own name.
func Hosts() []string { return []string{"claude-code", "codex"} }

// ServerNamespace returns the namespace of an MCP server's tools, from the name that the server or its host gives. A server that calls
// itself like a host does not get that host's declarations.
func ServerNamespace(name string) string {
	if slices.Contains(Hosts(), strings.ToLower(name)) {
		return "mcp:" + name
	}
	return name
}
