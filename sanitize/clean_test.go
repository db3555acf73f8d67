package sanitize_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ostiary/sanitize"
)

// detector finds what its function says.
type detector func(in *sanitize.Input) []sanitize.Match

func (detector) Families() []sanitize.Family { return []sanitize.Family{sanitize.Secret} }

func (d detector) Detect(_ context.Context, in *sanitize.Input) []sanitize.Match { return d(in) }

// word redacts every occurrence of w.
func word(w string, family sanitize.Family) detector {
	return func(in *sanitize.Input) []sanitize.Match {
		var out []sanitize.Match
		for at := 0; ; {
			i := strings.Index(in.Text[at:], w)
			if i < 0 {
				return out
			}
			at += i + len(w)
			out = append(out, sanitize.Match{
				Family: family, Type: "word", Start: at - len(w), End: at, Action: sanitize.Redacted, Confidence: 1,
			})
		}
	}
}

func cleaner(t *testing.T, cfg sanitize.Config, detectors ...sanitize.Detector) *sanitize.Cleaner {
	t.Helper()
	cfg.Detectors = detectors
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.Unix(0, 0) }
	}
	c, err := sanitize.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryFaultOfAConfigIsNamed(t *testing.T) {
	_, err := sanitize.New(sanitize.Config{MaxBytes: -1})
	for _, want := range []string{"Detectors is empty", "Now is required", "MaxBytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
}

// Covers: A12
func TestContentIsWithheldOnEveryFailure(t *testing.T) {
	late := time.Unix(0, 0)
	ticking := func() time.Time { late = late.Add(time.Second); return late }
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for reason, run := range map[string]func() error{
		"too_large": func() error {
			_, err := cleaner(t, sanitize.Config{MaxBytes: 3}, word("x", sanitize.Secret)).Text(context.Background(), nil, "long", sanitize.Options{})
			return err
		},
		"too_deep": func() error {
			_, err := cleaner(t, sanitize.Config{MaxDepth: 2}, word("x", sanitize.Secret)).JSON(context.Background(), nil, []byte(`[[[1]]]`), sanitize.Options{})
			return err
		},
		"invalid_json": func() error {
			_, err := cleaner(t, sanitize.Config{}, word("x", sanitize.Secret)).JSON(context.Background(), nil, []byte(`{"a":`), sanitize.Options{})
			return err
		},
		"detector_failed": func() error {
			d := detector(func(*sanitize.Input) []sanitize.Match { panic("with a secret in it") })
			_, err := cleaner(t, sanitize.Config{}, d).Text(context.Background(), nil, "x", sanitize.Options{})
			return err
		},
		"bad_detector_span": func() error {
			d := detector(func(*sanitize.Input) []sanitize.Match {
				return []sanitize.Match{{Family: sanitize.Secret, Start: 1, End: 9, Action: sanitize.Redacted}}
			})
			_, err := cleaner(t, sanitize.Config{}, d).Text(context.Background(), nil, "ä", sanitize.Options{})
			return err
		},
		"deadline": func() error {
			_, err := cleaner(t, sanitize.Config{Now: ticking, Deadline: time.Millisecond}, word("x", sanitize.Secret)).Text(context.Background(), nil, "x", sanitize.Options{})
			return err
		},
		"deadline, ended context": func() error {
			_, err := cleaner(t, sanitize.Config{}, word("x", sanitize.Secret)).Text(ended, nil, "x", sanitize.Options{})
			return err
		},
	} {
		err := run()
		var w *sanitize.WithheldError
		if !errors.Is(err, sanitize.ErrWithheld) || !errors.As(err, &w) || !strings.HasPrefix(reason, w.Reason) {
			t.Errorf("%s: got %v", reason, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret in it") {
			t.Errorf("%s: the error quotes content", reason)
		}
	}
}

func TestSameValueKeepsItsNumberWithinAScope(t *testing.T) {
	c := cleaner(t, sanitize.Config{}, word("aaa", sanitize.Secret), word("bbb", sanitize.Secret))
	scope := sanitize.NewScope()
	for in, want := range map[string]string{
		"aaa bbb aaa": "[secret:word#1] [secret:word#2] [secret:word#1]",
	} {
		out, err := c.Text(context.Background(), scope, in, sanitize.Options{})
		if err != nil || out.Text != want {
			t.Errorf("got %q, %v", out.Text, err)
		}
	}
	out, err := c.Text(context.Background(), scope, "bbb", sanitize.Options{})
	if err != nil || out.Text != "[secret:word#2]" {
		t.Errorf("a later text: %q, %v", out.Text, err)
	}
}

func TestScopeIsSafeForConcurrentUse(t *testing.T) {
	c, scope := cleaner(t, sanitize.Config{}, word("aaa", sanitize.Secret)), sanitize.NewScope()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if out, err := c.Text(context.Background(), scope, "aaa", sanitize.Options{}); err != nil || out.Text != "[secret:word#1]" {
					t.Errorf("%q, %v", out.Text, err)
				}
			}
		})
	}
	group.Wait()
}

