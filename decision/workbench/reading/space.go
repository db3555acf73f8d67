package reading

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"ostiary/decision"
)

// Dimension is a place of the input with the values that policies can tell apart there, the plainest first.
type Dimension struct {
	Path   []string
	Values []Value
	// Bound is why values that are not listed could be judged otherwise; empty when none could.
	Bound string
}

// closed lists places of which the sidecar gives no other values.
var closed = map[string][]string{
	"phase":                     {"call", "result"},
	"tool.annotations_source":   {"operator", "shipped", "server", "none"},
	"caller.profile":            {"api", "mcp", "gateway", "hook"},
	"result.status":             {"ok", "error"},
	"session.labels.[]":         {"untrusted", "injection_suspected", "pii", "secret"},
	"result.labels.[]":          {"untrusted", "injection_suspected", "pii", "secret"},
	"provenance.args.[].origin": {"model", "user", "untrusted", "endorsed"},
}

// Fresh is a text that stands in no policy.
const Fresh = "another"

// Limits of what is enumerated at one place.
const (
	maxList = 256 // lists of different elements
	maxFew  = 12  // words that are tried where a place is read in ways that constants do not tell
)

// Dimension finds the values of a place.
func (u *Uses) Dimension(path []string) Dimension {
	d := Dimension{Path: path}
	mine := u.around(path)
	for _, s := range mine {
		if s.other != "" && d.Bound == "" {
			d.Bound = s.other
		}
	}
	whole := u.at[Text(path)]
	if whole == nil {
		whole = &use{path: path}
	}
	t := typeOf(path)
	if path[0] == "args" {
		t = nil
	}
	switch {
	case t == nil:
		d.Values = anyValues(mine, path)
	case t.Kind() == reflect.Bool:
		d.Values, d.Bound = []Value{Value("false"), Value("true")}, ""
	case t.Kind() == reflect.Int:
		d.Values = counts(constantsOf(mine))
	case t.Kind() == reflect.Pointer:
		d.Values = append([]Value{nil}, numbers(constantsOf(mine), 0.01, 0, 1)...)
	case t.Kind() == reflect.String:
		d.strings(mine)
	case t.Kind() == reflect.Map:
		d.members(mine)
	case t.Kind() == reflect.Slice:
		d.lists(mine, t.Elem(), whole.lengths)
	}
	return d
}

// around lists the uses at, below and above a place.
func (u *Uses) around(path []string) []*use {
	var out []*use
	for _, key := range slices.Sorted(maps.Keys(u.at)) {
		s := u.at[key]
		n := min(len(s.path), len(path))
		if slices.Equal(s.path[:n], path[:n]) && (len(s.path) >= len(path) || s.other != "") {
			out = append(out, s)
		}
	}
	return out
}

func constantsOf(all []*use) []Value {
	var out []Value
	for _, s := range all {
		out = append(out, s.constants...)
	}
	return out
}

