package session

import (
	"hash/maphash"
	"regexp"
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

// atomPattern finds what carries a target by itself: addresses, URLs, hosts, paths, account numbers and identifiers.
var atomPattern = regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]*\w|https?://[^\s'"<>)\]]+|(?:[\w-]+\.)+[a-z]{2,}\b|(?:~|\.{0,2})/[\w./-]{3,}|\b[a-z]{2}\d{2}[a-z0-9]{8,30}\b|\b[a-z_-]*\d[\w-]{3,}\b`)

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

func atoms(normalised string) []string {
	found := atomPattern.FindAllString(normalised, -1)
	for i, a := range found {
		found[i] = strings.TrimRight(a, ".,;:!?/")
	}
	return found
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