func TestOverlapRedactsTheUnionOnce(t *testing.T) {
	c := cleaner(t, sanitize.Config{}, word("abcd", sanitize.PII), word("cdef", sanitize.Secret))
	out, err := c.Text(context.Background(), nil, "-abcdef-", sanitize.Options{})
	if err != nil || out.Text != "-[secret:word#1]-" || len(out.Findings) != 2 {
		t.Errorf("%q, %v, %v", out.Text, out.Findings, err)
	}
}

func TestKeysAreScannedAndRenamedKeysStayUnique(t *testing.T) {
	c := cleaner(t, sanitize.Config{}, word("abc", sanitize.Secret))
	out, err := c.JSON(context.Background(), nil, []byte(`{"abc":1,"x~/y":["abc"]}`), sanitize.Options{})
	if err != nil || string(out.JSON) != `{"[secret:word#1]":1,"x~/y":["[secret:word#1]"]}` {
		t.Fatalf("%s, %v", out.JSON, err)
	}
	if got := out.Findings[1].Pointer; got != "/x~0~1y/0" {
		t.Errorf("pointer %q", got)
	}
	_, err = c.JSON(context.Background(), nil, []byte(`{"abc":1,"[secret:word#1]":2}`), sanitize.Options{})
	if !errors.Is(err, sanitize.ErrWithheld) {
		t.Errorf("two names became one: %v", err)
	}
}

// Covers: A16
func TestJSONIsCutByLeavesAndStaysJSON(t *testing.T) {
	c := cleaner(t, sanitize.Config{}, word("abc", sanitize.Secret))
	out, err := c.JSON(context.Background(), nil, []byte(`{"a":"one two three","b":"four five","n":7}`), sanitize.Options{MaxLength: 8})
	if err != nil || string(out.JSON) != `{"a":"one two ","b":"","n":7}` || !out.Truncated {
		t.Errorf("%s, %v, %v", out.JSON, out.Truncated, err)
	}
}

// Covers: A17
func TestURLsInLogsLoseSensitiveValues(t *testing.T) {
	for in, want := range map[string]string{
		"https://h/p?a=1&token=abc&b=2#access_token=x": "https://h/p?a=1&token=***&b=2#access_token=***",
		"https://u:pw@h/p": "https://u:***@h/p",
		"https://b/o?X-Amz-Signature=f00&X-Amz-Date=1": "https://b/o?X-Amz-Signature=***&X-Amz-Date=1",
		"https://h/p?q=a+b&sig=":                       "https://h/p?q=a+b&sig=",
		"/relative?password=1":                         "/relative?password=***",
		"not a url":                                    "not a url",
	} {
		if got := sanitize.MaskURL(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestUncheckedFamiliesAreNamed(t *testing.T) {
	out, err := cleaner(t, sanitize.Config{}, word("x", sanitize.Secret)).Text(context.Background(), nil, "a", sanitize.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]sanitize.Family{sanitize.Secret, sanitize.Size}, out.Checked); diff != "" {
		t.Error(diff)
	}
	if len(out.NotChecked) != 5 {
		t.Errorf("not checked: %v", out.NotChecked)
	}
}

func TestUnreadableLineIsNamedByNumber(t *testing.T) {
	c := cleaner(t, sanitize.Config{}, word("x", sanitize.Secret))
	for _, bad := range []string{`{"id":"2"}`, `{"id":"2","text":"a","extra":1}`, `nonsense`, `{"id":"2","text":"a","text":"b"}`} {
		var out strings.Builder
		err := sanitize.JSONL(context.Background(), c, strings.NewReader(`{"id":"1","text":"a"}`+"\n"+bad+"\n"), &out)
		if err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", bad, err)
		}
		if !strings.HasPrefix(out.String(), `{"id":"1"`) {
			t.Errorf("%s: the good line was not answered", bad)
		}
	}
}

func TestWithheldLineIsAnsweredWithoutText(t *testing.T) {
	c := cleaner(t, sanitize.Config{MaxBytes: 4}, word("x", sanitize.Secret))
	var out strings.Builder
	err := sanitize.JSONL(context.Background(), c, strings.NewReader(`{"id":7,"text":"too long"}`), &out)
	if err != nil || !strings.Contains(out.String(), `"withheld":"too_large"`) || strings.Contains(out.String(), "too long") {
		t.Errorf("%s, %v", out.String(), err)
	}
}
