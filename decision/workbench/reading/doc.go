// Package reading finds out what policies read of the input document, and which values they can tell apart there. It reads their source; where
// it does not understand a way of reading, it says so.
package reading
