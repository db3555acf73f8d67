// Package archtest holds the repository to its own promises: layers, heavy imports, package comments and sizes. It reads the files itself,
// so that the test cache knows what the answer rests on.
package archtest
