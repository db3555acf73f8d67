package inject

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a word, or one character of a script that sets no spaces.
type token struct {
	start, end       int // bytes of the view
	from, to         int // bytes of tokens.folded
	sentence         int
	upper, hasDigits bool
}

// tokens is a text in words, folded: lower case, no apostrophes, no marks on
// Latin, Greek and Cyrillic letters.
type tokens struct {
	text   string
	folded []byte
	tokens []token
}

func (t *tokens) word(i int) string { return string(t.bytes(i)) }

func (t *tokens) bytes(i int) []byte { return t.folded[t.tokens[i].from:t.tokens[i].to] }

// tokenize splits text; its time is linear.
func tokenize(text string) *tokens {
	t := &tokens{text: text, folded: make([]byte, 0, len(text)+8), tokens: make([]token, 0, len(text)/6+4)}
	sentence := 0
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c < utf8.RuneSelf && !wordByte(c):
			if ends(text, i) {
				sentence++
			}
			i++
		case c < utf8.RuneSelf:
			i = t.spaced(i, sentence)
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			switch {
			case unspaced(r):
				t.push(i, i+size, sentence, func() { t.folded = utf8.AppendRune(t.folded, r) })
				i += size
			case unicode.IsLetter(r) || unicode.IsMark(r):
				i = t.spaced(i, sentence)
			default:
				if r == '。' || r == '！' || r == '？' || r == '؟' || r == '।' {
					sentence++
				}
				i += size
			}
		}
	}
	return t
}

func (t *tokens) push(start, end, sentence int, fold func()) {
	from := len(t.folded)
	fold()
	if from < len(t.folded) {
		t.tokens = append(t.tokens, token{start: start, end: end, from: from, to: len(t.folded), sentence: sentence})
	}
}

// spaced reads the word at i and returns its end.
func (t *tokens) spaced(i, sentence int) int {
	start, from := i, len(t.folded)
	upper, digits, plain := true, false, true
	for i < len(t.text) {
		c := t.text[i]
		if c < utf8.RuneSelf {
			if !wordByte(c) && !(c == '\'' && i+1 < len(t.text) && wordByte(t.text[i+1])) {
				break
			}
			if c != '\'' {
				if 'A' <= c && c <= 'Z' {
					c |= 0x20
				} else {
					upper = upper && (c < 'a' || c > 'z')
				}
				digits = digits || '0' <= c && c <= '9'
				t.folded = append(t.folded, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(t.text[i:])
		if unspaced(r) || r != '’' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			break
		}
		if r != '’' {
			t.folded = utf8.AppendRune(t.folded, unicode.ToLower(r))
			plain = false
		}
		i += size
	}
	if !plain {
		t.folded = append(t.folded[:from], unmark(string(t.folded[from:]))...)
	}
	if from < len(t.folded) {
		t.tokens = append(t.tokens, token{start, i, from, len(t.folded), sentence, upper, digits})
	}
	return i
}

func wordByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_'
}

// ends reports whether the ASCII byte at i ends a sentence: a stop before
// white space, a blank line, or the border of a table cell.
func ends(text string, i int) bool {
	next := byte('\n')
	if i+1 < len(text) {
		next = text[i+1]
	}
	switch text[i] {
	case '.', '!', '?':
		return next == ' ' || next == '\n' || next == '\r'
	case '\n':
		return next == '\n' || next == '-' || next == '*' || next == '#'
	case '|':
		return true
	}
	return false
}

// unspaced reports whether r belongs to a script that does not set words apart,
// or, like Hangul, joins endings to them.
func unspaced(r rune) bool {
	return r >= 0x3040 && r <= 0x30FF || r >= 0x3400 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3 ||
		r >= 0x0E00 && r <= 0x0EFF
}

// unmark drops the marks of Latin, Greek and Cyrillic letters. Marks of other
// scripts are letters of their own and stay.
func unmark(s string) string {
	for _, r := range s {
		if r >= 0x530 && (r < 0x1E00 || r > 0x1FFF) && !unicode.Is(unicode.Mn, r) {
			return s
		}
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ı':
			b.WriteByte('i')
		case r == 'ł':
			b.WriteByte('l')
		case r == 'ø':
			b.WriteByte('o')
		case r == 'đ':
			b.WriteByte('d')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainLeet undoes digits and signs written for letters.
func plainLeet(word []byte) (out [24]byte, n int) {
	if len(word) > len(out) {
		return out, 0
	}
	for i, c := range word {
		if at := strings.IndexByte("0134578", c); at >= 0 {
			c = "oieastb"[at]
		}
		out[i] = c
	}
	return out, len(word)
}
