package enforce

import (
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/wire"
	"ostiary/sanitize"
	"ostiary/tool"
)

// cleaned is what the parts of one result became.
type cleaned struct {
	result              *tool.Envelope
	content, structured jsontext.Value
	findings            []wire.Finding
	checked, notChecked []string
	labels              []string
	flagged, tainted    bool
	truncated           bool
	score               float64
	original, returned  int
	summary             string
}

// clean cleans every part of a result that a model could read.
func (e *Enforcer) clean(ctx context.Context, scope *sanitize.Scope, req wire.ResultRequest) (cleaned, error) {
	out := cleaned{findings: []wire.Finding{}, checked: []string{}, notChecked: []string{}}
	opt := sanitize.Options{MaxLength: defaultMaxLength, ReturnSummary: req.ReturnSummary, ContentType: req.ContentType}
	if req.MaxLength != nil {
		opt.MaxLength = *req.MaxLength
	}
	var err error
	switch {
	case req.Content.Kind() == '"' && len(req.Content) > 0:
		out.content, err = e.cleanString(ctx, scope, req.Content, opt, &out)
	case len(req.Content) > 0:
		out.content, err = e.cleanJSON(ctx, scope, req.Content, "", opt, &out)
	default:
		out.result, err = e.cleanEnvelope(ctx, scope, *req.Result, opt, &out)
	}
	if err == nil && len(req.StructuredContent) > 0 {
		out.structured, err = e.cleanJSON(ctx, scope, req.StructuredContent, "/structured_content", opt, &out)
	}
	if err != nil {
		return cleaned{}, err
	}
	if out.result != nil {
		out.note()
	}
	return out, nil
}

func (e *Enforcer) cleanString(ctx context.Context, scope *sanitize.Scope, doc jsontext.Value, opt sanitize.Options, out *cleaned) (jsontext.Value, error) {
	var text string
	if err := json.Unmarshal(doc, &text); err != nil {
		return nil, err
	}
	o, err := e.cfg.Cleaner.Text(ctx, scope, text, opt)
	if err != nil {
		return nil, err
	}
	out.add(o, "")
	return json.Marshal(o.Text)
}

func (e *Enforcer) cleanJSON(ctx context.Context, scope *sanitize.Scope, doc jsontext.Value, prefix string, opt sanitize.Options, out *cleaned) (jsontext.Value, error) {
	opt.ContentType = "" // the type is of the text inside, and a document is no HTML
	o, err := e.cfg.Cleaner.JSON(ctx, scope, doc, opt)
	if err != nil {
		return nil, err
	}
	out.add(o, prefix)
	return o.JSON, nil
}

func (e *Enforcer) cleanEnvelope(ctx context.Context, scope *sanitize.Scope, env tool.Envelope, opt sanitize.Options, out *cleaned) (*tool.Envelope, error) {
	var err error
	if len(env.Data) > 0 {
		inner := opt
		if env.Data, err = e.cleanData(ctx, scope, env.Data, inner, out); err != nil {
			return nil, err
		}
	}
	if env.Error == nil {
		return &env, nil
	}
	told := *env.Error
	for _, part := range []*string{&told.Message, &told.Detail, &told.Recovery} {
		o, err := e.cfg.Cleaner.Text(ctx, scope, *part, opt)
		if err != nil {
			return nil, err
		}
		out.add(o, "/error")
		*part = o.Text
	}
	env.Error = &told
	return &env, nil
}

// cleanData cleans an envelope's data, which may be a bare string.
func (e *Enforcer) cleanData(ctx context.Context, scope *sanitize.Scope, data jsontext.Value, opt sanitize.Options, out *cleaned) (jsontext.Value, error) {
	o, err := e.cfg.Cleaner.JSON(ctx, scope, data, opt)
	if err != nil {
		return nil, err
	}
	out.add(o, "/data")
	return o.JSON, nil
}

// add joins the outcome of one part; prefix is where it stands in the answer.
func (c *cleaned) add(o sanitize.Output, prefix string) {
	for _, f := range o.Findings {
		c.findings = append(c.findings, wire.Finding{Family: string(f.Family), Type: f.Type, Pointer: prefix + f.Pointer, Start: f.Start, End: f.End,
			Action: string(f.Action), Confidence: f.Confidence})
	}
	c.checked, c.notChecked = union(c.checked, o.Checked), union(c.notChecked, o.NotChecked)
	for _, l := range o.Labels {
		if !slices.Contains(c.labels, l) {
			c.labels = append(c.labels, l)
		}
	}
	c.flagged, c.tainted, c.truncated = c.flagged || o.Flagged, c.tainted || o.Tainted, c.truncated || o.Truncated
	c.score = max(c.score, o.Score)
	c.original, c.returned = c.original+o.OriginalLength, c.returned+o.ReturnedLength
	if c.summary == "" {
		c.summary = o.Summary
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

// counts are the findings by family.
func (c *cleaned) counts() map[string]int {
	n := map[string]int{}
	for _, f := range c.findings {
		n[f.Family]++
	}
	return n
}

// note writes into the envelope what was done to it (A10, A11, E8).
func (c *cleaned) note() {
	env := c.result
	env.Warnings = slices.Clone(env.Warnings)
	warn := func(w string) {
		if !slices.Contains(env.Warnings, w) {
			env.Warnings = append(env.Warnings, w)
		}
	}
	counts := c.counts()
	for _, family := range slices.Sorted(maps.Keys(counts)) {
		switch family {
		case "pii":
			warn(tool.WarnPIIRedacted)
		case "secret":
			warn(tool.WarnSecretRedacted)
		}
	}
	if c.truncated {
		warn(tool.WarnTruncated)
		env.Meta.Truncated, env.Meta.OriginalLength, env.Meta.ReturnedLength, env.Meta.Summary = true, c.original, c.returned, c.summary
	}
	env.Meta.RedactionApplied = env.Meta.RedactionApplied || len(c.findings) > 0
}
