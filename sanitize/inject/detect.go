package inject

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"ostiary/sanitize"
)

// Confidences by tier. They are scores, not probabilities.
const (
	strictConfidence = 0.95
	looseConfidence  = 0.5
	quotedConfidence = 0.6
)

// Detector finds instructions to the model.
type Detector struct {
	lexicon    *lexicon
	rules      map[concept][]rule
	structures []structure
}

var _ sanitize.Detector = (*Detector)(nil)

// New returns a Detector; it fails when its data is broken.
func New() (*Detector, error) {
	l, err := parseLexicon(lexiconText)
	if err != nil {
		return nil, fmt.Errorf("inject: %w", err)
	}
	d := &Detector{lexicon: l, structures: structures()}
	for _, s := range d.structures {
		l.concept(s.concept)
	}
	if d.rules, err = parseRules(rulesText, l); err != nil {
		return nil, fmt.Errorf("inject: %w", err)
	}
	return d, nil
}

// Families implements sanitize.Detector.
func (d *Detector) Families() []sanitize.Family { return []sanitize.Family{sanitize.Injection} }

// Detect implements sanitize.Detector.
func (d *Detector) Detect(_ context.Context, in *sanitize.Input) []sanitize.Match {
	out := d.view(nil, in.Main)
	for _, v := range in.Derived {
		if in.Expired() {
			return out
		}
		out = d.view(out, v)
	}
	for i := range out {
		// A passage that begins with a tag takes the bracket along, so that no half of it is left.
		if at := out[i].Start; at > 0 && in.Text[at-1] == '<' {
			out[i].Start--
		}
	}
	return out
}

// hit is a concept at a place: from token first up to token last.
type hit struct {
	concept     concept
	first, last int
}

func (d *Detector) view(out []sanitize.Match, v *sanitize.View) []sanitize.Match {
	t := tokenize(v.Text)
	if len(t.tokens) == 0 {
		return out
	}
	hits := d.hits(t)
	loose := false
	for i := range hits {
		for _, r := range d.rules[hits[i].concept] {
			if !r.strict && loose {
				continue
			}
			first, last, ok := r.holds(t, hits, i)
			if !ok {
				continue
			}
			m := d.match(t, v, r, first, last)
			loose = loose || m.Suspicion
			out = append(out, m)
		}
	}
	return out
}

// hits finds every concept in t, ordered by place.
func (d *Detector) hits(t *tokens) []hit {
	var out []hit
	for i := range t.tokens {
		word := t.bytes(i)
		n := len(out)
		out = d.at(out, t, i, word)
		if len(out) == n && t.tokens[i].hasDigits && len(word) > 3 {
			if plain, size := plainLeet(word); size > 0 {
				out = d.at(out, t, i, plain[:size])
			}
		}
	}
	for s := range d.structures {
		c := d.lexicon.names[d.structures[s].concept]
		d.structures[s].find(t.text, func(start, end int) {
			first := sort.Search(len(t.tokens), func(i int) bool { return t.tokens[i].end > start })
			last := sort.Search(len(t.tokens), func(i int) bool { return t.tokens[i].start >= end }) - 1
			first = min(first, len(t.tokens)-1)
			out = append(out, hit{c, first, max(first, last)})
		})
	}
	slices.SortStableFunc(out, func(a, b hit) int { return cmp.Compare(a.first, b.first) })
	return out
}

// at adds the phrases that start at token i, read as word.
func (d *Detector) at(out []hit, t *tokens, i int, word []byte) []hit {
	var h head
	copy(h[:], word)
	out = matching(out, d.lexicon.phrases[h], t, i, word)
	if len(d.lexicon.short) > 0 {
		out = matching(out, d.lexicon.short, t, i, word)
	}
	return out
}

func matching(out []hit, phrases []phrase, t *tokens, i int, word []byte) []hit {
	for p := range phrases {
		if last, ok := phrases[p].match(t, i, word); ok {
			out = append(out, hit{phrases[p].concept, i, last})
		}
	}
	return out
}

// match reports whether the phrase stands at token i, whose text is word.
func (p *phrase) match(t *tokens, i int, word []byte) (last int, ok bool) {
	for k, want := range p.words {
		if i+k >= len(t.tokens) {
			return 0, false
		}
		if k > 0 {
			word = t.bytes(i + k)
			if t.tokens[i+k].start-t.tokens[i+k-1].end > 3 {
				return 0, false
			}
		}
		if string(word) != want && !(p.prefix && k == len(p.words)-1 && len(word) > len(want) && string(word[:len(want)]) == want) {
			return 0, false
		}
	}
	return i + len(p.words) - 1, true
}

