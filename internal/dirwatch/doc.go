// Package dirwatch tells when something below a directory has changed.
package dirwatch
