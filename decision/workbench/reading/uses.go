package reading

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// element is the step from a list to what is in it.
const element = "[]"

// use is what policies do with one place of the input: the constants it is held against, and the ways of reading it that are more than that.
type use struct {
	path      []string
	constants []Value  // equal, in, or compared
	words     []string // strings of rules that read it in other ways
	lengths   bool     // its count is held against a constant that is not 0
	other     string   // the first other way, with its place
}

// Uses collects how modules read the input.
type Uses struct {
	data map[string]any
	at   map[string]*use
	file string
}

// Find reads modules, as they were parsed, and the data below data.ostiary. A reading that it does not understand is never taken for one that
// it does.
func Find(modules map[string]*ast.Module, data map[string]any) *Uses {
	u := &Uses{data: data, at: map[string]*use{}}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		u.file = name
		for _, i := range modules[name].Imports {
			if ref, ok := i.Path.Value.(ast.Ref); ok && ref[0].Equal(ast.InputRootDocument) {
				u.find(nil).note(name, i.Location, "import")
			}
		}
		for _, r := range modules[name].Rules {
			u.rule(r)
		}
	}
	return u
}

// Constant says that a place is held against a constant outside the modules.
func (u *Uses) Constant(path []string, value Value) {
	s := u.find(path)
	s.constants = append(s.constants, value)
}

func (u *Uses) find(path []string) *use {
	key := Text(path)
	if u.at[key] == nil {
		u.at[key] = &use{path: path}
	}
	return u.at[key]
}

func (s *use) note(file string, at *ast.Location, how string) {
	if s.other == "" {
		s.other = fmt.Sprintf("%s at %s:%d", how, file, at.Row)
	}
}

// study is one rule that is looked at.
type study struct {
	*Uses
	stands     map[ast.Var][]string // variables that stand for places
	understood map[*ast.Term]bool
	words      []string
}

func (u *Uses) rule(r *ast.Rule) {
	d := &study{Uses: u, stands: map[ast.Var][]string{}, understood: map[*ast.Term]bool{}}
	d.declare(r)
	ast.WalkTerms(r.Body, func(t *ast.Term) bool {
		d.words = append(d.words, d.strings(t)...)
		return false
	})
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		d.expr(e)
		return false
	})
	d.head(r.Head)
	d.rest(r)
}

// strings are the texts of a constant, or of the data that it names.
func (d *study) strings(t *ast.Term) []string {
	var out []string
	for _, v := range d.constants(t) {
		if v.Kind() == '"' {
			out = append(out, unquote(v))
		}
	}
	return out
}

// declare finds the variables that stand for places: x := input.a, some x in input.a, every x in input.a. To give a place a name is no use of it.
func (d *study) declare(r *ast.Rule) {
	name := func(v, place *ast.Term, steps ...string) {
		variable, ok := v.Value.(ast.Var)
		if path := d.place(place); ok && path != nil {
			path = append(slices.Clone(path), steps...)
			if before, twice := d.stands[variable]; twice && !slices.Equal(before, path) {
				d.find(before).note(d.file, v.Location, "a name for two places")
				d.find(path).note(d.file, v.Location, "a name for two places")
			}
			d.stands[variable] = path
			d.understood[v], d.understood[place] = true, true
		}
	}
	ast.WalkNodes(r, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Expr:
			if terms, ok := n.Terms.([]*ast.Term); ok && len(terms) == 3 && terms[0].String() == "assign" {
				name(terms[1], terms[2])
			}
		case *ast.SomeDecl:
			for _, s := range n.Symbols {
				if call, ok := s.Value.(ast.Call); ok && len(call) == 3 {
					name(call[1], call[2], element)
				}
			}
		case *ast.Every:
			if n.Key == nil {
				name(n.Value, n.Domain, element)
			}
		}
		return false
	})
}

// place is the path of a reference to the input, also by a variable; nil when it is none, or has a step that only the evaluation knows.
func (d *study) place(t *ast.Term) []string {
	switch v := t.Value.(type) {
	case ast.Var:
		return d.stands[v]
	case ast.Ref:
		path := []string{}
		if head, ok := v[0].Value.(ast.Var); !ok || !v[0].Equal(ast.InputRootDocument) {
			if path = d.stands[head]; path == nil {
				return nil
			}
		}
		path = slices.Clone(path)
		for _, step := range v[1:] {
			s, ok := step.Value.(ast.String)
			if !ok {
				return nil
			}
			path = append(path, string(s))
		}
		return path
	}
	return nil
}

// constants are the scalars of a constant, of a set or list of them, or of the data that a reference names.
func (d *study) constants(t *ast.Term) []Value {
	switch v := t.Value.(type) {
	case ast.String, ast.Number, ast.Boolean, ast.Null:
		return []Value{Value(v.String())}
	case ast.Set:
		return d.all(v.Slice())
	case *ast.Array:
		var terms []*ast.Term
		v.Foreach(func(t *ast.Term) { terms = append(terms, t) })
		return d.all(terms)
	case ast.Ref:
		return d.named(v)
	}
	return nil
}

func (d *study) all(terms []*ast.Term) []Value {
	out := []Value{}
	for _, t := range terms {
		c := d.constants(t)
		if c == nil {
			return nil
		}
		out = append(out, c...)
	}
	return out
}

