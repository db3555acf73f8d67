// Package localdb opens the sidecar's one SQLite file: migrations, a pool of readers, and one writer that commits in groups.
package localdb
