package decode

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

const esc = 0x1b

// Tag characters mirror ASCII at a fixed distance and are drawn by nothing.
const (
	tagFirst = 0xE0000
	tagLast  = 0xE007F
)

// tagText is what a tag character says.
func tagText(r rune) string {
	if r >= tagFirst+0x20 && r < tagLast {
		return string(r - tagFirst)
	}
	return ""
}

// Invisible reports whether r is drawn as nothing, so that it can hide or
// split text: zero-width characters, direction controls, variation selectors,
// fillers and soft hyphens. Tag characters are not among them: they carry text.
func Invisible(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x034F, r == 0x061C, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x180E,
		r == 0x3164, r == 0xFEFF, r == 0xFFA0,
		r >= 0x180B && r <= 0x180D,
		r >= 0x200B && r <= 0x200F,
		r >= 0x202A && r <= 0x202E,
		r >= 0x2060 && r <= 0x206F,
		r >= 0xFE00 && r <= 0xFE0F,
		r >= 0x1D173 && r <= 0x1D17A,
		r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

// stable reports whether r stands for itself in every view: the large blocks
// without compatibility forms, look-alikes or marks.
func stable(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FA ||
		r >= 0xAC00 && r <= 0xD7A3 || r >= 0x2500 && r <= 0x25FF || r >= 0x1F300 && r <= 0x1FAFF ||
		r >= 0x2012 && r <= 0x2016 || r >= 0x2018 && r <= 0x2022 || r >= 0x3001 && r <= 0x3011
}

// entity resolves the HTML character reference that s starts with and returns
// its length; 0 when there is none.
func entity(s string) (string, int) {
	end := strings.IndexByte(s[:min(len(s), 34)], ';')
	if end < 2 {
		return "", 0
	}
	text := html.UnescapeString(s[:end+1])
	if strings.HasPrefix(text, "&") && text != "&" || strings.ContainsRune(text, 0) {
		return "", 0
	}
	if r, size := utf8.DecodeRuneInString(text); size == len(text) && (Invisible(r) || r >= tagFirst && r <= tagLast) {
		text = tagText(r)
	}
	return text, end + 1
}

// escapeSequence returns the length of the terminal control sequence that s
// starts with; 0 when there is none. An operating system command ends within
// 512 bytes or is none.
func escapeSequence(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '[':
		for i := 2; i < min(len(s), 64); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x3f {
				return 0
			}
		}
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < min(len(s), 512); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == esc && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	}
	return 0
}

// lookAlike returns the Latin letter that r is drawn like; 0 for none. It maps
// Cyrillic, Greek and Armenian letters and a few Latin ones outside ASCII.
func lookAlike(r rune) rune {
	if r < 0x100 || int(r) >= len(alike) {
		return 0
	}
	return rune(alike[r])
}

// alike holds the Latin letter by code point; 0 for none.
var alike = func() (t [0x600]byte) {
	i := 0
	for _, r := range alikeFrom {
		t[r] = alikeTo[i]
		i++
	}
	return t
}()

const (
	alikeFrom = "аеорсухіјѕԁԛԝһӏкмтвнАВЕКМНОРСТУХІЈЅԌαορνικτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɡɩʋօսոցհ"
	alikeTo   = "aeopcyxijsdqwhlkmtbhABEKMHOPCTYXIJSGaopviktuxyABEZHIKMNOPTYXigivounqh"
)

// prose reports whether decoded bytes read as text rather than as data: valid
// UTF-8, almost no control characters, mostly letters and spaces.
func prose(b []byte) bool {
	if len(b) < 8 || !utf8.Valid(b) {
		return false
	}
	letters, other, total := 0, 0, 0
	for _, r := range string(b) {
		total++
		switch {
		case unicode.IsLetter(r) || r == ' ' || r == '\n':
			letters++
		case r < 0x20 && r != '\t' && r != '\r' || r == utf8.RuneError || r == 0x7f:
			other++
		}
	}
	return other == 0 && letters*10 >= total*6
}
