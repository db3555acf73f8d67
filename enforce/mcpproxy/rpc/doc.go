// Package rpc reads JSON-RPC frames strictly and changes them in their place, so that all other bytes stay as they came.
package rpc
