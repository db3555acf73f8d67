package view

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// script is one of the alphabets whose letters look alike. Han, Kana and Hangul mix with Latin in ordinary text and are left out.
type script struct {
	name  string
	table *unicode.RangeTable
}

func scripts() []script {
	return []script{
		{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek}, {"Armenian", unicode.Armenian},
		{"Cherokee", unicode.Cherokee}, {"Coptic", unicode.Coptic}, {"Georgian", unicode.Georgian}, {"Lisu", unicode.Lisu},
		{"Deseret", unicode.Deseret}, {"Osage", unicode.Osage},
	}
}

// confusables finds, by byte offset, the characters of s that pass for others: letters of a second alphabet inside one word, and
// compatibility forms of ASCII such as full-width letters. A word runs to the next white space, so that a look-alike label before ".com"
// counts as mixed.
func confusables(s string) map[int]Run {
	if !strings.ContainsFunc(s, func(c rune) bool { return c > 0xFF }) {
		return nil
	}
	found, tables := map[int]Run{}, scripts()
	for start := 0; start < len(s); {
		end := start + word(s[start:])
		mixed(s[start:end], start, tables, found)
		_, size := utf8.DecodeRuneInString(s[end:])
		start = end + size
	}
	return found
}

// word is the length of s up to the first character that separates words.
func word(s string) int {
	n := strings.IndexFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.Is(unicode.Han, c) })
	if n < 0 {
		return len(s)
	}
	return n
}

func mixed(w string, at int, tables []script, found map[int]Run) {
	home := ""
	for _, c := range w {
		if name := alphabet(c, tables); name == "Latin" || home == "" {
			home = name
		}
		if home == "Latin" {
			break
		}
	}
	for i, c := range w {
		name := alphabet(c, tables)
		text := string(c)
		if ascii := compatible(c); ascii != "" {
			found[at+i] = Run{Kind: Confusable, Text: text, Code: fmt.Sprintf("U+%04X", c), Says: ascii}
		} else if name != "" && name != home {
			found[at+i] = Run{Kind: Confusable, Text: text, Code: fmt.Sprintf("U+%04X %s", c, name)}
		}
	}
}

func alphabet(c rune, tables []script) string {
	for _, s := range tables {
		if unicode.Is(s.table, c) {
			return s.name
		}
	}
	return ""
}

// compatible returns the single ASCII character that c is a styled copy of, if any. Latin-1 is left alone.
func compatible(c rune) string {
	if c <= 0xFF || unicode.Is(unicode.Zs, c) || unicode.Is(unicode.No, c) {
		return ""
	}
	if folded := norm.NFKC.String(string(c)); len(folded) == 1 && folded[0] < 0x80 {
		return folded
	}
	return ""
}
