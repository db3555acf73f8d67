// Package localqueue keeps review items in the sidecar's SQLite file. It is the authority of the items it holds.
package localqueue
