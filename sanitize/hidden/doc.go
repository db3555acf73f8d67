// Package hidden finds text that a reader does not see and a model does:
// tag characters, zero-width runs, direction controls, terminal sequences,
// hidden elements and comments that give orders.
//
// What is invisible is taken out. Joiners between letters of scripts that need
// them, emoji sequences and direction marks in right-to-left text stay.
package hidden
