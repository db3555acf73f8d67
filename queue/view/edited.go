package view

import "slices"

// Rewritten returns a copy of edited in which only the values that were asked about keep their origin: every other one was written by the
// reviewer, whatever stood in its place before.
func Rewritten(edited, asked []Argument) []Argument {
	out := slices.Clone(edited)
	for i, a := range out {
		kept := slices.ContainsFunc(asked, func(b Argument) bool {
			return a.Pointer == b.Pointer && a.Type == b.Type && slices.Equal(a.Runs, b.Runs)
		})
		if !kept {
			out[i].Origin = ""
		}
	}
	return out
}
