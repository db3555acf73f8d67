package hidden

import (
	"unicode/utf8"

	"ostiary/sanitize"
)

// The types of findings in plain text.
const (
	tagCharacters = "tag_characters"
	selectors     = "variation_selectors"
	direction     = "bidi_control"
	zeroWidth     = "zero_width"
	terminal      = "terminal_control"
)

// joinGap is how many bytes apart two invisible runs may stand and still be
// one finding: text with something hidden after every letter is one thing.
const joinGap = 8

// scan collects invisible runs.
type scan struct {
	text string
	rtl  bool // the text has right-to-left letters
	out  []sanitize.Match
}

// runes finds invisible characters in s.
func runes(s string) []sanitize.Match {
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < utf8.RuneSelf && s[i] != 0x1b
	}
	if ascii {
		return nil
	}
	c := &scan{text: s}
	for _, r := range s {
		if r >= 0x0590 && r <= 0x08FF || r >= 0xFB1D && r <= 0xFDFF {
			c.rtl = true
			break
		}
	}
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i = max(c.escape(i), i+1)
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		kind := c.kind(r, i, size)
		if kind == "" {
			i += size
			continue
		}
		i = c.run(kind, i)
	}
	return c.out
}

// kind says what hides at i; "" for nothing.
func (c *scan) kind(r rune, i, size int) string {
	switch {
	case r >= 0xE0000 && r <= 0xE007F:
		return tagCharacters
	case r >= 0xE0100 && r <= 0xE01EF, r >= 0xFE00 && r <= 0xFE0F:
		return selectors
	case r == 0x202D, r == 0x202E, !c.rtl && (r >= 0x202A && r <= 0x202C || r >= 0x2066 && r <= 0x2069):
		return direction
	case r == 0x200B, r >= 0x2060 && r <= 0x2064, r == 0xFEFF && i > 0, r == 0x180E, r == 0x3164, r == 0xFFA0:
		return zeroWidth
	case r == 0x200C, r == 0x200D, r == 0x00AD, r == 0x034F:
		if asciiWord(c.text, i-1) && asciiWord(c.text, i+size) {
			return zeroWidth
		}
	}
	return ""
}

func asciiWord(s string, i int) bool {
	if i < 0 || i >= len(s) {
		return false
	}
	b := s[i] | 0x20
	return 'a' <= b && b <= 'z' || '0' <= s[i] && s[i] <= '9'
}

// run reads the run of one kind at i and returns its end.
func (c *scan) run(kind string, i int) int {
	end, count := i, 0
	for end < len(c.text) {
		r, size := utf8.DecodeRuneInString(c.text[end:])
		if c.kind(r, end, size) != kind {
			break
		}
		end += size
		count++
	}
	switch {
	case kind == selectors && count < 2:
		return end // one selector chooses a glyph
	case kind == tagCharacters && flag(c.text, i, count):
		return end
	}
	c.add(kind, i, end, kind == tagCharacters && count >= 4 || kind == selectors && count >= 8)
	return end
}

// flag reports whether the tag characters at i spell the flag of a region:
// a black flag, up to six tags and a cancel tag.
func flag(s string, i, count int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return r == 0x1F3F4 && count <= 7
}

// escape handles a terminal sequence that hides or carries text: conceal and
// operating system commands. Colours stay.
func (c *scan) escape(i int) int {
	s := c.text
	if s[i] != 0x1b || i+1 >= len(s) {
		return 0
	}
	if s[i+1] == ']' {
		for end := i + 2; end < min(len(s), i+512); end++ {
			if s[end] == 0x07 {
				c.add(terminal, i, end+1, false)
				return end + 1
			}
			if s[end] == 0x1b && end+1 < len(s) && s[end+1] == '\\' {
				c.add(terminal, i, end+2, false)
				return end + 2
			}
		}
	}
	if len(s) >= i+4 && s[i:i+4] == "\x1b[8m" {
		c.add(terminal, i, i+4, false)
		return i + 4
	}
	return 0
}

// add records a run, joined to the one before when that is close.
func (c *scan) add(kind string, start, end int, instruction bool) {
	e := sanitize.Edit{Start: start, End: end}
	if n := len(c.out); n > 0 {
		if last := &c.out[n-1]; last.Type == kind && start-last.End <= joinGap {
			last.End = end
			last.Edits = append(last.Edits, e)
			last.Instruction = last.Instruction || instruction
			return
		}
	}
	c.out = append(c.out, sanitize.Match{
		Family: sanitize.HiddenText, Type: kind, Start: start, End: end, Action: sanitize.Removed,
		Confidence: 0.95, Edits: []sanitize.Edit{e}, Instruction: instruction,
	})
}