// maxSentences is how many sentence ends a conjunction may span.
const maxSentences = 2

// holds reports whether the rule anchored at hits[i] is complete, and over
// which tokens.
func (r *rule) holds(t *tokens, hits []hit, i int) (first, last int, ok bool) {
	anchor := hits[i]
	first, last = anchor.first, anchor.last
	limit := maxSentences
	if r.close {
		limit = 0
	}
	for _, o := range r.others {
		h, at, found := near(t, hits, i, o, limit)
		if !found {
			return 0, 0, false
		}
		if r.close {
			i = at // terms that follow each other keep their order
		}
		first, last = min(first, h.first), max(last, h.last)
	}
	return first, last, true
}

// near looks for the term close to hits[i], after it first.
func near(t *tokens, hits []hit, i int, o term, limit int) (h hit, at int, ok bool) {
	anchor := hits[i]
	fits := func(h hit) bool {
		apart := t.tokens[h.first].sentence - t.tokens[anchor.first].sentence
		return h.concept == o.concept && apart <= limit && -apart <= limit && (h.first > anchor.last || h.last < anchor.first)
	}
	for j := i + 1; j < len(hits) && hits[j].first-anchor.last <= o.within; j++ {
		if fits(hits[j]) {
			return hits[j], j, true
		}
	}
	for j := i - 1; j >= 0 && !o.after && anchor.first-hits[j].first <= o.within; j-- {
		if fits(hits[j]) {
			return hits[j], j, true
		}
	}
	return hit{}, 0, false
}

// match turns a rule that holds over tokens first to last into a Match over
// the sentences they stand in.
func (d *Detector) match(t *tokens, v *sanitize.View, r rule, first, last int) sanitize.Match {
	start, end := sentences(t, first, last)
	from, to := v.Original(start, end)
	m := sanitize.Match{
		Family: sanitize.Injection, Type: r.kind, Start: from, End: to,
		Action: sanitize.Redacted, Confidence: strictConfidence, Instruction: true,
	}
	switch {
	case !r.strict:
		m.Suspicion, m.Instruction, m.Confidence = true, false, looseConfidence
	case v.Kind == "" && quoted(t.text, t.tokens[first].start, t.tokens[last].end):
		m.Suspicion, m.Instruction, m.Confidence = true, false, quotedConfidence
	}
	return m
}

// sentenceReach bounds how far a match grows to whole sentences, in bytes.
const sentenceReach = 400

// sentences widens tokens first to last to the sentences they stand in; a
// tag ends a sentence, so that a hidden element does not take its page along.
func sentences(t *tokens, first, last int) (start, end int) {
	a, b := first, last
	for a > 0 && t.tokens[a-1].sentence == t.tokens[first].sentence && t.tokens[first].start-t.tokens[a-1].start < sentenceReach && !t.tagBetween(a-1) {
		a--
	}
	for b+1 < len(t.tokens) && t.tokens[b+1].sentence == t.tokens[last].sentence && t.tokens[b+1].end-t.tokens[last].end < sentenceReach && !t.tagBetween(b) {
		b++
	}
	return t.tokens[a].start, t.tokens[b].end
}

// tagBetween reports whether markup stands between tokens i and i+1.
func (t *tokens) tagBetween(i int) bool {
	return strings.ContainsAny(t.text[t.tokens[i].end:t.tokens[i+1].start], "<>")
}

// quoteReach is how far around a match words about attacks are looked for.
const quoteReach = 300

// quoted reports whether text[start:end] stands in quotes or code inside text
// about attacks.
func quoted(text string, start, end int) bool {
	before := text[max(0, start-120):start]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 && !strings.Contains(before, "```") {
		before = before[i+1:]
	}
	after := text[end:min(len(text), end+120)]
	open := strings.LastIndexAny(before, "\"'`“«「(")
	if open < 0 || !strings.ContainsAny(after, "\"'`”»」)") {
		if !strings.Contains(text[:start], "```") && !strings.HasPrefix(before, "|") {
			return false
		}
	}
	around := strings.ToLower(text[max(0, start-quoteReach):min(len(text), end+quoteReach)])
	about := 0
	for _, w := range []string{"example", "attack", "injection", "pattern", "detect", "malicious", "jailbreak", "payload", "regex",
		"test case", "phrase", "scanner", "vulnerab", "mitre", "owasp", "blocked", "adversar", "攻击", "注入", "检测", "示例", "例如"} {
		if strings.Contains(around, w) {
			about++
		}
	}
	return about >= 2
}