func wordsOf(all []*use) []string {
	var out []string
	for _, s := range all {
		for _, w := range s.words {
			out = append(out, plain(w))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// plain makes a text that a glob fits of a glob.
func plain(w string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(w, "**"), "**", "x/y"), "*", "x")
}

// isOptional reports whether a place may be absent.
func isOptional(path []string) bool { return Get(&decision.Input{}, path) == nil }

func (d *Dimension) strings(mine []*use) {
	if isOptional(d.Path) {
		d.Values = []Value{nil}
	}
	if words := closed[Text(d.Path)]; words != nil {
		d.Bound = ""
		for _, w := range words {
			d.Values = append(d.Values, Quote(w))
		}
		return
	}
	d.Values = append(d.Values, Quote(Fresh))
	for _, w := range texts(constantsOf(mine)) {
		d.Values = append(d.Values, Quote(w))
	}
	d.few(wordsOf(mine))
}

// few adds words where constants do not tell all.
func (d *Dimension) few(words []string) {
	if d.Bound == "" {
		return
	}
	for _, w := range words[:min(len(words), maxFew)] {
		if v := Quote(w); !slices.ContainsFunc(d.Values, func(x Value) bool { return string(x) == string(v) }) {
			d.Values = append(d.Values, v)
		}
	}
}

func texts(constants []Value) []string {
	var out []string
	for _, c := range constants {
		if c.Kind() == '"' {
			out = append(out, unquote(c))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func unquote(v Value) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// numbers are 0, every threshold with a step to both sides, and what lies between two of them.
func numbers(constants []Value, step, least, most float64) []Value {
	out := []float64{0}
	for _, c := range constants {
		if n, err := strconv.ParseFloat(string(c), 64); err == nil {
			out = append(out, n-step, n, n+step)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for i := range len(out) - 1 {
		out = append(out, (out[i]+out[i+1])/2)
	}
	return within(out, least, most, func(n float64) []float64 { return []float64{math.Round(n*1e9) / 1e9} })
}

// counts are numbers of which there are no fractions and none below 0.
func counts(constants []Value) []Value {
	var out []float64
	for _, v := range numbers(constants, 1, math.Inf(-1), math.Inf(1)) {
		if n, err := strconv.ParseFloat(string(v), 64); err == nil {
			out = append(out, n)
		}
	}
	return within(out, 0, math.MaxInt32, func(n float64) []float64 { return []float64{math.Floor(n), math.Ceil(n)} })
}

// within makes values of numbers that lie in a range, once they are made fit.
func within(numbers []float64, least, most float64, fit func(float64) []float64) []Value {
	var fitting []float64
	for _, n := range numbers {
		for _, v := range fit(n) {
			if v >= least && v <= most {
				fitting = append(fitting, v+0) // no negative zero
			}
		}
	}
	slices.SortFunc(fitting, func(a, b float64) int { return cmp.Or(cmp.Compare(math.Abs(a), math.Abs(b)), cmp.Compare(b, a)) })
	var values []Value
	for _, v := range slices.Compact(fitting) {
		values = append(values, Value(strconv.FormatFloat(v, 'f', -1, 64)))
	}
	return values
}

// anyValues are values of every kind, for a place below the arguments: what a caller sends is not known.
func anyValues(mine []*use, path []string) []Value {
	values := []Value{nil, Quote(Fresh)}
	for _, s := range mine {
		if s.other != "" || len(s.path) > len(path) {
			for _, w := range wordsOf(mine)[:min(len(wordsOf(mine)), maxFew)] {
				values = append(values, Quote(w))
			}
			break
		}
	}
	constants := constantsOf(mine)
	for _, c := range constants {
		if c.Kind() != '0' {
			values = append(values, c)
		}
	}
	values = append(values, numbers(constants, 1, math.Inf(-1), math.Inf(1))...)
	values = append(values, Value("-1"), Value("null"), Value("true"), Value("false"), Value("[]"), Value("{}"))
	var out []Value
	for _, v := range values {
		if !slices.ContainsFunc(out, func(x Value) bool { return (x == nil) == (v == nil) && string(x) == string(v) }) {
			out = append(out, v)
		}
	}
	if len(path) == 1 { // the arguments themselves are always an object
		return []Value{Value("{}")}
	}
	return out
}

// members are objects of counts: each name that is read, by its thresholds.
func (d *Dimension) members(mine []*use) {
	names := map[string][]Value{}
	for _, s := range mine {
		if len(s.path) > len(d.Path) {
			names[s.path[len(d.Path)]] = append(names[s.path[len(d.Path)]], s.constants...)
		}
	}
	if isOptional(d.Path) {
		d.Values = append(d.Values, nil)
	}
	objects := []map[string]Value{{}}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var next []map[string]Value
		for _, o := range objects {
			next = append(next, o)
			for _, n := range counts(names[name]) {
				more := maps.Clone(o)
				more[name] = n
				next = append(next, more)
			}
		}
		objects = next[:min(len(next), maxList)]
	}
	for _, o := range objects {
		d.Values = append(d.Values, marshal(o))
	}
}

func marshal(v any) Value {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return Value("null")
	}
	return raw
}

// lists are the sets of elements that policies can tell apart: an evaluation that asks whether some or every element is so cannot tell how
// often one is there, or where.
func (d *Dimension) lists(mine []*use, of reflect.Type, lengths bool) {
	if lengths && d.Bound == "" {
		d.Bound = "its length counts"
	}
	var elements []Value
	if of.Kind() == reflect.String {
		e := Dimension{Path: append(slices.Clone(d.Path), element), Bound: d.Bound}
		words := closed[Text(e.Path)]
		if words == nil {
			words = append(texts(constantsOf(mine)), Fresh)
		}
		for _, w := range words {
			e.Values = append(e.Values, Quote(w))
		}
		e.few(wordsOf(mine))
		elements = e.Values
		if closed[Text(e.Path)] != nil && !lengths {
			d.Bound = ""
		}
	} else {
		elements = d.objects(mine, of)
	}
	if isOptional(d.Path) {
		d.Values = append(d.Values, nil)
	}
	if 1<<min(len(elements), 30) <= maxList {
		for set := range 1 << len(elements) {
			d.Values = append(d.Values, pick(elements, func(i int) bool { return set>>i&1 == 1 }))
		}
		return
	}
	if d.Bound == "" {
		d.Bound = "lists of more than two different elements"
	}
	d.Values = append(d.Values, Value("[]"))
	for a := range elements {
		d.Values = append(d.Values, pick(elements, func(i int) bool { return i == a }))
	}
	for a := range elements {
		for b := a + 1; b < len(elements) && len(d.Values) < maxList; b++ {
			d.Values = append(d.Values, pick(elements, func(i int) bool { return i == a || i == b }))
		}
	}
}

func pick(elements []Value, which func(int) bool) Value {
	var parts []string
	for i, e := range elements {
		if which(i) {
			parts = append(parts, string(e))
		}
	}
	return Value("[" + strings.Join(parts, ",") + "]")
}

// objects are the elements of a list of objects: all members that policies look at, by their values. The others are empty.
func (d *Dimension) objects(mine []*use, of reflect.Type) []Value {
	for _, s := range mine {
		if deep := len(s.path) > len(d.Path)+2; deep && d.Bound == "" {
			d.Bound = "the " + s.path[len(d.Path)+1] + " of an element"
		}
	}
	objects := []map[string]Value{{}}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		path := append(slices.Clone(d.Path), element, name)
		at := slices.IndexFunc(mine, func(s *use) bool { return slices.Equal(s.path, path) })
		if at < 0 {
			continue
		}
		values := memberValues(of.Field(i).Type.Kind(), path, mine[at])
		if values == nil {
			d.Bound = cmp.Or(d.Bound, fmt.Sprintf("the %s of an element", name))
			continue
		}
		var next []map[string]Value
		for _, o := range objects {
			for _, v := range values {
				more := maps.Clone(o)
				more[name] = v
				next = append(next, more)
			}
		}
		objects = next
	}
	var out []Value
	for _, o := range objects[:min(len(objects), maxList/2)] {
		out = append(out, marshal(o))
	}
	return out
}

func memberValues(kind reflect.Kind, path []string, s *use) []Value {
	switch kind { //nolint:exhaustive // other kinds are bounded
	case reflect.Bool:
		return []Value{Value("false"), Value("true")}
	case reflect.Int:
		return counts(s.constants)
	case reflect.String:
		words := closed[Text(path)]
		if words == nil {
			words = append(texts(s.constants), Fresh)
		}
		var out []Value
		for _, w := range words {
			out = append(out, Quote(w))
		}
		return out
	}
	return nil
}
