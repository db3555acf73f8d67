package decode

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// deriveDepth is how often a decoded part is itself decoded.
	deriveDepth = 2
	// minEncoded is the shortest base64 or hex run that is tried.
	minEncoded = 20
	// maxDerived bounds the views of one text.
	maxDerived = 256
)

// Byte classes for the scan for encoded runs.
const (
	classBase64 = 1 << iota
	classHex
	classLetter
)

var byteClass = func() (t [256]byte) {
	for c := range t {
		b := byte(c)
		if isASCIILetter(b) {
			t[c] |= classLetter
		}
		if isASCIILetter(b) || '0' <= b && b <= '9' || strings.IndexByte("+/-_", b) >= 0 {
			t[c] |= classBase64
		}
		if '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f' {
			t[c] |= classHex
		}
	}
	return t
}()

// deriver collects the views of the encoded parts of one text.
type deriver struct {
	root *View
	out  []*View
}

// derive returns the views of what is encoded in main.
func derive(main *View) []*View {
	d := &deriver{root: main}
	d.scan(main.Text, deriveDepth, func(start, end int) (int, int) { return main.Original(start, end) })
	return d.out
}

// scan looks for encoded runs in s; locate maps offsets of s to the original.
func (d *deriver) scan(s string, depth int, locate func(int, int) (int, int)) {
	for i := 0; i < len(s) && len(d.out) < maxDerived; {
		c := s[i]
		switch {
		case byteClass[c]&classBase64 != 0:
			end := i + 1
			for end < len(s) && byteClass[s[end]]&classBase64 != 0 {
				end++
			}
			i = d.run(s, i, end, depth, locate)
		case c == '%' && percentAt(s, i):
			i = d.percent(s, i, depth, locate)
		case c == '\\' && unicodeEscapeAt(s, i):
			i = d.escapes(s, i, depth, locate)
		default:
			i++
		}
	}
}

// run handles the run of base64 characters s[i:end] and returns where to go on.
func (d *deriver) run(s string, i, end, depth int, locate func(int, int) (int, int)) int {
	if end-i >= minEncoded {
		if kind, text := decodeRun(s[i:end]); kind != "" {
			d.add(kind, text, i, end, depth, locate)
		}
		return end
	}
	if end-i == 1 && byteClass[s[i]]&classLetter != 0 {
		if text, to := spaced(s, i); to > 0 {
			d.add("spacing", text, i, to, depth, locate)
			return to
		}
	}
	return end
}

// decodeRun undoes base64 or hex when the result is prose. A prefix is tried
// first so that long binary data costs nothing.
func decodeRun(s string) (kind, text string) {
	const probe = 48
	isHex := true
	for i := 0; i < len(s) && isHex; i++ {
		isHex = byteClass[s[i]]&classHex != 0
	}
	if isHex {
		if b, err := hex.DecodeString(s[:len(s)&^1]); err == nil && prose(b) {
			return "hex", string(b)
		}
		return "", ""
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	if len(s) > probe {
		if b, err := enc.DecodeString(s[:probe]); err != nil || !mostlyPrintable(b) {
			return "", ""
		}
	}
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	b, err := enc.DecodeString(s)
	if err != nil || !prose(b) {
		return "", ""
	}
	return "base64", string(b)
}

// mostlyPrintable allows for runes cut at the end of a probe.
func mostlyPrintable(b []byte) bool {
	for _, c := range b {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func percentAt(s string, i int) bool {
	return i+2 < len(s) && byteClass[s[i+1]]&classHex != 0 && byteClass[s[i+2]]&classHex != 0
}

// lookBack is how far before its first escape a percent-encoded run starts.
const lookBack = 256

// percent decodes the run of non-space bytes around the escape at i when it
// holds at least three escapes.
func (d *deriver) percent(s string, i, depth int, locate func(int, int) (int, int)) int {
	end, count := i, 0
	for low := max(0, i-lookBack); i > low && s[i-1] > ' ' && s[i-1] < utf8.RuneSelf && strings.IndexByte("\"'<>`", s[i-1]) < 0; {
		i--
	}
	for end < len(s) && s[end] > ' ' && strings.IndexByte("\"'<>`", s[end]) < 0 {
		if s[end] == '%' && percentAt(s, end) {
			count++
		}
		end++
	}
	if count >= 3 {
		if text, err := url.PathUnescape(s[i:end]); err == nil && prose([]byte(text)) {
			d.add("percent", text, i, end, depth, locate)
		}
	}
	return end
}

func unicodeEscapeAt(s string, i int) bool {
	if i+5 >= len(s) || s[i+1] != 'u' {
		return false
	}
	_, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
	return err == nil
}

// escapes decodes a run of \uXXXX escapes, which may be mixed with spaces.
func (d *deriver) escapes(s string, i, depth int, locate func(int, int) (int, int)) int {
	var b strings.Builder
	end, count := i, 0
	for end < len(s) {
		if s[end] == '\\' && unicodeEscapeAt(s, end) {
			n, _ := strconv.ParseUint(s[end+2:end+6], 16, 16) // checked by unicodeEscapeAt
			b.WriteRune(rune(n))
			end += 6
			count++
			continue
		}
		if s[end] != ' ' {
			break
		}
		b.WriteByte(' ')
		end++
	}
	if count >= 4 && prose([]byte(b.String())) {
		d.add("escape", b.String(), i, end, depth, locate)
	}
	return end
}

// spaced joins letters that stand apart by one and the same separator
// ("i g n o r e"); two or more separators end a word. It returns 0 when fewer
// than eight letters do.
func spaced(s string, i int) (string, int) {
	if i+2 >= len(s) || strings.IndexByte(" .-_*|", s[i+1]) < 0 {
		return "", 0
	}
	sep := s[i+1]
	var b strings.Builder
	letters, at := 0, i
	for at < len(s) && byteClass[s[at]]&classLetter != 0 &&
		(at+1 == len(s) || byteClass[s[at+1]]&classLetter == 0) {
		b.WriteByte(s[at])
		letters++
		at++
		gap := at
		for gap < len(s) && s[gap] == sep {
			gap++
		}
		if gap == at || gap >= len(s) || byteClass[s[gap]]&classLetter == 0 ||
			gap+1 < len(s) && byteClass[s[gap+1]]&classLetter != 0 {
			break
		}
		if gap-at > 1 {
			b.WriteByte(' ')
		}
		at = gap
	}
	if letters < 8 {
		return "", 0
	}
	return b.String(), at
}

// add records the view of s[start:end] and looks inside it.
func (d *deriver) add(kind, text string, start, end, depth int, locate func(int, int) (int, int)) {
	from, to := locate(start, end)
	inner := newView(text)
	view := &View{Text: inner.Text, Kind: kind, orig: d.root.orig, segs: []segment{{0, from, to, false}}}
	d.out = append(d.out, view)
	if depth > 1 {
		d.scan(view.Text, depth-1, func(int, int) (int, int) { return from, to })
	}
}
