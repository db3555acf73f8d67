package markup

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"ostiary/sanitize"
)

// longValue is the length from which a value in an image's address counts as
// data: longer than what badges and thumbnails carry.
const longValue = 24

// carriesData reports whether an address that is loaded by itself has room for
// what a model was told to put there: a placeholder, or a long value.
func carriesData(u string) bool {
	if strings.ContainsAny(u, "{}<>[]") || strings.Contains(u, "%7B") || strings.Contains(u, "%5B") || strings.Contains(u, "%s") {
		return true
	}
	parsed, err := url.Parse(u)
	if err != nil {
		return true
	}
	for _, values := range parsed.Query() {
		for _, v := range values {
			if len(v) >= longValue {
				return true
			}
		}
	}
	return parsed.RawQuery != "" && !strings.Contains(parsed.RawQuery, "=") && len(parsed.RawQuery) >= longValue
}

// markdownMatches defuses links and images of Markdown. The parser decides
// what is one, so code is left alone.
func markdownMatches(s string, rawHTML bool) []sanitize.Match {
	lower := ""
	if strings.Contains(s, "](") || strings.Contains(s, "]:") {
		lower = strings.ToLower(s)
	}
	risky := strings.Contains(s, "![") || strings.Contains(lower, "javascript:") || strings.Contains(lower, "data:") || strings.Contains(lower, "vbscript:")
	if (lower == "" || !risky) && !(rawHTML && strings.Contains(s, "<")) {
		return nil
	}
	if strings.Count(s, "[") > maxBrackets {
		return linear(s)
	}
	source := []byte(s)
	w := &walker{s: s, source: source, rawHTML: rawHTML}
	root := goldmark.DefaultParser().Parse(text.NewReader(source))
	// The callback returns no error, so neither does Walk.
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			w.visit(n)
		}
		return ast.WalkContinue, nil
	})
	return w.out
}

// maxBrackets bounds what the parser is given: its time grows with the square
// of brackets that stay open.
const maxBrackets = 1000

// maxAddress bounds an address that is looked for without the parser.
const maxAddress = 2048

// linear defuses every "](address" without asking the parser whether it is
// code: with that many brackets the cautious reading is the cheap one.
func linear(s string) []sanitize.Match {
	var out []sanitize.Match
	for at := 0; ; {
		i := strings.Index(s[at:], "](")
		if i < 0 {
			return out
		}
		at += i + len("](")
		end := at
		for end < len(s) && end-at < maxAddress && s[end] > ' ' && s[end] != ')' {
			end++
		}
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		u := strings.ToLower(s[at:end])
		switch {
		case scriptURL(u):
			out = append(out, defuse("script_url", at, end, sanitize.Edit{Start: at, End: at, Text: "defused-"}))
		case strings.HasPrefix(u, "http") && carriesData(s[at:end]) && image(s, at):
			out = append(out, defuse("image_exfiltration", at, end, sanitize.Edit{Start: at + 1, End: at + 3, Text: "xx"}))
		}
		at = end
	}
}

// image reports whether the link whose address starts at is an image.
func image(s string, at int) bool {
	before := s[max(0, at-256):at]
	open := strings.LastIndexByte(before[:len(before)-2], '[')
	return open > 0 && before[open-1] == '!'
}

type walker struct {
	s       string
	source  []byte
	rawHTML bool
	seen    map[string]int // where to look for the next address of the same text
	out     []sanitize.Match
}

func (w *walker) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.Image:
		u := string(n.Destination)
		if strings.HasPrefix(strings.ToLower(u), "http") && carriesData(u) {
			w.address("image_exfiltration", u)
		} else if scriptURL(strings.ToLower(u)) {
			w.address("script_url", u)
		}
	case *ast.Link:
		if scriptURL(strings.ToLower(strings.TrimSpace(string(n.Destination)))) {
			w.address("script_url", string(n.Destination))
		}
	case *ast.RawHTML:
		if w.rawHTML {
			w.segments(n.Segments)
		}
	case *ast.HTMLBlock:
		if w.rawHTML {
			w.segments(n.Lines())
		}
	}
}

func (w *walker) segments(list *text.Segments) {
	if list.Len() == 0 {
		return
	}
	start, end := list.At(0).Start, list.At(list.Len()-1).Stop
	w.out = append(w.out, htmlMatches(w.s[start:end], start)...)
}

// address changes the scheme of the next occurrence of u as a destination.
func (w *walker) address(kind, u string) {
	if w.seen == nil {
		w.seen = make(map[string]int)
	}
	for from := w.seen[u]; ; {
		i := strings.Index(w.s[from:], u)
		if i < 0 {
			return
		}
		at := from + i
		from = at + len(u)
		w.seen[u] = from
		before := strings.TrimRight(w.s[max(0, at-4):at], " <")
		if !strings.HasSuffix(before, "(") && !strings.HasSuffix(before, ":") {
			continue
		}
		e := sanitize.Edit{Start: at, End: at, Text: "defused-"}
		if strings.HasPrefix(strings.ToLower(u), "http") {
			e = sanitize.Edit{Start: at + 1, End: at + 3, Text: "xx"} // hxxps
		}
		w.out = append(w.out, defuse(kind, at, at+len(u), e))
		return
	}
}
