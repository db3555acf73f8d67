// Package client is the Go client of the agents' API over the types of enforce/wire. Hooks and proxies are built on it. It pulls in neither
// OPA nor gin nor Redis, so that a process that uses it starts in milliseconds.
package client
