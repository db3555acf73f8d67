package sanitize

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"
)

// ErrWithheld is matched by every error of Text and JSON: the content was not
// cleaned and must not be passed on.
var ErrWithheld = errors.New("output withheld")

// Suspicion is the score from which a text carries LabelInjection.
const Suspicion = 0.4

// WithheldError says why content was withheld. It matches ErrWithheld. Reason
// is one of "too_large", "too_deep", "deadline", "detector_failed",
// "invalid_json" and "bad_detector_span", and carries no content.
type WithheldError struct {
	Reason string
	Err    error
}

func (e *WithheldError) Error() string {
	if e.Err == nil {
		return "sanitize: output withheld: " + e.Reason
	}
	return "sanitize: output withheld: " + e.Reason + ": " + e.Err.Error()
}

// Unwrap makes errors.Is work for ErrWithheld and for the cause.
func (e *WithheldError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrWithheld}
	}
	return []error{ErrWithheld, e.Err}
}

func withheld(reason string, err error) error { return &WithheldError{Reason: reason, Err: err} }

// Config sets up a Cleaner.
type Config struct {
	// Detectors run in this order. At least one is required.
	Detectors []Detector
	// MaxBytes bounds one input. Default 8 MiB.
	MaxBytes int
	// MaxDepth bounds the nesting of JSON. Default 128.
	MaxDepth int
	// Deadline bounds the cleaning of one input. Default 2s.
	Deadline time.Duration
	// Now is the clock. Required.
	Now func() time.Time
}

// Options are a caller's wishes for one text.
type Options struct {
	// MaxLength cuts the cleaned text to this many bytes; in JSON it bounds
	// the text of all string leaves together. Zero does not cut.
	MaxLength int
	// ReturnSummary asks for Output.Summary.
	ReturnSummary bool
	// ContentType is the media type of the text, when known.
	ContentType string
}

// Cleaner cleans texts. It is safe for concurrent use.
type Cleaner struct {
	cfg     Config
	checked []Family
	missing []Family
}

// New returns a Cleaner, or one error that names every fault of cfg.
func New(cfg Config) (*Cleaner, error) {
	var errs []error
	if len(cfg.Detectors) == 0 {
		errs = append(errs, errors.New("Detectors is empty"))
	}
	if slices.Contains(cfg.Detectors, nil) {
		errs = append(errs, errors.New("Detectors contains nil"))
	}
	if cfg.Now == nil {
		errs = append(errs, errors.New("Now is required"))
	}
	if cfg.MaxBytes < 0 || cfg.MaxDepth < 0 || cfg.Deadline < 0 {
		errs = append(errs, fmt.Errorf("MaxBytes, MaxDepth and Deadline are %d, %d and %v, want >= 0",
			cfg.MaxBytes, cfg.MaxDepth, cfg.Deadline))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("sanitize: %w", errors.Join(errs...))
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 8 << 20
	}
	if cfg.MaxDepth == 0 {
		cfg.MaxDepth = 128
	}
	if cfg.Deadline == 0 {
		cfg.Deadline = 2 * time.Second
	}
	c := &Cleaner{cfg: cfg}
	have := []Family{Size} // the Cleaner itself answers for size
	for _, d := range cfg.Detectors {
		have = append(have, d.Families()...)
	}
	for _, f := range families() {
		if slices.Contains(have, f) {
			c.checked = append(c.checked, f)
		} else {
			c.missing = append(c.missing, f)
		}
	}
	return c, nil
}

// Text cleans plain text. On an error the Output is empty.
func (c *Cleaner) Text(ctx context.Context, scope *Scope, text string, opt Options) (Output, error) {
	if len(text) > c.cfg.MaxBytes {
		return Output{}, withheld("too_large", nil)
	}
	r := c.start(ctx, scope, opt)
	valid := strings.ToValidUTF8(text, "\uFFFD")
	clean, err := r.leaf(valid, "", "")
	if err != nil {
		return Output{}, err
	}
	out := r.finish(len(text))
	out.Text = clean
	if opt.MaxLength > 0 && len(clean) > opt.MaxLength {
		out.Text = cut(clean, opt.MaxLength)
		out.Truncated = true
		out.Findings = append(out.Findings, Finding{
			Family: Size, Type: "truncated", Start: 0, End: len(valid), Action: Cut, Confidence: 1,
		})
	}
	out.ReturnedLength = len(out.Text)
	if opt.ReturnSummary {
		out.Summary = summarize(clean)
	}
	return out, nil
}

