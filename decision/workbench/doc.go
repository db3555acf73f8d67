// Package workbench is where authors try policies before they are in force: it checks their files, looks for traps, and runs their tests.
//
// A Bench reads what the sidecar would read, by the same compiler, but stops at no fault. What it finds are values, for any face to show;
// their WriteText is the one that people read on a terminal.
package workbench
