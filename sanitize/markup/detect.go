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

// Detect implements sanitize.Detector. Content of a known type that is neither
// HTML, Markdown nor plain text is left alone.
func (Detector) Detect(_ context.Context, in *sanitize.Input) []sanitize.Match {
	switch {
	case isHTML(in.Text, in.ContentType):
		return htmlMatches(in.Text, 0)
	case in.ContentType == "" || in.ContentType == "text/plain" || in.ContentType == "application/json":
		return markdownMatches(in.Text, false)
	case in.ContentType == "text/markdown":
		return markdownMatches(in.Text, true)
	}
	return nil
}
