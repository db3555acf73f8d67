package whatif

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/workbench/reading"
	"ostiary/tool"
)

// Explanation says why a call is decided as it is, and what would change that.
type Explanation struct {
	Input    decision.Input    `json:"input"`
	Behavior decision.Behavior `json:"behavior"`
	// Source is policy, default (no rule speaks) or error.
	Source   string    `json:"source"`
	Error    string    `json:"error,omitempty"`
	Revision string    `json:"revision"`
	Rules    []Spoken  `json:"rules"`
	Reads    []Reading `json:"reads"`
	// Changes are the smallest that would change the behavior: one place, or else two. None was found when it is empty.
	Changes []Change `json:"changes"`
	Tried   int      `json:"tried"`
}

// Spoken is a rule that had a verdict; it decided when no other was stricter.
type Spoken struct {
	decision.Verdict
	Decided     bool   `json:"decided"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	File        string `json:"file,omitempty"`
	Line        int    `json:"line,omitempty"`
}

// Reading is a place that the policies can look at in this call, and what stands there; nothing else of the input matters.
type Reading struct {
	Path  string `json:"path"`
	Value Value  `json:"value,omitempty"` // absent when nothing stands there
}

// Change is what else would have to stand at some places, and what the call would come to.
type Change struct {
	Fields   []FieldChange     `json:"fields"`
	Behavior decision.Behavior `json:"behavior"`
	Rules    []string          `json:"rules"`
}

// FieldChange is another value at a place.
type FieldChange struct {
	Path string `json:"path"`
	From Value  `json:"from,omitempty"`
	To   Value  `json:"to,omitempty"`
}

// Limits of the search for a change.
const (
	maxPairs = 20_000
	maxFound = 3 // pairs that loosen the answer
)

// Explain decides a call and looks for what would change the answer.
func (l *Lab) Explain(ctx context.Context, in decision.Input, progress func(done, total uint64)) (Explanation, error) {
	a := l.ask(ctx, &in)
	if ctx.Err() != nil {
		return Explanation{}, ctx.Err()
	}
	if len(in.Args) == 0 {
		in.Args = Value("{}")
	}
	e := Explanation{Input: in, Behavior: a.behavior, Source: decision.SourcePolicy, Revision: l.bench.Revision(), Rules: []Spoken{}, Reads: []Reading{}, Changes: []Change{}}
	switch {
	case a.err != nil:
		e.Source, e.Error = decision.SourceError, sentence(a.err)
	case !a.byRule:
		e.Source = "default"
	}
	for _, v := range a.outcome.Verdicts {
		about := l.about[v.Policy+" "+v.ID]
		e.Rules = append(e.Rules, Spoken{Verdict: v, Decided: v.Behavior == a.behavior, Title: about.Title, Description: about.Description, File: about.File, Line: about.Line})
	}
	for _, d := range l.reads {
		e.Reads = append(e.Reads, Reading{reading.Text(d.Path), reading.Get(&in, d.Path)})
	}
	err := l.search(ctx, &e, progress)
	return e, err
}

// sentence joins what is said of an error with its cause.
func sentence(err error) string {
	said := ostiary.Public(err).Msg
	if e := (*ostiary.Error)(nil); errors.As(err, &e) && e.Err != nil {
		said += ": " + strings.Join(strings.Fields(e.Err.Error()), " ")
	}
	return said
}

// alternative is one change that can be tried.
type alternative struct {
	path    []string
	to      Value
	promise int
}

// search tries other values in one place each, and then in two, when none of the first loosens the answer.
func (l *Lab) search(ctx context.Context, e *Explanation, progress func(done, total uint64)) error {
	broken := brokenRules(&e.Input) // a document written by hand may be one that the sidecar would not make
	said := l.ask(ctx, &e.Input)
	try := func(changes ...alternative) (promise int, err error) {
		in := e.Input
		for _, c := range changes {
			if err := apply(&in, c); err != nil {
				return 0, err
			}
		}
		if !slices.Equal(brokenRules(&in), broken) {
			return 0, nil
		}
		e.Tried++
		progress(uint64(e.Tried), 0)
		a := l.ask(ctx, &in)
		if a.behavior != e.Behavior && (len(changes) == 1 || a.behavior > e.Behavior || len(e.Changes) == 0) {
			e.Changes = append(e.Changes, changed(&e.Input, changes, a))
		}
		return promises(said, a), ctx.Err()
	}
	all := l.alternatives(&e.Input)
	for i := range all {
		var err error
		if all[i].promise, err = try(all[i]); err != nil {
			return err
		}
	}
	slices.SortStableFunc(all, func(a, b alternative) int { return cmp.Compare(b.promise, a.promise) })
	if loosened := slices.ContainsFunc(e.Changes, func(c Change) bool { return c.Behavior > e.Behavior }); !loosened && (e.Behavior < decision.Allow || len(e.Changes) == 0) {
		if err := pairs(all, func() bool { return e.Tried < maxPairs && e.loosened() < maxFound }, try); err != nil {
			return err
		}
	}
	slices.SortStableFunc(e.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Behavior, a.Behavior), cmp.Compare(len(a.Fields), len(b.Fields)))
	})
	return nil
}

// loosened counts the changes to a weaker answer.
func (e *Explanation) loosened() int {
	n := 0
	for _, c := range e.Changes {
		if c.Behavior > e.Behavior {
			n++
		}
	}
	return n
}

// pairs tries all changes of two places, for as long as more are wanted.
func pairs(all []alternative, more func() bool, try func(...alternative) (int, error)) error {
	for j := range all {
		for i := range j {
			if !more() {
				return nil
			}
			if slices.Equal(all[i].path, all[j].path) {
				continue
			}
			if _, err := try(all[i], all[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// promises counts the verdicts that decided and are gone with a change: such changes go into pairs first.
func promises(before, after answer) int {
	n := 0
	for _, v := range before.outcome.Verdicts {
		gone := !slices.ContainsFunc(after.outcome.Verdicts, func(x decision.Verdict) bool { return x.ID == v.ID && x.Policy == v.Policy && x.Behavior == v.Behavior })
		if v.Behavior == before.behavior && gone {
			n++
		}
	}
	return n
}

func changed(in *decision.Input, changes []alternative, a answer) Change {
	c := Change{Behavior: a.behavior, Rules: []string{}}
	for _, alt := range changes {
		c.Fields = append(c.Fields, FieldChange{reading.Text(alt.path), reading.Get(in, alt.path), alt.to})
	}
	for _, r := range decision.Reasons(a.outcome.Verdicts, a.behavior) {
		c.Rules = append(c.Rules, r.ID)
	}
	return c
}

// apply makes a change, and those that the sidecar would make along with it.
func apply(in *decision.Input, c alternative) error {
	if err := reading.Put(in, c.path, c.to); err != nil {
		return err
	}
	switch reading.Text(c.path) {
	case "session.labels":
		in.Session.Tainted = slices.Contains(in.Session.Labels, tool.LabelUntrusted)
	case "session.tainted":
		labels := slices.DeleteFunc(slices.Clone(in.Session.Labels), func(l tool.Label) bool { return l == tool.LabelUntrusted })
		if in.Session.Tainted {
			labels = append(labels, tool.LabelUntrusted)
		}
		in.Session.Labels = labels
	case "evidence.warnings":
		if in.Evidence != nil && in.Evidence.Status == "" {
			in.Evidence.Status = reading.Fresh
		}
	}
	return nil
}

// alternatives are the values that could stand at the places that are read, the nearest first.
func (l *Lab) alternatives(in *decision.Input) []alternative {
	var out []alternative
	for _, d := range l.reads {
		now := reading.Get(in, d.Path)
		values := d.Values
		if now.Kind() == '[' {
			values = slices.Concat(nearLists(now, &d), values)
		}
		var seen []string
		for _, v := range values {
			if v.Kind() == '[' && reading.SameSet(v, now) || reading.Show(v) == reading.Show(now) || slices.Contains(seen, reading.Show(v)) {
				continue
			}
			seen = append(seen, reading.Show(v))
			out = append(out, alternative{path: d.Path, to: v})
		}
	}
	return out
}

// nearLists are a list with one element less, and with one member of an element changed.
func nearLists(now Value, d *reading.Dimension) []Value {
	elements := reading.Elements(now)
	var out []Value
	for i, e := range elements {
		out = append(out, reading.List(slices.Delete(slices.Clone(elements), i, i+1)))
		if e.Kind() != '{' {
			continue
		}
		for _, other := range d.Values {
			for _, o := range reading.Elements(other) {
				for name, value := range reading.Members(o) {
					if changed, err := reading.PutRaw(e, []string{name}, value); err == nil && !slices.ContainsFunc(out, func(v Value) bool { return string(v) == string(changed) }) {
						list := slices.Clone(elements)
						list[i] = changed
						out = append(out, reading.List(list))
					}
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Value) int { return strings.Compare(string(a), string(b)) })
	return slices.CompactFunc(out, func(a, b Value) bool { return string(a) == string(b) })
}

// brokenRules numbers the rules that do not hold of a document.
func brokenRules(in *decision.Input) []int {
	var out []int
	for i, r := range rules() {
		if !r.holds(in) {
			out = append(out, i)
		}
	}
	return out
}
