// Package view turns the exact bytes of a call's arguments into typed runs that show every character, so that what a reviewer reads is
// what will run.
//
// A value becomes a list of runs. Runs of kind text hold printable characters and may be shown as they stand. Every other kind names
// something a reader could not see or could mistake: it is shown as a chip with its code. The texts of a value's runs, concatenated, are
// the value again, byte for byte; only [Mask] breaks that, and says so by leaving the text empty.
//
// Nothing is left out: empty objects and arrays are arguments of their own, so every key of the document occurs in some pointer, and a
// pointer with characters that would need a chip carries runs too.
package view
