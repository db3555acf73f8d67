package sanitize

import (
	"strings"
	"unicode/utf8"
)

// boundary reports whether i starts a rune of s, or ends s.
func boundary(s string, i int) bool {
	return i == len(s) || i >= 0 && i < len(s) && utf8.RuneStart(s[i])
}

// cut shortens s to at most limit bytes. It prefers the end of a line or
// sentence in the last quarter, then a space, and never ends inside a rune or
// a placeholder.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	end = outsidePlaceholder(s, end)
	head, from := s[:end], end-end/4
	for _, stop := range []string{"\n", "。", ". ", "! ", "? ", "; ", " "} {
		i := strings.LastIndex(head, stop)
		if i < 0 || i+len(stop) <= from {
			continue
		}
		if at := outsidePlaceholder(s, i+len(stop)); at > from {
			return s[:at]
		}
	}
	return head
}

// maxPlaceholder bounds how far back an open placeholder is looked for.
const maxPlaceholder = 96

// outsidePlaceholder moves at to the start of the placeholder it lies in.
func outsidePlaceholder(s string, at int) int {
	low := max(0, at-maxPlaceholder)
	open := strings.LastIndexByte(s[low:at], '[')
	if open < 0 || strings.IndexByte(s[low+open:at], ']') >= 0 {
		return at
	}
	rest := s[low+open+1 : min(len(s), low+open+maxPlaceholder)]
	for _, f := range families() {
		if name, ok := strings.CutPrefix(rest, string(f)+":"); ok && strings.IndexByte(name, ']') >= 0 {
			return low + open
		}
		if strings.HasPrefix(string(f)+":", s[low+open+1:at]) {
			return low + open
		}
	}
	return at
}

// summaryBytes bounds a summary.
const summaryBytes = 400

// summarize is extractive: the first sentences of running text.
func summarize(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		if b.Len() > summaryBytes {
			break
		}
	}
	return strings.TrimSpace(cut(b.String(), summaryBytes))
}
