// Package localsession keeps session records in the sidecar's SQLite file.
package localsession
