package session

import (
	"hash/maphash"
	"strings"
	"sync"
	"unicode"
)

// Bounds of one index, about 1 MB. Past them everything that the user did not say counts as untrusted.
const (
	maxText   = 256 << 10 // bytes of normalised text
	maxHashes = 40_000
)

const (
	shingleWords  = 4 // words of one prose fingerprint
	shinglesMatch = 2 // fingerprints in common that make a long text a copy
	minValue      = 4 // runes below which a whole value proves nothing
)

// index remembers a body of text well enough to say whether a value occurs in it. Sessions share indexes, so it has a lock of its own.
type index struct {
	mu     sync.RWMutex
	seed   maphash.Seed
	text   strings.Builder
	hashes map[uint64]string // atom or shingle → where it was first seen
	over   bool
}

func newIndex() *index { return &index{seed: maphash.MakeSeed(), hashes: map[uint64]string{}} }

// add takes in text from a source.
func (x *index) add(text, source string) {
	n := normalise(text)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.text.Len()+len(n) > maxText {
		x.over = true
	} else {
		x.text.WriteString(n)
		x.text.WriteByte('\n')
	}
	for _, a := range atoms(n) {
		x.remember(a, source)
	}
	for _, s := range shingles(n) {
		x.remember(s, source)
	}
}

func (x *index) remember(s, source string) {
	h := maphash.String(x.seed, s)
	if _, known := x.hashes[h]; known {
		return
	}
	if len(x.hashes) >= maxHashes {
		x.over = true
		return
	}
	x.hashes[h] = source
}

// source returns where the fragment was seen.
func (x *index) source(s string) (string, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	src, ok := x.hashes[maphash.String(x.seed, s)]
	return src, ok
}

// overflowed reports whether the index had to forget something.
func (x *index) overflowed() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.over
}

// holds reports whether the whole normalised value occurs, bounded by something that is no letter or digit.
func (x *index) holds(value string) bool {
	x.mu.RLock()
	text := x.text.String()
	x.mu.RUnlock()
	for from := 0; ; {
		i := strings.Index(text[from:], value)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(value)
		if boundary(text, start) && boundary(text, end) {
			return true
		}
		from = start + 1
	}
}

// boundary reports whether position i of text does not cut a word of Latin letters or digits; other scripts have no such word borders.
func boundary(text string, i int) bool {
	return i == 0 || i == len(text) || !wordByte(text[i-1]) || !wordByte(text[i])
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b == '_'
}

// normalise lower-cases and turns every run of white space into one space.
func normalise(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), unicode.IsSpace), " ")
}

// minAtom is the length from which a word can be an atom, in bytes.
const minAtom = 4

// atoms returns the words that carry a target by themselves: addresses, URLs, hosts, paths, account numbers and identifiers. One pass,
// without a regular expression, since every untrusted result goes through here.
func atoms(normalised string) []string {
	var out []string
	for word := range strings.FieldsFuncSeq(normalised, separates) {
		word = strings.Trim(word, ".,;:!?/")
		if strings.Contains(word, "://") {
			out = append(out, word)
			continue
		}
		for part := range strings.SplitSeq(word, "=") {
			if len(part) >= minAtom && tells(part) {
				out = append(out, part)
			}
		}
	}
	return out
}

// separates reports whether r stands between words: white space, quotes, brackets and what shells and lists part with.
func separates(r rune) bool {
	return r == ' ' || r == '\n' || strings.ContainsRune("'\"`<>()[]{}|,;", r)
}

// tells reports whether a word holds a digit, an at sign, a solidus, or a dot between letters.
func tells(word string) bool {
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9', c == '@', c == '/':
			return true
		case c == '.' && i > 0 && i+1 < len(word) && wordByte(word[i-1]) && wordByte(word[i+1]):
			return true
		}
	}
	return false
}

// shingles returns every run of shingleWords words.
func shingles(normalised string) []string {
	words := strings.Fields(normalised)
	if len(words) < shingleWords {
		return nil
	}
	out := make([]string, 0, len(words))
	for i := 0; i+shingleWords <= len(words); i++ {
		out = append(out, strings.Join(words[i:i+shingleWords], " "))
	}
	return out
}
