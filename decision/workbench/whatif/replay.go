package whatif

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/workbench/reading"
	"ostiary/internal/strictjson"
)

// recorded is one line of a file of decisions.
type recorded struct {
	Input    decision.Input    `json:"input"`
	Behavior decision.Behavior `json:"behavior"`
}

// ReplayReport says which recorded decisions the policies would make otherwise.
type ReplayReport struct {
	Revision string `json:"revision"`
	Replayed int    `json:"replayed"`
	Flipped  int    `json:"flipped"`
	Widened  int    `json:"widened"` // flips to a weaker behavior
	Failed   int    `json:"failed"`  // evaluations that failed, which denies
	Kinds    []Kind `json:"kinds"`
}

// Kind are flips from one behavior to another by the same rules, in calls that look alike to the policies.
type Kind struct {
	Was     decision.Behavior `json:"was"`
	Now     decision.Behavior `json:"now"`
	Widened bool              `json:"widened"`
	Rules   []string          `json:"rules"` // that decide now
	Count   int               `json:"count"`
	// Alike are the places that the policies read with the one value that all calls of this kind have there.
	Alike []Reading `json:"alike"`
	// Differ are the places in which they differ.
	Differ  []Spread `json:"differ"`
	Line    int      `json:"line"` // of the example
	Example Value    `json:"example,omitempty"`
	Reason  string   `json:"reason,omitempty"` // the example's
}

// Spread is how many values a place has.
type Spread struct {
	Path   string `json:"path"`
	Values int    `json:"values"`
}

// Limits of a replay.
const (
	maxLine     = 4 << 20 // bytes; a request is at most 1 MiB
	maxKinds    = 6       // of one change of behavior by the same rules
	maxExamples = 1000    // lines that are kept
)

// Replay decides recorded calls again.
func (l *Lab) Replay(ctx context.Context, lines io.Reader, progress func(done, total uint64)) (ReplayReport, error) {
	report := ReplayReport{Revision: l.bench.Revision(), Kinds: []Kind{}}
	var found flips
	scan := bufio.NewScanner(lines)
	scan.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for scan.Scan() {
		n++
		if len(strings.TrimSpace(scan.Text())) == 0 {
			continue
		}
		r, err := readRecorded(scan.Bytes())
		if err != nil {
			return report, inLine(n, err)
		}
		report.Replayed++
		progress(uint64(report.Replayed), 0)
		a := l.ask(ctx, &r.Input)
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		if a.err != nil {
			report.Failed++
		}
		if a.behavior == r.Behavior {
			continue
		}
		report.Flipped++
		if a.behavior > r.Behavior {
			report.Widened++
		}
		found.add(l, n, scan.Bytes(), r, a)
	}
	if err := scan.Err(); err != nil {
		return report, inLine(n+1, err)
	}
	report.Kinds = found.kinds(l)
	slices.SortStableFunc(report.Kinds, func(a, b Kind) int {
		if a.Widened != b.Widened {
			return map[bool]int{true: -1, false: 1}[a.Widened]
		}
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Line, b.Line))
	})
	return report, nil
}

func readRecorded(line []byte) (recorded, error) {
	// The zero behavior denies, so what is missing must be told from it.
	var r struct {
		Input    *decision.Input    `json:"input"`
		Behavior *decision.Behavior `json:"behavior"`
	}
	if err := json.Unmarshal(line, &r, json.RejectUnknownMembers(true)); err != nil {
		return recorded{}, cmp.Or(strictjson.Decode(line, &r), err) // the same, slower, and tells the place
	}
	if r.Input == nil || r.Behavior == nil {
		return recorded{}, ostiary.Errorf(ostiary.KindMissingField, "input or behavior is missing")
	}
	return recorded{*r.Input, *r.Behavior}, checkInput(r.Input)
}

func inLine(n int, err error) error {
	said := ostiary.Public(err)
	if said.Kind == ostiary.KindInternal {
		said.Msg = err.Error()
	}
	if said.Pointer != "" {
		said.Msg += " (at " + said.Pointer + ")"
	}
	return ostiary.Errorf(ostiary.KindConfigInvalid, "line %d: %s", n, said.Msg).
		WithFix(`each line is {"input": …, "behavior": "allow|ask|deny|passthrough"}; sidecar policy explain --json gives both`)
}

