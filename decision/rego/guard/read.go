package guard

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision/rego/document"
)

// reader turns the rules of one package into tests.
type reader struct {
	pkg     string
	rules   map[string][]*ast.Rule
	helpers map[string]test
	fields  []document.Field
}

// value is what an expression stands for, for one input; nil when it is undefined. The second result is false when it is not known.
type value func(v *document.Values) (ast.Value, bool)

// scope holds what the variables of a body stand for; one that is missing has no value yet.
type scope map[ast.Var]value

func (r *reader) body(b ast.Body, vars scope) body {
	out := make(body, 0, len(b))
	for _, e := range b {
		t := r.expr(e, vars)
		if e.Negated {
			t = not(t)
		}
		if len(e.With) > 0 {
			t = anything
		}
		out = append(out, t)
		ast.WalkVars(e, func(name ast.Var) bool {
			if _, known := vars[name]; !known {
				vars[name] = unsure
			}
			return false
		})
	}
	return out
}

func (r *reader) expr(e *ast.Expr, vars scope) test {
	switch terms := e.Terms.(type) {
	case *ast.Term:
		return r.truthy(terms, vars)
	case *ast.Not:
		inner := scope{}
		for name, v := range vars {
			inner[name] = v
		}
		return not(r.body(terms.Body, inner).judge)
	case []*ast.Term:
		if len(terms) == 3 && !slices.ContainsFunc(terms[1:], opaque) {
			return r.call(terms[0].Value.String(), terms[1], terms[2], vars)
		}
	}
	return anything
}

// opaque reports whether finding the value of a term can do more than look something up in the input.
func opaque(t *ast.Term) bool {
	found := false
	ast.WalkTerms(t, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, ast.Call:
			found = true
		case ast.Ref:
			found = found || v[0].Equal(ast.DefaultRootDocument) && !isBase(v)
		}
		return found
	})
	return found
}

// isBase reports whether a reference leads into one of the data documents, which no rule computes.
func isBase(ref ast.Ref) bool {
	if len(ref) < 3 || !ref[1].Equal(ast.StringTerm("ostiary")) {
		return false
	}
	key, constant := ref[2].Value.(ast.String)
	return constant && key != "main" // the package of the entrypoint
}

// truthy judges a term that stands as a condition.
func (r *reader) truthy(t *ast.Term, vars scope) test {
	if ref, ok := t.Value.(ast.Ref); ok && ref[0].Equal(ast.DefaultRootDocument) && !isBase(ref) {
		return r.helper(ref)
	}
	if opaque(t) {
		return anything
	}
	of := r.value(t, vars)
	return func(f *facts) truth {
		switch got, known := of(f.values); {
		case !known:
			return unclear
		case got == nil || got.Compare(ast.Boolean(false)) == 0:
			return fails
		default:
			return holds
		}
	}
}

// helper judges a reference to a rule of the same package that is true or undefined. A name without a rule can be a package below this one.
func (r *reader) helper(ref ast.Ref) test {
	n := len(ref) - 1
	if n < 1 || ref[:n].String() != r.pkg {
		return anything
	}
	last, ok := ref[n].Value.(ast.String)
	if !ok || len(r.rules[string(last)]) == 0 {
		return anything
	}
	name := string(last)
	if t, ok := r.helpers[name]; ok {
		return t
	}
	if slices.ContainsFunc(r.rules[name], func(rule *ast.Rule) bool { return !simple(rule) }) {
		return anything
	}
	var bodies []body
	for _, rule := range r.rules[name] {
		bodies = append(bodies, r.body(rule.Body, scope{}))
	}
	number := len(r.helpers)
	r.helpers[name] = func(f *facts) truth {
		if f.helpers[number] == 0 {
			f.helpers[number] = either(bodies, f)
		}
		return f.helpers[number]
	}
	return r.helpers[name]
}

// simple reports whether a rule makes its name true, or leaves it undefined.
func simple(rule *ast.Rule) bool {
	return rule.Head.RuleKind() == ast.SingleValue && len(rule.Head.Args) == 0 && len(rule.Head.Ref()) == 1 && !rule.Default && rule.Else == nil &&
		rule.Head.Value != nil && rule.Head.Value.Equal(ast.BooleanTerm(true))
}

// either judges a disjunction, all of which OPA may evaluate.
func either(bodies []body, f *facts) truth {
	out := fails
	for _, b := range bodies {
		switch b.judge(f) {
		case holds:
			out = holds
		case unclear:
			if out == fails {
				out = unclear
			}
		case fails:
		default:
			return unknown
		}
	}
	return out
}

