package sanitize

import "slices"

// Family names a group of checks; the values are those of the wire.
type Family string

// The families, in the order in which answers list them.
const (
	Secret     Family = "secret"
	PII        Family = "pii"
	Injection  Family = "injection"
	Markup     Family = "markup"
	HiddenText Family = "hidden_text"
	URL        Family = "url"
	Size       Family = "size"
)

// families lists every family in wire order.
func families() []Family {
	return []Family{Secret, PII, Injection, Markup, HiddenText, URL, Size}
}

// Action is what was done about a finding.
type Action string

// The actions. Flagged leaves the text as it is.
const (
	Flagged  Action = "flagged"
	Defused  Action = "defused"
	Removed  Action = "removed"
	Redacted Action = "redacted"
	Cut      Action = "cut"
)

// Finding is one detection. Start and End are bytes of the original UTF-8
// string at Pointer (RFC 6901; "" for plain text and for the root of a JSON
// text). Where the input was not valid UTF-8 they count in the input after
// each bad sequence became one U+FFFD.
type Finding struct {
	Family     Family  `json:"family"`
	Type       string  `json:"type"`
	Pointer    string  `json:"pointer"`
	Start      int     `json:"start"`
	End        int     `json:"end"`
	Action     Action  `json:"action"`
	Confidence float64 `json:"confidence"`
	// InName: the offsets are of the member's name, the last part of Pointer, not of its value.
	InName bool `json:"in_name,omitzero"`
}

// Labels that a cleaned text can carry.
const (
	LabelPII       = "pii"
	LabelSecret    = "secret"
	LabelInjection = "injection_suspected"
)

// Output is a cleaned text and the account of what was done to it.
type Output struct {
	// Text is the cleaned text; set by Cleaner.Text.
	Text string
	// JSON is the cleaned JSON text; set by Cleaner.JSON.
	JSON []byte
	// Findings are ordered by pointer in document order, then by offset.
	Findings []Finding
	// Checked holds the families that read everything, NotChecked those that
	// did not run or had to leave a part unread.
	Checked, NotChecked []Family
	// Flagged is the injection detector's strict word; Score lies in [0,1]
	// and also counts what was only suspected.
	Flagged bool
	Score   float64
	// Tainted is true when an instruction to the model was found, open or hidden.
	Tainted bool
	// Truncated says that the text was cut to Options.MaxLength. The lengths
	// are bytes; OriginalLength counts before and ReturnedLength after cleaning.
	Truncated                      bool
	OriginalLength, ReturnedLength int
	// Summary is a few sentences of the cleaned text, when asked for.
	Summary string
	// Labels is a sorted subset of the Label constants.
	Labels []string
}

// Counts returns the number of findings of each family that has any.
func (o Output) Counts() map[Family]int {
	counts := make(map[Family]int)
	for _, f := range o.Findings {
		counts[f.Family]++
	}
	return counts
}

// label derives Labels from the findings and the score.
func (o *Output) label(suspicion float64) {
	for _, f := range o.Findings {
		switch {
		case f.Family == PII && f.Action == Redacted:
			o.Labels = append(o.Labels, LabelPII)
		case f.Family == Secret:
			o.Labels = append(o.Labels, LabelSecret)
		}
	}
	if o.Tainted || o.Score >= suspicion {
		o.Labels = append(o.Labels, LabelInjection)
	}
	slices.Sort(o.Labels)
	o.Labels = slices.Compact(o.Labels)
}
