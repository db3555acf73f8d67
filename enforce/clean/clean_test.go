package clean_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/clean"
	"ostiary/enforce/wire"
	"ostiary/sanitize"
	"ostiary/sanitize/shipped"
	"ostiary/tool"
)

func cleaner(t *testing.T) *clean.Cleaner {
	t.Helper()
	texts, err := shipped.New(sanitize.Config{Now: time.Now, Deadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return clean.New(texts)
}

func run(t *testing.T, c *clean.Cleaner, req wire.ResultRequest) clean.Result {
	t.Helper()
	got, err := c.Clean(context.Background(), sanitize.NewScope(), req)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// image is the beginning of a PNG, long enough to be taken for one.
var image = "iVBORw0KGgo" + strings.Repeat("A", 64)

func TestWhatOnePartLeftUnreadWasNotChecked(t *testing.T) {
	t.Parallel()
	c := cleaner(t)
	block := jsontext.Value(`[{"type":"image","data":"` + image + `"}]`)
	for name, req := range map[string]wire.ResultRequest{
		"alone":        {Content: block},
		"beside text":  {Content: jsontext.Value(`"text"`), StructuredContent: block},
		"before text":  {Content: block, StructuredContent: jsontext.Value(`{"a":"text"}`)},
		"in envelopes": {Result: &tool.Envelope{Status: tool.OK, Data: block}},
	} {
		got := run(t, c, req)
		if slices.Contains(got.Checked, "secret") || !slices.Contains(got.NotChecked, "secret") || !slices.Contains(got.NotChecked, "injection") {
			t.Errorf("%s: checked %v, not checked %v", name, got.Checked, got.NotChecked)
		}
	}
}

func TestTheCallersEnvelopeIsLeftAlone(t *testing.T) {
	t.Parallel()
	env := &tool.Envelope{Status: tool.Failed, Warnings: []string{"a@example.com"}, Data: jsontext.Value(`"a@example.com"`), Error: &tool.CallError{Code: "x", Message: "a@example.com"}}
	got := run(t, cleaner(t), wire.ResultRequest{Result: env})
	if env.Error.Message != "a@example.com" || env.Warnings[0] != "a@example.com" || string(env.Data) != `"a@example.com"` {
		t.Errorf("%+v", env)
	}
	if got.Envelope.Error.Message != "[pii:email#1]" || !slices.Equal(got.Envelope.Warnings, []string{"[pii:email#1]", tool.WarnPIIRedacted}) || !got.Envelope.Meta.RedactionApplied {
		t.Errorf("%+v", got.Envelope)
	}
	if got.Counts()["pii"] != 3 {
		t.Errorf("%v", got.Counts())
	}
}

func TestOneValueHasOnePlaceholderInEveryPart(t *testing.T) {
	t.Parallel()
	got := run(t, cleaner(t), wire.ResultRequest{Content: jsontext.Value(`"b@example.com a@example.com"`), StructuredContent: jsontext.Value(`["a@example.com"]`)})
	if string(got.Content) != `"[pii:email#1] [pii:email#2]"` || string(got.Structured) != `["[pii:email#2]"]` {
		t.Errorf("%s %s", got.Content, got.Structured)
	}
}

// Covers: A14
func TestHTMLIsDefusedWhereverItStands(t *testing.T) {
	t.Parallel()
	c := cleaner(t)
	const evil = `<script>steal()</script>`
	for name, req := range map[string]wire.ResultRequest{
		"a string": {Content: jsontext.Value(`"` + evil + `"`), ContentType: "text/html"},
		"blocks":   {Content: jsontext.Value(`[{"type":"text","text":"` + evil + `"}]`), ContentType: "text/html"},
		"data":     {Result: &tool.Envelope{Status: tool.OK, Data: jsontext.Value(`{"page":"` + evil + `"}`)}, ContentType: "text/html; charset=utf-8"},
	} {
		got := run(t, c, req)
		all := string(got.Content) + string(got.Structured)
		if got.Envelope != nil {
			all += string(got.Envelope.Data)
		}
		if strings.Contains(all, "<script") || got.Counts()["markup"] == 0 {
			t.Errorf("%s: %s with %+v", name, all, got.Findings)
		}
	}
}

func TestWhatIsSaidIsWhatProvenanceLearns(t *testing.T) {
	t.Parallel()
	env := &tool.Envelope{Status: tool.Failed, Data: jsontext.Value(`{"k":["one",2,true]}`), Warnings: []string{"six"}, Meta: tool.Meta{Provider: "seven"},
		Error: &tool.CallError{Code: "c", Message: "three", Detail: "four", Recovery: "five", NextSteps: []string{"eight"}}}
	got := clean.RawText(wire.ResultRequest{Result: env})
	for _, word := range []string{"one", "2", "three", "four", "five", "six", "seven", "eight"} {
		if !strings.Contains(got, word) {
			t.Errorf("%s is not learned from %q", word, got)
		}
	}
	got = clean.RawText(wire.ResultRequest{Content: jsontext.Value(`[{"text":"one"}]`), StructuredContent: jsontext.Value(`{"a":"two"}`)})
	if !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("%q", got)
	}
}
