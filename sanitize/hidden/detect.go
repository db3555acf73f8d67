package hidden

import (
	"context"

	"ostiary/sanitize"
)

// Detector finds hidden text.
type Detector struct{}

var _ sanitize.Detector = Detector{}

// New returns a Detector.
func New() Detector { return Detector{} }

// Families implements sanitize.Detector.
func (Detector) Families() []sanitize.Family { return []sanitize.Family{sanitize.HiddenText} }

// Detect implements sanitize.Detector.
func (Detector) Detect(_ context.Context, in *sanitize.Input) []sanitize.Match {
	return append(runes(in.Text), elements(in.Text)...)
}
