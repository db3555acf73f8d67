package sanitize

import (
	"context"

	"ostiary/sanitize/decode"
)

// Detector finds one kind of thing in one string. Implementations MUST be safe
// for concurrent use, MUST run in time linear in the input, and MUST report
// offsets that lie on rune boundaries of Input.Text.
type Detector interface {
	// Families says which families the detector answers for.
	Families() []Family
	// Detect returns what it finds, in any order. It may stop early with what
	// it has when ctx ends; the Cleaner then withholds the text.
	Detect(ctx context.Context, in *Input) []Match
}

// Input is one string as detectors see it.
type Input struct {
	// Text is the original, valid UTF-8.
	Text string
	// Key is the JSON member name that holds the string; "" elsewhere.
	Key string
	// ContentType is the media type in lower case without parameters; "" when
	// unknown.
	ContentType string
	// Main is the decode view of the whole text. Derived are the views of
	// encoded parts; each maps to the whole encoded part.
	Main    *View
	Derived []*View
	// stop reports whether the time for this text is over; nil means never.
	stop func() bool
}

// Expired reports whether the time for this text is over. A detector whose
// work depends on what it finds MUST ask now and then and return early: the
// Cleaner withholds the text.
func (in *Input) Expired() bool { return in.stop != nil && in.stop() }

// View is decoded text with a map to the original bytes.
type View = decode.View

// NewInput prepares text, which must be valid UTF-8, for detectors.
func NewInput(text, key, contentType string) *Input {
	main, derived := decode.Views(text)
	return &Input{Text: text, Key: key, ContentType: contentType, Main: main, Derived: derived}
}

// Match is one detection by a detector.
type Match struct {
	Family     Family
	Type       string
	Start, End int // bytes of Input.Text
	Action     Action
	Confidence float64
	// Value is what the placeholder's number stands for; "" means the text
	// between Start and End.
	Value string
	// Edits says how the text changes for Defused and Removed. Redacted
	// needs none: the span becomes a placeholder.
	Edits []Edit
	// Instruction marks text that speaks to the model: it flags the output.
	Instruction bool
	// Suspicion marks a Match that only raises Output.Score to Confidence and
	// is not reported as a finding.
	Suspicion bool
}

// Edit replaces the bytes from Start to End of Input.Text with Text.
type Edit struct {
	Start, End int
	Text       string
}