// named is what the data hold below data.ostiary.
func (d *study) named(ref ast.Ref) []Value {
	if len(ref) < 3 || !ref[0].Equal(ast.DefaultRootDocument) || !ref[1].Equal(ast.StringTerm("ostiary")) {
		return nil
	}
	var at any = d.data
	for _, step := range ref[2:] {
		name, ok := step.Value.(ast.String)
		object, isObject := at.(map[string]any)
		if !ok || !isObject {
			return nil
		}
		at = object[string(name)]
	}
	value, err := ast.InterfaceToValue(at)
	if _, isRef := value.(ast.Ref); err != nil || at == nil || isRef {
		return nil
	}
	return d.constants(ast.NewTerm(value))
}

var comparisons = []string{"equal", "eq", "neq", "gt", "gte", "lt", "lte"}

func (d *study) expr(e *ast.Expr) {
	if len(e.With) > 0 {
		d.find(nil).note(d.file, e.Location, "with")
	}
	switch terms := e.Terms.(type) {
	case *ast.Term:
		if path := d.place(terms); path != nil {
			d.find(path)
			d.understood[terms] = true
		}
	case []*ast.Term:
		d.call(terms[0].String(), terms[1:])
	}
}

func (d *study) call(name string, operands []*ast.Term) {
	switch {
	case len(operands) == 2 && slices.Contains(comparisons, name):
		for i, t := range operands {
			if ordered := name[0] == 'g' || name[0] == 'l'; !ordered || d.numeric(operands[1-i]) {
				d.compare(t, operands[1-i])
			}
		}
	case len(operands) == 2 && name == "internal.member_2":
		d.compare(operands[0], operands[1])
		if path := d.place(operands[1]); path != nil && d.constants(operands[0]) != nil {
			d.note(operands[1], append(slices.Clone(path), element), d.constants(operands[0]))
		}
	case len(operands) == 1 && strings.HasPrefix(name, "is_"):
		if path := d.place(operands[0]); path != nil {
			d.note(operands[0], path, nil)
		}
	}
}

// numeric reports whether a term is a number: what is larger than a text is not found by trying that text.
func (d *study) numeric(t *ast.Term) bool {
	constants := d.constants(t)
	return len(constants) > 0 && !slices.ContainsFunc(constants, func(c Value) bool { return c.Kind() != '0' })
}

// compare takes note of a place, or of its count, that is held against constants.
func (d *study) compare(t, against *ast.Term) {
	constants := d.constants(against)
	if constants == nil {
		return
	}
	if path := d.place(t); path != nil {
		d.note(t, path, constants)
		return
	}
	call, ok := t.Value.(ast.Call)
	if !ok || len(call) != 2 || call[0].String() != "count" {
		return
	}
	if path := d.place(call[1]); path != nil {
		d.note(call[1], path, nil)
		for _, c := range constants {
			d.find(path).lengths = d.find(path).lengths || string(c) != "0"
		}
	}
}

func (d *study) note(t *ast.Term, path []string, constants []Value) {
	d.understood[t] = true
	s := d.find(path)
	s.constants = append(s.constants, constants...)
}

// head passes over what a verdict only tells: all but its behavior.
func (d *study) head(h *ast.Head) {
	if h.Name != "verdicts" || h.Key == nil {
		return
	}
	object, ok := h.Key.Value.(ast.Object)
	if !ok {
		return
	}
	object.Foreach(func(k, v *ast.Term) {
		call, isCall := v.Value.(ast.Call)
		if k.Equal(ast.StringTerm("behavior")) || isCall && call[0].String() != "sprintf" {
			return
		}
		ast.WalkTerms(v, func(t *ast.Term) bool {
			d.understood[t] = true
			return false
		})
	})
}

// rest takes every other reading for one that no constants stand for.
func (d *study) rest(r *ast.Rule) {
	heads := map[*ast.Term]bool{}
	ast.WalkTerms(r, func(t *ast.Term) bool {
		if ref, ok := t.Value.(ast.Ref); ok {
			heads[ref[0]] = true
		}
		return false
	})
	ast.WalkTerms(r, func(t *ast.Term) bool {
		if heads[t] || d.understood[t] {
			return false
		}
		path := d.place(t)
		if path == nil {
			path = d.known(t)
		}
		if path != nil {
			s := d.find(path)
			s.note(d.file, t.Location, "read by "+strings.Join(strings.Fields(string(line(r, t))), " "))
			s.words = append(s.words, d.words...)
		}
		return false
	})
}

// known is the part of a reference that is known before the evaluation; nil when it is none to the input.
func (d *study) known(t *ast.Term) []string {
	if v, ok := t.Value.(ast.Var); ok && v.Equal(ast.InputRootDocument.Value) {
		return []string{}
	}
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return nil
	}
	for n := len(ref) - 1; n > 0; n-- {
		if path := d.place(ast.NewTerm(ref[:n])); path != nil {
			return path
		}
	}
	return nil
}

// line is the text of the expression that a term stands in.
func line(r *ast.Rule, t *ast.Term) []byte {
	out := t.Location.Text
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		if e.Location != nil && e.Location.Row == t.Location.Row && len(e.Location.Text) > 0 && !strings.Contains(string(e.Location.Text), "\n") {
			out = e.Location.Text
		}
		return false
	})
	return out
}
