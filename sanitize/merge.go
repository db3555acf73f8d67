package sanitize

import (
	"cmp"
	"slices"
	"strings"
)

// edit is an Edit with the rank that decides who wins an overlap.
type edit struct {
	Edit
	rank int
}

// rank orders matches: what must not be seen wins over what is only altered,
// and a credential wins over prose around it.
func rank(m Match) int {
	r := 0
	switch m.Action {
	case Redacted:
		r = 40
	case Removed:
		r = 20
	case Defused:
		r = 10
	case Flagged, Cut:
	}
	switch m.Family {
	case Injection:
		r += 5
	case Secret:
		r += 4
	case PII:
		r += 3
	case HiddenText:
		r += 2
	case Markup, URL, Size:
	}
	return r
}

// merge joins overlapping matches of one family into one that spans them all
// and takes the rest from the most confident; matches of different families
// stay apart. The result is ordered by start, end, family and type.
func merge(matches []Match) []Match {
	slices.SortStableFunc(matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Start, b.Start),
			cmp.Compare(b.End, a.End), cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Type, b.Type))
	})
	out := matches[:0]
	for _, m := range matches {
		if len(out) == 0 {
			out = append(out, m)
			continue
		}
		last := &out[len(out)-1]
		if last.Family != m.Family || m.Start >= last.End {
			out = append(out, m)
			continue
		}
		*last = join(*last, m)
	}
	slices.SortStableFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End),
			cmp.Compare(a.Family, b.Family), cmp.Compare(a.Type, b.Type))
	})
	return out
}

// join merges two overlapping matches of one family.
func join(a, b Match) Match {
	winner, loser := a, b
	if ra, rb := rank(a), rank(b); rb > ra || rb == ra && b.Confidence > a.Confidence {
		winner, loser = b, a
	}
	winner.Edits = append(slices.Clip(winner.Edits), loser.Edits...)
	if loser.Start < winner.Start || loser.End > winner.End {
		winner.Value = "" // the number must stand for the whole span
	}
	winner.Start, winner.End = min(a.Start, b.Start), max(a.End, b.End)
	winner.Confidence = max(a.Confidence, b.Confidence)
	winner.Instruction = a.Instruction || b.Instruction
	return winner
}

// edits turns merged matches into edits that do not overlap. Where two
// overlap, the one of higher rank replaces the union of both, so nothing that
// either wanted gone remains.
func edits(text string, scope *Scope, matches []Match) []Edit {
	var all []edit
	for _, m := range matches {
		switch m.Action {
		case Redacted:
			value := m.Value
			if value == "" {
				value = text[m.Start:m.End]
			}
			all = append(all, edit{Edit{m.Start, m.End, scope.placeholder(m.Family, m.Type, value)}, rank(m)})
		case Removed, Defused:
			for _, e := range m.Edits {
				all = append(all, edit{e, rank(m)})
			}
		case Flagged, Cut:
		}
	}
	slices.SortStableFunc(all, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(b.rank, a.rank))
	})
	var out []edit
	for _, e := range all {
		if n := len(out); n > 0 && (e.Start < out[n-1].End || e.Start == out[n-1].Start) {
			last := &out[n-1]
			if e.rank > last.rank {
				last.Text, last.rank = e.Text, e.rank
			}
			last.End = max(last.End, e.End)
			continue
		}
		out = append(out, e)
	}
	plain := make([]Edit, len(out))
	for i, e := range out {
		plain[i] = e.Edit
	}
	return plain
}

// apply rewrites text; edits are ordered and do not overlap.
func apply(text string, edits []Edit) string {
	if len(edits) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	b.WriteString(text[at:])
	return b.String()
}
