// Package invariant reads what must hold of all decisions: a small closed format, in YAML or JSON.
package invariant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"sigs.k8s.io/yaml"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/workbench/reading"
	"ostiary/internal/strictjson"
)

// Value is a JSON value; nil is an absent one.
type Value = reading.Value

// Invariant says of all calls that fit When what they must never come to.
type Invariant struct {
	Name  string
	When  []Condition
	Never []decision.Behavior
}

// Condition is what a place of the input must be.
type Condition struct {
	Path  []string
	given []Value // values that fit and may be tried; only these with exact
	exact bool
	edges bool // they are the edges of a range
	fits  func(Value) bool
}

// Read reads a list of invariants from YAML or JSON. What it does not know it refuses.
func Read(raw []byte) ([]Invariant, error) {
	doc, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return nil, Refuse("", err)
	}
	var list []struct {
		Name    string           `json:"name"`
		When    map[string]Value `json:"when"`
		Never   Value            `json:"never"`
		AtLeast string           `json:"at_least"`
	}
	if err := strictjson.Decode(doc, &list); err != nil {
		return nil, Refuse("", err)
	}
	var out []Invariant
	for i, one := range list {
		inv := Invariant{Name: one.Name}
		if inv.Name == "" {
			inv.Name = "invariant " + strconv.Itoa(i+1)
		}
		if inv.Never, err = readNever(one.Never, one.AtLeast); err != nil {
			return nil, Refuse(inv.Name, err)
		}
		if _, said := one.When["phase"]; !said {
			one.When = with(one.When, "phase", Value(`"call"`))
		}
		for path, value := range one.When {
			c, err := readCondition(strings.Split(path, "."), value)
			if err != nil {
				return nil, Refuse(inv.Name, err)
			}
			inv.When = append(inv.When, c)
		}
		slices.SortFunc(inv.When, func(a, b Condition) int { return strings.Compare(reading.Text(a.Path), reading.Text(b.Path)) })
		out = append(out, inv)
	}
	if len(out) == 0 {
		return nil, Refuse("", fmt.Errorf("there are none"))
	}
	return out, nil
}