// call judges an operator on two terms. Where it gives a variable its value, the scope learns it.
func (r *reader) call(operator string, a, b *ast.Term, vars scope) test {
	x, y := r.value(a, vars), r.value(b, vars)
	switch operator {
	case "eq":
		if name, ok := unbound(a, vars); ok {
			vars[name] = y
			return defined(y)
		}
		if name, ok := unbound(b, vars); ok {
			vars[name] = x
			return defined(x)
		}
		return both(x, y, func(x, y ast.Value) truth { return is(x.Compare(y) == 0) })
	case "neq":
		return both(x, y, func(x, y ast.Value) truth { return is(x.Compare(y) != 0) })
	case "gt":
		return both(x, y, func(x, y ast.Value) truth { return is(x.Compare(y) > 0) })
	case "gte":
		return both(x, y, func(x, y ast.Value) truth { return is(x.Compare(y) >= 0) })
	case "lt":
		return both(x, y, func(x, y ast.Value) truth { return is(x.Compare(y) < 0) })
	case "lte":
		return both(x, y, func(x, y ast.Value) truth { return is(x.Compare(y) <= 0) })
	case "internal.member_2":
		return both(x, y, member)
	case "count":
		if name, ok := unbound(b, vars); ok {
			vars[name] = length(x)
			return countable(x)
		}
	}
	return anything
}

func is(yes bool) truth {
	if yes {
		return holds
	}
	return fails
}

// both judges a condition on two values: without either of them it is undefined.
func both(x, y value, of func(x, y ast.Value) truth) test {
	return func(f *facts) truth {
		a, knownA := x(f.values)
		b, knownB := y(f.values)
		switch {
		case knownA && a == nil || knownB && b == nil:
			return fails
		case knownA && knownB:
			return of(a, b)
		default:
			return unclear
		}
	}
}

// defined judges an assignment.
func defined(x value) test {
	return func(f *facts) truth {
		switch got, known := x(f.values); {
		case !known:
			return unclear
		case got == nil:
			return fails
		default:
			return holds
		}
	}
}

func member(x, list ast.Value) truth {
	switch list := list.(type) {
	case *ast.Array:
		return is(list.Until(func(t *ast.Term) bool { return t.Value.Compare(x) == 0 }))
	case ast.Set:
		return is(list.Contains(ast.NewTerm(x)))
	default:
		return unclear
	}
}

// countable judges count, which raises an error for what has no length.
func countable(x value) test {
	return func(f *facts) truth {
		got, known := x(f.values)
		if !known {
			return unknown
		}
		if _, ok := got.(*ast.Array); ok {
			return holds
		}
		if got == nil {
			return fails
		}
		return unknown
	}
}

func length(x value) value {
	return func(v *document.Values) (ast.Value, bool) {
		got, known := x(v)
		list, ok := got.(*ast.Array)
		if !known || !ok {
			return nil, known && got == nil
		}
		return ast.Number(ast.IntNumberTerm(list.Len()).Value.(ast.Number)), true //nolint:forcetypeassert // IntNumberTerm makes no other
	}
}

// unbound returns the variable that a term is, when nothing has given it a value yet.
func unbound(t *ast.Term, vars scope) (ast.Var, bool) {
	name, ok := t.Value.(ast.Var)
	_, bound := vars[name]
	return name, ok && !bound
}

func (r *reader) value(t *ast.Term, vars scope) value {
	switch x := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return func(*document.Values) (ast.Value, bool) { return x, true }
	case *ast.Array, ast.Set, ast.Object:
		if x.IsGround() && !refers(t) {
			return func(*document.Values) (ast.Value, bool) { return x, true }
		}
	case ast.Var:
		if v, ok := vars[x]; ok {
			return v
		}
	case ast.Ref:
		if x[0].Equal(ast.InputRootDocument) {
			return r.input(x[1:])
		}
	}
	return unsure
}

func unsure(*document.Values) (ast.Value, bool) { return nil, false }

func refers(t *ast.Term) bool {
	found := false
	ast.WalkRefs(t, func(ast.Ref) bool {
		found = true
		return true
	})
	return found
}

// find looks a place up in a value; nil when there is nothing.
func find(in ast.Value, place ast.Ref) ast.Value {
	if len(place) == 0 {
		return in
	}
	found, err := in.Find(place)
	if err != nil {
		return nil
	}
	return found
}

// input is the value of a field or of a place in it, or an element of one that is a list: of an empty list there is none.
func (r *reader) input(place ast.Ref) value {
	for i, f := range r.fields {
		n := len(f.Path)
		if len(place) < n || !slices.EqualFunc(f.Path, place[:n], func(name string, step *ast.Term) bool { return step.Equal(ast.StringTerm(name)) }) {
			continue
		}
		return func(v *document.Values) (ast.Value, bool) {
			t, err := v.Term(i)
			switch {
			case err != nil:
				return nil, false
			case t == nil:
				return nil, true
			case !slices.ContainsFunc(place[n:], func(step *ast.Term) bool { return !step.IsGround() }):
				return find(t.Value, place[n:]), true
			}
			list, ok := t.Value.(*ast.Array)
			return nil, ok && list.Len() == 0
		}
	}
	return unsure
}
