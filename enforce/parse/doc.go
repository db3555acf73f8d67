// Package parse finds in a call's arguments what policies judge by and what plain text hides: paths, hosts and files, the programs that shell
// commands run, and what SQL does.
package parse
