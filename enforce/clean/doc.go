// Package clean takes a tool result apart, cleans every part that a model could read, and puts it together again.
package clean
