package whatif

import (
	"context"
	"slices"
	"strings"

	"ostiary/decision"
	"ostiary/decision/workbench/reading"
)

// probe looks near the plainest call: with one place changed, then two. What is broken is mostly found there.
func (s *search) probe(ctx context.Context) {
	probes := 0
	plain := s.plain()
	_, s.possible = s.build(plain)
	try := func(changes ...[2]int) {
		at := slices.Clone(plain)
		for _, c := range changes {
			at[c[0]] = c[1]
		}
		s.whole(at, changes)
		in, ok := s.build(at)
		if !ok || s.stopped != "" || ctx.Err() != nil {
			return
		}
		probes++
		s.progress(uint64(probes), 0)
		if said := s.strictest(ctx, &in); s.breaks(&in, said) {
			s.at = at
			s.judge(ctx, in, said)
			s.at = make([]int, len(s.dims))
		}
	}
	try()
	var singles [][2]int
	for i, d := range s.dims {
		for v := 1; v < len(d.Values) && s.broken == 0; v++ {
			try([2]int{i, v})
			if v <= maxPerPlace {
				singles = append(singles, [2]int{i, v})
			}
		}
	}
	for j := range singles {
		for i := range j {
			if s.broken > 0 || probes > min(maxProbes, s.budget) {
				return
			}
			if singles[i][0] != singles[j][0] {
				try(singles[i], singles[j])
			}
		}
	}
}

// plain is the plainest call that the sidecar could make: all places at their first values, or all but one.
func (s *search) plain() []int {
	at := make([]int, len(s.dims))
	if _, ok := s.build(at); ok {
		return at
	}
	for i, d := range s.dims {
		for v := range d.Values {
			at[i] = v
			s.whole(at, [][2]int{{i, v}})
			if _, ok := s.build(at); ok {
				return at
			}
			clear(at)
		}
	}
	return at
}

// whole gives a part of which a change needs one place all its places: what is there is there as a whole.
func (s *search) whole(at []int, changes [][2]int) {
	for i, d := range s.dims {
		needed := slices.ContainsFunc(changes, func(c [2]int) bool {
			return c[0] != i && s.dims[c[0]].Path[0] == d.Path[0] && s.dims[c[0]].Values[c[1]] != nil
		})
		if part := d.Path[0]; (part == "evidence" || part == "result") && needed && d.Values[at[i]] == nil && len(d.Values) > 1 {
			at[i] = 1
		}
	}
}

// judge keeps a call that breaks the invariant, reduced to what does.
func (s *search) judge(ctx context.Context, in decision.Input, said decision.Behavior) {
	if !s.breaks(&in, said) || !s.breaks(&in, s.strictest(ctx, &in)) {
		return
	}
	if s.broken++; s.broken >= maxBroken {
		s.stopped = "it is broken"
	}
	at := s.shrink(ctx, &in)
	c := Counter{Input: in, Differs: []Reading{}, Rules: []string{}}
	for i, d := range s.dims {
		if at[i] > 0 && !s.given[reading.Text(d.Path)] {
			c.Differs = append(c.Differs, Reading{reading.Text(d.Path), d.Values[at[i]]})
		}
	}
	a := s.lab.ask(ctx, &in)
	c.Behavior = a.behavior
	for _, r := range decision.Reasons(a.outcome.Verdicts, a.behavior) {
		c.Rules = append(c.Rules, r.ID)
	}
	if !slices.ContainsFunc(s.counters, func(x Counter) bool { return differs(x) == differs(c) }) {
		s.counters = append(s.counters, c)
	}
	if len(s.counters) >= maxCounters {
		s.stopped = "it is broken"
	}
}

// shrink makes a call that breaks the invariant plainer, place by place and part by part, for as long as it still does.
func (s *search) shrink(ctx context.Context, in *decision.Input) []int {
	at := slices.Clone(s.at)
	try := func(other []int) bool {
		call, ok := s.build(other)
		if ok = ok && s.breaks(&call, s.strictest(ctx, &call)); ok {
			at, *in = other, call
		}
		return ok
	}
	for smaller := true; smaller; {
		smaller = false
		for i := range at {
			for v := range at[i] { // the values before it are plainer
				other := slices.Clone(at)
				if other[i] = v; try(other) {
					smaller = true
					break
				}
			}
			other := slices.Clone(at)
			for j, d := range s.dims {
				if d.Path[0] == s.dims[i].Path[0] && d.Values[0] == nil {
					other[j] = 0
				}
			}
			if !slices.Equal(other, at) && try(other) {
				smaller = true
			}
		}
	}
	return at
}

func differs(c Counter) string {
	var b strings.Builder
	for _, d := range c.Differs {
		b.WriteString(d.Path + "=" + reading.Show(d.Value) + "\n")
	}
	return b.String()
}

func (s *search) build(at []int) (decision.Input, bool) {
	in := s.base
	for i, v := range at {
		if err := reading.Put(&in, s.dims[i].Path, s.dims[i].Values[v]); err != nil {
			return in, false
		}
	}
	for i := range at {
		if !s.together(at, i, &in) {
			return in, false
		}
	}
	for _, rs := range s.rules {
		if slices.ContainsFunc(rs, func(r rule) bool { return !r.holds(&in) }) {
			return in, false
		}
	}
	return in, true
}

func (s *search) strictest(ctx context.Context, in *decision.Input) decision.Behavior {
	a := s.lab.ask(ctx, in)
	if a.err == nil && !a.byRule {
		return nobody
	}
	return a.behavior
}