// run is the state of one cleaning.
type run struct {
	c        *Cleaner
	ctx      context.Context
	scope    *Scope
	deadline time.Time
	media    string
	out      Output
	unread   bool // a part was left unread on purpose
}

func (c *Cleaner) start(ctx context.Context, scope *Scope, opt Options) *run {
	if scope == nil {
		scope = NewScope()
	}
	media, _, err := mime.ParseMediaType(opt.ContentType)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(opt.ContentType))
	}
	return &run{c: c, ctx: ctx, scope: scope, deadline: c.cfg.Now().Add(c.cfg.Deadline), media: media}
}

// leaf cleans one string and records its findings under pointer.
func (r *run) leaf(text, key, pointer string) (string, error) {
	matches, err := r.detect(text, key)
	if err != nil {
		return "", err
	}
	return apply(text, r.record(text, pointer, matches)), nil
}

// record notes findings and returns the edits that they ask for.
func (r *run) record(text, pointer string, matches []Match) []Edit {
	for _, m := range matches {
		r.out.Findings = append(r.out.Findings, Finding{
			Family: m.Family, Type: m.Type, Pointer: pointer, Start: m.Start, End: m.End,
			Action: m.Action, Confidence: m.Confidence,
		})
	}
	return edits(text, r.scope, matches)
}

// detect runs every detector on text and returns the merged matches.
func (r *run) detect(text, key string) (matches []Match, err error) {
	defer func() {
		if p := recover(); p != nil {
			// The panic value may quote the content, so only its type is told.
			matches, err = nil, withheld("detector_failed", fmt.Errorf("panic of type %T", p))
		}
	}()
	if text == "" {
		return nil, nil
	}
	in := NewInput(text, key, r.media)
	in.stop = func() bool { return r.expired() != nil }
	for _, d := range r.c.cfg.Detectors {
		if err := r.expired(); err != nil {
			return nil, err
		}
		for _, m := range d.Detect(r.ctx, in) {
			if !fits(text, m) {
				return nil, withheld("bad_detector_span", nil)
			}
			r.note(m)
			if !m.Suspicion {
				matches = append(matches, m)
			}
		}
	}
	if err := r.expired(); err != nil {
		return nil, err
	}
	return merge(matches), nil
}

func (r *run) note(m Match) {
	if m.Suspicion || m.Instruction {
		r.out.Score = max(r.out.Score, m.Confidence)
	}
	if m.Instruction {
		r.out.Flagged, r.out.Tainted = true, true
	}
}

func (r *run) expired() error {
	if err := context.Cause(r.ctx); err != nil {
		return withheld("deadline", err)
	}
	if r.c.cfg.Now().After(r.deadline) {
		return withheld("deadline", context.DeadlineExceeded)
	}
	return nil
}

// finish fills in what does not depend on the kind of input.
func (r *run) finish(length int) Output {
	r.out.OriginalLength = length
	r.out.label(Suspicion)
	if !r.unread {
		r.out.Checked, r.out.NotChecked = slices.Clone(r.c.checked), slices.Clone(r.c.missing)
		return r.out
	}
	r.out.Checked = []Family{Size}
	for _, f := range families() {
		if f != Size {
			r.out.NotChecked = append(r.out.NotChecked, f)
		}
	}
	return r.out
}

// fits reports whether every offset of m is usable on text.
func fits(text string, m Match) bool {
	ok := func(start, end int) bool {
		return 0 <= start && start <= end && end <= len(text) && boundary(text, start) && boundary(text, end)
	}
	for _, e := range m.Edits {
		if !ok(e.Start, e.End) {
			return false
		}
	}
	return m.Start < m.End && ok(m.Start, m.End)
}
