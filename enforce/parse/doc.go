// Package parse finds in a call's arguments what policies judge by and what plain text hides: paths and hosts.
package parse
