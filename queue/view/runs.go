package view

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of runs. Text is shown as it stands, every other kind as a chip.
const (
	Text       = "text"
	Break      = "break"      // line breaks, shown and then obeyed
	Space      = "space"      // tabs, wide, leading, trailing and unusual white space
	Control    = "control"    // C0 and C1
	ANSI       = "ansi"       // a whole terminal escape sequence
	Bidi       = "bidi"       // changes the order in which text is shown
	Invisible  = "invisible"  // zero-width, filler and format characters
	Tag        = "tag"        // invisible copies of ASCII
	Variation  = "variation"  // variation selectors, which can carry hidden bytes
	Private    = "private"    // private use: no two fonts agree
	Unassigned = "unassigned" // no character at all, or one newer than our tables
	Marks      = "marks"      // combining marks without a base or piled up
	Confusable = "confusable" // looks like a letter of another script
	Secret     = "secret"     // masked; see Mask
)

const (
	wideSpace = 12 // this many spaces can push text out of sight
	pileMarks = 3  // more marks than this on one base hide their neighbours
)

// Runs splits s into runs; concatenating their texts gives s back. Text that is not valid UTF-8 becomes control runs, byte by byte.
func Runs(s string) []Run {
	out := []Run{}
	odd := confusables(s)
	text := 0 // start of the pending text run
	for i := 0; i < len(s); {
		r, ok := odd[i]
		if !ok {
			r, ok = chip(s, i)
		}
		if !ok {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		if text < i {
			out = append(out, Run{Kind: Text, Text: s[text:i]})
		}
		out = append(out, r)
		i += len(r.Text)
		text = i
	}
	if text < len(s) {
		out = append(out, Run{Kind: Text, Text: s[text:]})
	}
	return out
}

// chip returns the run that starts at s[i:] when it must not be shown as it stands.
func chip(s string, i int) (Run, bool) {
	rest := s[i:]
	c, size := utf8.DecodeRuneInString(rest)
	switch {
	case c == utf8.RuneError && size == 1:
		return Run{Kind: Control, Text: rest[:1], Code: fmt.Sprintf("0x%02X", rest[0])}, true
	case c == 0x1B || c == 0x9B || c == 0x9D || c == 0x90:
		if n := escape(rest); n > size {
			return Run{Kind: ANSI, Text: rest[:n], Code: printable(rest[:n])}, true
		}
	case c == ' ':
		n := len(rest) - len(strings.TrimLeft(rest, " "))
		edge := i == 0 || i+n == len(s) || s[i-1] == '\n' && n >= wideSpace || s[i+n] == '\n' || s[i+n] == '\r'
		if n >= wideSpace || edge {
			return stretch(Space, rest[:n], ' '), true
		}
		return Run{}, false
	case unicode.Is(unicode.Mn, c) || unicode.Is(unicode.Me, c):
		if kind := kindOf(c); kind == Variation || kind == Invisible {
			return stretch(kind, same(rest, c), c), true
		}
		return marks(s, i)
	}
	kind := kindOf(c)
	switch kind {
	case Text:
		return Run{}, false
	case Break:
		return breaks(rest), true
	case Tag:
		return tags(rest), true
	}
	return stretch(kind, same(rest, c), c), true
}

// kindOf classifies one character; the context it stands in is the caller's business.
func kindOf(c rune) string {
	switch {
	case c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029:
		return Break
	case c == '\t' || c != ' ' && unicode.Is(unicode.Zs, c):
		return Space
	case unicode.Is(unicode.Cc, c):
		return Control
	case unicode.Is(unicode.Bidi_Control, c):
		return Bidi
	case c >= 0xE0000 && c <= 0xE007F:
		return Tag
	case unicode.Is(unicode.Variation_Selector, c):
		return Variation
	case unicode.Is(unicode.Co, c):
		return Private
	case blank(c):
		return Invisible
	case c == ' ' || unicode.IsPrint(c):
		return Text
	}
	return Unassigned
}

// blank reports characters that leave no mark on the page: format characters, fillers, and the default-ignorable rest.
func blank(c rune) bool {
	switch c {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC:
		return true
	}
	return unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c)
}