// flips are the decisions that changed, by the values that the policies read. Values are numbered per place.
type flips struct {
	classes map[string]*class
	numbers []map[string]int32
	values  [][]Value
	kept    int
}

// class are flips from one behavior to another by the same rules.
type class struct {
	kind  Kind
	flips []flip
}

type flip struct {
	line    int
	values  []int32 // by place
	example Value   // nil beyond maxExamples
}

func (f *flips) add(l *Lab, n int, line []byte, r recorded, a answer) {
	rules, reason := []string{}, ""
	for _, d := range decision.Reasons(a.outcome.Verdicts, a.behavior) {
		if reason = cmp.Or(reason, d.Reason); !slices.Contains(rules, d.ID) {
			rules = append(rules, d.ID)
		}
	}
	switch {
	case a.err != nil:
		rules, reason = []string{string(ostiary.KindOf(a.err))}, sentence(a.err)
	case !a.byRule:
		rules, reason = []string{"default." + a.behavior.String()}, "no rule speaks"
	}
	if f.classes == nil {
		f.classes, f.numbers, f.values = map[string]*class{}, make([]map[string]int32, len(l.reads)), make([][]Value, len(l.reads))
	}
	key := fmt.Sprintf("%d %d %q", r.Behavior, a.behavior, rules)
	c := f.classes[key]
	if c == nil {
		c = &class{kind: Kind{Was: r.Behavior, Now: a.behavior, Widened: a.behavior > r.Behavior, Rules: rules, Reason: reason}}
		f.classes[key] = c
	}
	one := flip{line: n, values: make([]int32, len(l.reads))}
	for i, d := range l.reads {
		one.values[i] = f.number(i, reading.Get(&r.Input, d.Path))
	}
	if f.kept++; f.kept <= maxExamples || len(c.flips) == 0 {
		one.example = slices.Clone(line)
	}
	c.flips = append(c.flips, one)
}

func (f *flips) number(place int, v Value) int32 {
	key := reading.Show(v)
	n, known := f.numbers[place][key]
	if !known {
		if f.numbers[place] == nil {
			f.numbers[place] = map[string]int32{}
		}
		n = int32(len(f.values[place]))
		f.numbers[place][key], f.values[place] = n, append(f.values[place], v)
	}
	return n
}

// kinds divides each class by the places that have few values in it, until it would be in too many parts.
func (f *flips) kinds(l *Lab) []Kind {
	out := []Kind{}
	for _, key := range slices.Sorted(maps.Keys(f.classes)) {
		c := f.classes[key]
		parts := [][]flip{c.flips}
		for _, place := range c.dividing(len(l.reads)) {
			var next [][]flip
			for _, part := range parts {
				next = append(next, divide(part, place)...)
			}
			if len(next) > maxKinds {
				break
			}
			parts = next
		}
		for _, part := range parts {
			out = append(out, f.kind(l, c.kind, part))
		}
	}
	return out
}

// dividing are the places in which a class differs, those of the fewest values first.
func (c *class) dividing(places int) []int {
	counts, order := make([]int, places), []int{}
	for place := range places {
		if counts[place] = len(divide(c.flips, place)); counts[place] > 1 && counts[place] <= maxKinds {
			order = append(order, place)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[a], counts[b]) })
	return order
}

// divide groups flips by their value at a place, in the order of the lines.
func divide(all []flip, place int) [][]flip {
	at := map[int32]int{}
	var out [][]flip
	for _, one := range all {
		i, known := at[one.values[place]]
		if !known {
			i = len(out)
			at[one.values[place]], out = i, append(out, nil)
		}
		out[i] = append(out[i], one)
	}
	return out
}

func (f *flips) kind(l *Lab, k Kind, part []flip) Kind {
	k.Count, k.Alike, k.Differ = len(part), []Reading{}, []Spread{}
	for i, d := range l.reads {
		if n := len(divide(part, i)); n > 1 {
			k.Differ = append(k.Differ, Spread{reading.Text(d.Path), n})
		} else {
			k.Alike = append(k.Alike, Reading{reading.Text(d.Path), f.values[i][part[0].values[i]]})
		}
	}
	shown := part[0]
	if i := slices.IndexFunc(part, func(one flip) bool { return one.example != nil }); i >= 0 {
		shown = part[i]
	}
	k.Line, k.Example = shown.line, shown.example
	return k
}
