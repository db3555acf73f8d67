package secret

import (
	"slices"
	"strings"
)

// index finds keywords: a bitmap over hashed four-byte windows says where one
// may start, a table then says which. Letters are folded.
type index struct {
	bits    [1 << 13]uint64 // 2^19 bits: sparse enough for chance hits to be rare
	byStart map[[3]byte][]keyword
}

// keyword is one keyword and what it sets off.
type keyword struct {
	text  string
	rules []*rule
	// assign asks for the check of name = value around it.
	assign bool
}

// fold makes lower case of letters; other bytes may change too, in the same
// way everywhere.
func fold(w uint32) uint32 { return w | 0x20202020 }

func slot(w uint32) uint32 { return (w * 0x9E3779B1) >> 13 }

func newIndex(rules []*rule, names []string) *index {
	x := &index{byStart: make(map[[3]byte][]keyword)}
	for _, r := range rules {
		for _, k := range r.Keywords {
			x.add(strings.ToLower(k), func(kw *keyword) { kw.rules = append(kw.rules, r) })
		}
	}
	for _, n := range names {
		x.add(n, func(kw *keyword) { kw.assign = true })
	}
	return x
}

// tokenBytes are what may follow a keyword inside a token, letters folded.
const tokenBytes = "abcdefghijklmnopqrstuvwxyz0123456789_-.~"

// add registers a keyword. One of two bytes is registered with every byte that
// may follow it.
func (x *index) add(text string, set func(*keyword)) {
	if len(text) < 3 {
		for i := range len(tokenBytes) {
			x.add(text+tokenBytes[i:i+1], set)
		}
		return
	}
	start := [3]byte{text[0] | 0x20, text[1] | 0x20, text[2] | 0x20}
	list := x.byStart[start]
	i := slices.IndexFunc(list, func(k keyword) bool { return k.text == text })
	if i < 0 {
		list = append(list, keyword{text: text})
		i = len(list) - 1
		x.mark(text)
	}
	set(&list[i])
	x.byStart[start] = list
}

// mark sets the bits of every window that text can start.
func (x *index) mark(text string) {
	if len(text) > 3 {
		x.set(load4(text, 0))
		return
	}
	for c := range 256 {
		x.set(uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(c)<<24)
	}
}

func (x *index) set(w uint32) {
	h := slot(fold(w))
	x.bits[h>>6] |= 1 << (h & 63)
}

func load4(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

// each calls found for every keyword in s, in order of position.
func (x *index) each(s string, found func(at int, k *keyword)) {
	for i := 0; i+3 < len(s); i++ {
		h := slot(fold(load4(s, i)))
		if x.bits[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		list := x.byStart[[3]byte{s[i] | 0x20, s[i+1] | 0x20, s[i+2] | 0x20}]
		for j := range list {
			k := &list[j]
			if i+len(k.text) <= len(s) && strings.EqualFold(s[i:i+len(k.text)], k.text) {
				found(i, k)
			}
		}
	}
}
