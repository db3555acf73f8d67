// Package datadir owns the sidecar's data directory: who may use it (one process at a time), its keys, and the token files of local clients.
// Everything in it is readable by its owner alone.
package datadir