// same returns the leading repetitions of c in s.
func same(s string, c rune) string {
	return s[:len(s)-len(strings.TrimLeft(s, string(c)))]
}

// stretch makes one run of n equal characters.
func stretch(kind, text string, c rune) Run {
	code := fmt.Sprintf("U+%04X", c)
	if n := utf8.RuneCountInString(text); n > 1 {
		code += fmt.Sprintf(" ×%d", n)
	}
	return Run{Kind: kind, Text: text, Code: code}
}

// breaks makes one run of equal line breaks, so that a flood of them is one chip. CR LF counts as one.
func breaks(s string) Run {
	c, size := utf8.DecodeRuneInString(s)
	unit, code := s[:size], map[rune]string{'\n': "LF", '\r': "CR", 0x85: "NEL", 0x2028: "LS", 0x2029: "PS"}[c]
	if strings.HasPrefix(s, "\r\n") {
		unit, code = "\r\n", "CRLF"
	}
	n := 1
	for strings.HasPrefix(s[n*len(unit):], unit) {
		n++
	}
	if n > 1 {
		code += fmt.Sprintf(" ×%d", n)
	}
	return Run{Kind: Break, Text: s[:n*len(unit)], Code: code}
}

// tags makes one run of tag characters and says the ASCII they copy.
func tags(s string) Run {
	var says strings.Builder
	n := 0
	for n < len(s) {
		c, size := utf8.DecodeRuneInString(s[n:])
		if kindOf(c) != Tag {
			break
		}
		if low := c - 0xE0000; low >= 0x20 && low < 0x7F {
			says.WriteRune(low)
		}
		n += size
	}
	first, _ := utf8.DecodeRuneInString(s)
	return Run{Kind: Tag, Text: s[:n], Code: fmt.Sprintf("U+%04X ×%d", first, utf8.RuneCountInString(s[:n])), Says: says.String()}
}

// marks returns a run for combining marks that stand alone (they would sit on a neighbouring chip) or pile up.
func marks(s string, i int) (Run, bool) {
	n, count := i, 0
	for n < len(s) {
		c, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.Is(unicode.Mn, c) && !unicode.Is(unicode.Me, c) || kindOf(c) != Text {
			break
		}
		n, count = n+size, count+1
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	alone := i == 0 || before == ' ' || kindOf(before) != Text
	// Marks after the first of a pile are only reached when the pile is small enough to be text.
	if count == 0 || !alone && count <= pileMarks {
		return Run{}, false
	}
	first, _ := utf8.DecodeRuneInString(s[i:])
	return Run{Kind: Marks, Text: s[i:n], Code: fmt.Sprintf("U+%04X ×%d", first, count)}, true
}

// escape returns the length of the terminal sequence that starts s, or 0. Strings (OSC, DCS, APC, PM, SOS) run to BEL or ST; one that
// never ends is a sequence to the end of its line.
func escape(s string) int {
	c, n := utf8.DecodeRuneInString(s)
	intro := c
	if c == 0x1B {
		if len(s) < 2 {
			return 0
		}
		intro = map[byte]rune{'[': 0x9B, ']': 0x9D, 'P': 0x90, '_': 0x90, '^': 0x90, 'X': 0x90}[s[1]]
		if intro == 0 {
			if s[1] >= 0x20 && s[1] < 0x7F {
				return 2
			}
			return 0
		}
		n = 2
	}
	if intro == 0x9B {
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3F {
			n++
		}
		if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7E {
			return n + 1
		}
		return n
	}
	for n < len(s) {
		switch {
		case s[n] == 0x07:
			return n + 1
		case strings.HasPrefix(s[n:], "\x1b\\"), strings.HasPrefix(s[n:], "\u009c"):
			return n + 2
		case s[n] == '\n':
			return n
		}
		n++
	}
	return n
}

// printable spells an escape sequence in ASCII, cut where it stops being short.
func printable(s string) string {
	const most = 24
	var b strings.Builder
	for _, c := range s {
		switch {
		case b.Len() >= most:
			return b.String() + "…"
		case c == 0x1B:
			b.WriteString("ESC ")
		case c > 0x20 && c < 0x7F:
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "<%02X>", c)
		}
	}
	return b.String()
}
