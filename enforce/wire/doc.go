// Package wire holds the request and response types of the agent's API, exactly as wire.md fixes them. It holds no behaviour.
package wire
