package clean

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/wire"
	"ostiary/sanitize"
	"ostiary/tool"
)

// Result is what the parts of one tool result became. Lists are never nil.
type Result struct {
	Envelope            *tool.Envelope
	Content, Structured jsontext.Value
	Findings            []wire.Finding
	Checked, NotChecked []string
	Labels              []string
	Flagged, Tainted    bool
	Score               float64

	truncated          bool
	original, returned int
	summary            string
}

// Cleaner cleans results. It is safe for concurrent use.
type Cleaner struct{ texts *sanitize.Cleaner }

// New returns a Cleaner over the one that cleans single texts.
func New(texts *sanitize.Cleaner) *Cleaner { return &Cleaner{texts} }

// defaultMaxLength is where texts are cut when the caller says nothing (A16), in bytes.
const defaultMaxLength = 4096

// Clean cleans every part of a result that a model could read. On an error there is nothing to pass on.
func (c *Cleaner) Clean(ctx context.Context, scope *sanitize.Scope, req wire.ResultRequest) (Result, error) {
	out := Result{Findings: []wire.Finding{}, Checked: []string{}, NotChecked: []string{}}
	opt := sanitize.Options{MaxLength: defaultMaxLength, ReturnSummary: req.ReturnSummary, ContentType: req.ContentType}
	if req.MaxLength != nil {
		opt.MaxLength = *req.MaxLength
	}
	var err error
	switch {
	case req.Content.Kind() == '"' && len(req.Content) > 0:
		out.Content, err = c.cleanString(ctx, scope, req.Content, opt, &out)
	case len(req.Content) > 0:
		out.Content, err = c.cleanJSON(ctx, scope, req.Content, "", opt, &out)
	default:
		out.Envelope, err = c.cleanEnvelope(ctx, scope, *req.Result, opt, &out)
	}
	if err == nil && len(req.StructuredContent) > 0 {
		opt.ContentType = "" // told of the content alone
		out.Structured, err = c.cleanJSON(ctx, scope, req.StructuredContent, "/structured_content", opt, &out)
	}
	if err != nil {
		return Result{}, err
	}
	// What one part left unread was not checked.
	out.Checked = slices.DeleteFunc(out.Checked, func(f string) bool { return slices.Contains(out.NotChecked, f) })
	if out.Envelope != nil {
		out.note()
	}
	return out, nil
}

func (c *Cleaner) cleanString(ctx context.Context, scope *sanitize.Scope, doc jsontext.Value, opt sanitize.Options, out *Result) (jsontext.Value, error) {
	var text string
	if err := json.Unmarshal(doc, &text); err != nil {
		return nil, err
	}
	o, err := c.texts.Text(ctx, scope, text, opt)
	if err != nil {
		return nil, err
	}
	out.add(o, "")
	return json.Marshal(o.Text)
}

func (c *Cleaner) cleanJSON(ctx context.Context, scope *sanitize.Scope, doc jsontext.Value, prefix string, opt sanitize.Options, out *Result) (jsontext.Value, error) {
	o, err := c.texts.JSON(ctx, scope, doc, opt) // a content type is that of the texts inside
	if err != nil {
		return nil, err
	}
	out.add(o, prefix)
	return o.JSON, nil
}

// around is what an envelope holds beside its status and data; a model may read all of it.
type around struct {
	Warnings []string        `json:"warnings"`
	Error    *tool.CallError `json:"error"`
	Meta     tool.Meta       `json:"meta"`
}

func (c *Cleaner) cleanEnvelope(ctx context.Context, scope *sanitize.Scope, env tool.Envelope, opt sanitize.Options, out *Result) (*tool.Envelope, error) {
	var err error
	if len(env.Data) > 0 {
		if env.Data, err = c.cleanJSON(ctx, scope, env.Data, "/data", opt, out); err != nil {
			return nil, err
		}
	}
	doc, err := json.Marshal(around{env.Warnings, env.Error, env.Meta})
	if err != nil {
		return nil, err
	}
	opt.ContentType, opt.ReturnSummary = "", false
	o, err := c.texts.JSON(ctx, scope, doc, opt)
	if err != nil {
		return nil, err
	}
	if !o.Truncated {
		o.OriginalLength, o.ReturnedLength = 0, 0 // the lengths told are those of what was cut
	}
	out.add(o, "")
	var told around
	if err := json.Unmarshal(o.JSON, &told); err != nil {
		return nil, err
	}
	env.Warnings, env.Error, env.Meta = told.Warnings, told.Error, told.Meta
	return &env, nil
}

// add joins the outcome of one part; prefix is where it stands in the answer.
func (r *Result) add(o sanitize.Output, prefix string) {
	for _, f := range o.Findings {
		r.Findings = append(r.Findings, wire.Finding{Family: string(f.Family), Type: f.Type, Pointer: prefix + f.Pointer, Start: f.Start, End: f.End,
			Action: string(f.Action), Confidence: f.Confidence})
	}
	r.Checked, r.NotChecked = union(r.Checked, o.Checked), union(r.NotChecked, o.NotChecked)
	for _, l := range o.Labels {
		if !slices.Contains(r.Labels, l) {
			r.Labels = append(r.Labels, l)
		}
	}
	r.Flagged, r.Tainted, r.truncated = r.Flagged || o.Flagged, r.Tainted || o.Tainted, r.truncated || o.Truncated
	r.Score = max(r.Score, o.Score)
	r.original, r.returned = r.original+o.OriginalLength, r.returned+o.ReturnedLength
	if r.summary == "" {
		r.summary = o.Summary
	}
}

func union(have []string, more []sanitize.Family) []string {
	for _, f := range more {
		if !slices.Contains(have, string(f)) {
			have = append(have, string(f))
		}
	}
	return have
}

// Counts are the findings by family.
func (r *Result) Counts() map[string]int {
	n := map[string]int{}
	for _, f := range r.Findings {
		n[f.Family]++
	}
	return n
}

// note writes into the envelope what was done to it (A10, A11, E8).
func (r *Result) note() {
	env := r.Envelope
	env.Warnings = slices.Clone(env.Warnings)
	warn := func(w string) {
		if !slices.Contains(env.Warnings, w) {
			env.Warnings = append(env.Warnings, w)
		}
	}
	counts := r.Counts()
	for _, family := range slices.Sorted(maps.Keys(counts)) {
		switch family {
		case "pii":
			warn(tool.WarnPIIRedacted)
		case "secret":
			warn(tool.WarnSecretRedacted)
		}
	}
	if r.truncated {
		warn(tool.WarnTruncated)
		env.Meta.Truncated, env.Meta.OriginalLength, env.Meta.ReturnedLength, env.Meta.Summary = true, r.original, r.returned, r.summary
	}
	env.Meta.RedactionApplied = env.Meta.RedactionApplied || len(r.Findings) > 0
}

// Fault names in one word why cleaning failed, without the cause: a reason of [sanitize.WithheldError] or "internal_error".
func Fault(err error) string {
	var withheld *sanitize.WithheldError
	if errors.As(err, &withheld) {
		return withheld.Reason
	}
	return "internal_error"
}