func with(m map[string]Value, name string, v Value) map[string]Value {
	out := map[string]Value{name: v}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Refuse says that something is no invariant, and how one is written.
func Refuse(name string, err error) error {
	msg := ostiary.Public(err).Msg
	if ostiary.KindOf(err) == ostiary.KindInternal {
		msg = strings.Join(strings.Fields(err.Error()), " ")
	} else if p := ostiary.Public(err).Pointer; p != "" {
		msg += " (at " + p + ")"
	}
	if name != "" {
		msg = name + ": " + msg
	}
	return ostiary.Errorf(ostiary.KindConfigInvalid, "these are no invariants: %s", msg).
		WithFix("write a list of {name, when: {field: value}, never: allow}; docs/policies.md shows all forms")
}

// readNever reads never (one behavior or several) or at_least, which forbids everything weaker.
func readNever(never Value, atLeast string) ([]decision.Behavior, error) {
	if (never == nil) == (atLeast == "") {
		return nil, fmt.Errorf("want either never or at_least")
	}
	if never == nil {
		least, err := decision.ParseBehavior(atLeast)
		var out []decision.Behavior
		for b := least + 1; b <= decision.Passthrough; b++ {
			out = append(out, b)
		}
		if err == nil && len(out) == 0 {
			err = fmt.Errorf("at_least passthrough forbids nothing")
		}
		return out, err
	}
	words := reading.Elements(never)
	if never.Kind() == '"' {
		words = []Value{never}
	}
	var out []decision.Behavior
	for _, w := range words {
		var b decision.Behavior
		if err := json.Unmarshal(w, &b); err != nil {
			return nil, fmt.Errorf("never is %s, want allow, ask, deny or passthrough", w)
		}
		out = append(out, b)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("never is %s, want allow, ask, deny or passthrough, or a list of them", never)
	}
	return out, nil
}

// readCondition reads a value, a list of values of which one fits, or one of {has}, {lacks}, {not}, {below}, {at_least}, {absent}.
func readCondition(path []string, v Value) (Condition, error) {
	c := Condition{Path: path}
	if !reading.Known(path) {
		return c, fmt.Errorf("when names %s, which is no field of the input document", reading.Text(path))
	}
	if v.Kind() != '{' {
		c.given, c.exact = []Value{v}, true
		if v.Kind() == '[' {
			c.given = reading.Elements(v)
		}
		c.fits = func(x Value) bool {
			return slices.ContainsFunc(c.given, func(g Value) bool { return equal(g, x) })
		}
		return c, c.check(v)
	}
	form := reading.Members(v)
	if len(form) != 1 {
		return c, fmt.Errorf("%s: want one of has, lacks, not, below, at_least, absent", reading.Text(path))
	}
	for name, arg := range form {
		if err := c.form(name, arg); err != nil {
			return c, fmt.Errorf("%s: %w", reading.Text(path), err)
		}
	}
	return c, c.check(v)
}

func (c *Condition) form(name string, arg Value) error {
	number, isNumber := numberOf(arg)
	switch name {
	case "has", "lacks":
		want := name == "has"
		c.given = map[bool][]Value{true: {reading.List([]Value{arg})}, false: {Value("[]")}}[want]
		c.fits = func(x Value) bool {
			return x != nil && want == slices.ContainsFunc(reading.Elements(x), func(e Value) bool { return covers(e, arg) })
		}
	case "not":
		refused := []Value{arg}
		if arg.Kind() == '[' {
			refused = reading.Elements(arg)
		}
		c.given = []Value{Value("false"), Value("true"), reading.Quote(reading.Fresh)}
		c.fits = func(x Value) bool {
			return !slices.ContainsFunc(refused, func(r Value) bool { return equal(r, x) })
		}
	case "below", "at_least":
		if !isNumber {
			return fmt.Errorf("%s is %s, want a number", name, arg)
		}
		c.edges = true
		c.given = []Value{Value(arg), Value(strconv.FormatFloat(number-0.01, 'f', -1, 64)), Value(strconv.FormatFloat(number-1, 'f', -1, 64))}
		c.fits = func(x Value) bool {
			n, ok := numberOf(x)
			return ok && (n < number) == (name == "below")
		}
	case "absent":
		if arg.Kind() != 't' {
			return fmt.Errorf("absent is %s, want true", arg)
		}
		c.given, c.exact = []Value{nil}, true
		c.fits = func(x Value) bool { return x == nil }
	default:
		return fmt.Errorf("%q is unknown; want one of has, lacks, not, below, at_least, absent", name)
	}
	return nil
}

// check tries to write what was given, so that a value of the wrong type is told here. Of guesses one that fits is enough.
func (c *Condition) check(v Value) error {
	var last error
	ok := 0
	for _, g := range c.given {
		var in decision.Input
		if err := reading.Put(&in, c.Path, g); err != nil {
			last = err
		} else {
			ok++
		}
	}
	if ok == 0 || c.exact && ok < len(c.given) {
		return fmt.Errorf("%s cannot be %s%s", reading.Text(c.Path), v, hint(last))
	}
	return nil
}

func hint(err error) string {
	if err != nil && strings.Contains(err.Error(), "array") || strings.Contains(fmt.Sprint(err), "[]") {
		return "; of a list say {has: …} or {lacks: …}"
	}
	return ""
}

func numberOf(v Value) (float64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(v), 64)
	return n, err == nil
}

func equal(a, b Value) bool {
	x, isNumber := numberOf(a)
	y, alsoNumber := numberOf(b)
	if isNumber && alsoNumber {
		return x == y
	}
	return (a == nil) == (b == nil) && string(a) == string(b)
}

// covers reports whether an element is the one wanted, or an object that has all its members.
func covers(element, want Value) bool {
	if want.Kind() != '{' {
		return equal(element, want)
	}
	have := reading.Members(element)
	for name, v := range reading.Members(want) {
		if !equal(have[name], v) {
			return false
		}
	}
	return true
}

// Narrow keeps the values of a place that fit.
func (c *Condition) Narrow(d reading.Dimension) (reading.Dimension, error) {
	if c.exact {
		return reading.Dimension{Path: d.Path, Values: c.given}, nil
	}
	out := reading.Dimension{Path: d.Path, Bound: d.Bound}
	add := func(values []Value) {
		for _, v := range values {
			var in decision.Input
			known := slices.ContainsFunc(out.Values, func(x Value) bool { return equal(x, v) })
			if !known && c.fits(v) && reading.Put(&in, c.Path, v) == nil {
				out.Values = append(out.Values, v)
			}
		}
	}
	if add(d.Values); len(out.Values) == 0 || c.edges {
		add(c.given)
	}
	if c.edges { // and what lies between the edge and the values next to it
		edge, _ := numberOf(c.given[0])
		for _, v := range out.Values {
			if n, ok := numberOf(v); ok {
				add([]Value{Value(strconv.FormatFloat((n+edge)/2, 'f', -1, 64))})
			}
		}
	}
	if len(out.Values) == 0 {
		return out, fmt.Errorf("no value of %s fits", reading.Text(c.Path))
	}
	return out, nil
}
