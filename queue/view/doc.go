// Package view turns the exact bytes of a call's arguments into typed runs that show every character, so that what a reviewer reads is
// what will run.
package view
