package tool

import "slices"

// Label marks what a session or value has touched. Labels join and only grow (sanitize.md §2).
type Label string

// Labels that we set; "confidential:<x>" comes from declarations.
const (
	LabelUntrusted Label = "untrusted"
	LabelInjection Label = "injection_suspected"
	LabelPII       Label = "pii"
	LabelSecret    Label = "secret"
)

// Join returns the sorted union of two label sets, without touching either.
func Join(a, b []Label) []Label {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}
