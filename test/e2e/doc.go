// Package e2e tells the whole story on real parts: the sidecar's binary, a third-party MCP server, a browser.
package e2e
