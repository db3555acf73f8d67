package decode

import (
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// View is text after decoding, with a map back to the original bytes. Case is
// kept; detectors fold as they need.
type View struct {
	// Text is the decoded text.
	Text string
	// Kind is "" for the view of the whole text, otherwise the encoding that
	// was undone: "base64", "hex", "percent", "escape", "spacing".
	Kind string

	orig string
	segs []segment // ordered; nil when Text is orig
}

// segment says where the view's bytes from At came from. A verbatim segment
// maps byte for byte; any other stands for the whole of [Start, End).
type segment struct {
	at, start, end int
	verbatim       bool
}

// Plain reports whether the view is the original text, byte for byte.
func (v *View) Plain() bool { return v.Kind == "" && v.segs == nil }

// Original maps the view's bytes from start to end to the smallest range of
// whole runes of the original that they came from.
func (v *View) Original(start, end int) (int, int) {
	if v.segs == nil {
		return floor(v.orig, start), ceil(v.orig, end)
	}
	first, last := v.segment(start), v.segment(max(start, end-1))
	from, to := first.start, last.end
	if first.verbatim {
		from = floor(v.orig, min(first.start+start-first.at, first.end))
	}
	if last.verbatim {
		to = ceil(v.orig, min(last.start+max(end, start)-last.at, last.end))
	}
	return from, max(from, to)
}

// segment returns the segment that holds the view's byte at.
func (v *View) segment(at int) segment {
	i := sort.Search(len(v.segs), func(i int) bool { return v.segs[i].at > at })
	return v.segs[max(i-1, 0)]
}

func floor(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

func ceil(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}

// Views returns the view of all of s, which must be valid UTF-8, and the views
// of its encoded parts; each of those maps to the whole encoded part.
func Views(s string) (main *View, derived []*View) {
	main = newView(s)
	return main, derive(main)
}

// builder makes a View from its original in one pass.
type builder struct {
	src  string
	text strings.Builder
	segs []segment
	mark int // src[mark:] up to the current position is still to be copied verbatim
	// mixedTo ends the current word when that word mixes scripts.
	mixedTo, wordTo int
}

// newView decodes s: invisible characters are dropped, tag characters and
// compatibility forms become what they show, entities are resolved, look-alike
// letters in mixed words become Latin.
func newView(s string) *View {
	first := 0
	for first < len(s) && s[first] < utf8.RuneSelf && s[first] != '&' && s[first] != esc {
		first++
	}
	if first == len(s) {
		return &View{Text: s, orig: s}
	}
	b := &builder{src: s}
	for i := first; i < len(s); {
		i = b.step(i)
	}
	if b.segs == nil {
		return &View{Text: s, orig: s}
	}
	b.flush(len(s))
	return &View{Text: b.text.String(), orig: s, segs: b.segs}
}

// flush copies the pending verbatim bytes up to i.
func (b *builder) flush(i int) {
	if b.mark < i {
		b.segs = append(b.segs, segment{b.text.Len(), b.mark, i, true})
		b.text.WriteString(b.src[b.mark:i])
	}
	b.mark = i
}

// put writes text in place of src[from:to].
func (b *builder) put(from, to int, text string) int {
	b.flush(from)
	if text != "" || b.segs == nil {
		b.segs = append(b.segs, segment{b.text.Len(), from, to, false})
		b.text.WriteString(text)
	}
	b.mark = to
	return to
}

// step decodes what starts at i and returns where the next thing starts.
func (b *builder) step(i int) int {
	c := b.src[i]
	if c < utf8.RuneSelf {
		switch c {
		case '&':
			if text, n := entity(b.src[i:]); n > 0 {
				return b.put(i, i+n, text)
			}
		case esc:
			if n := escapeSequence(b.src[i:]); n > 0 {
				return b.put(i, i+n, "")
			}
		}
		if isASCIILetter(c) {
			b.word(i)
		}
		return i + 1
	}
	r, size := utf8.DecodeRuneInString(b.src[i:])
	switch {
	case stable(r):
		return i + size
	case r >= tagFirst && r <= tagLast:
		return b.put(i, i+size, tagText(r))
	case Invisible(r):
		return b.put(i, i+size, "")
	}
	b.word(i)
	if i < b.mixedTo {
		if latin := lookAlike(r); latin != 0 {
			return b.put(i, i+size, string(latin))
		}
	}
	return b.compose(i)
}

// compose normalises the characters that combine at i.
func (b *builder) compose(i int) int {
	n := norm.NFKC.NextBoundaryInString(b.src[i:], true)
	if n <= 0 {
		n = len(b.src) - i
	}
	piece := b.src[i : i+n]
	if norm.NFKC.IsNormalString(piece) {
		return i + n
	}
	return b.put(i, i+n, norm.NFKC.String(piece))
}

// word finds the end of the word at i and whether it mixes ASCII letters with
// look-alikes, once per word.
func (b *builder) word(i int) {
	if i < b.wordTo {
		return
	}
	ascii, alike := false, false
	j := i
	for j < len(b.src) {
		c := b.src[j]
		if c < utf8.RuneSelf {
			if !isASCIILetter(c) && (c < '0' || c > '9') {
				break
			}
			ascii = ascii || isASCIILetter(c)
			j++
			continue
		}
		r, size := utf8.DecodeRuneInString(b.src[j:])
		if lookAlike(r) == 0 && !Invisible(r) {
			break
		}
		alike = alike || lookAlike(r) != 0
		j += size
	}
	b.wordTo = max(j, i+1)
	if ascii && alike {
		b.mixedTo = j
	}
}

func isASCIILetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }
