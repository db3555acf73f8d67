package markup

import (
	"context"

	"ostiary/sanitize"
)

// Detector defuses markup.
type Detector struct{}

var _ sanitize.Detector = Detector{}

// New returns a Detector.
func New() Detector { return Detector{} }

// Families implements sanitize.Detector.
func (Detector) Families() []sanitize.Family { return []sanitize.Family{sanitize.Markup} }

// Detect implements sanitize.Detector. A type that is neither HTML nor Markdown
// is a claim of whoever sent the text, so it switches nothing off.
func (Detector) Detect(_ context.Context, in *sanitize.Input) []sanitize.Match {
	switch {
	case isHTML(in.Text, in.ContentType):
		return htmlMatches(in.Text, 0)
	case in.ContentType == "text/markdown":
		return markdownMatches(in.Text, true)
	default:
		return markdownMatches(in.Text, false)
	}
}
