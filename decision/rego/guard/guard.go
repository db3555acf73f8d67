package guard

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision/rego/document"
)

// truth is what is known of a condition for one input. The zero truth is that of a condition nobody has judged.
type truth int8

const (
	unknown truth = iota + 1 // it may even raise an error
	unclear                  // it holds or fails, and raises no error
	fails                    // it is false or undefined
	holds
)

// facts are one input, with what the helper rules were judged to be for it: each is judged once, as OPA evaluates it once.
type facts struct {
	values  *document.Values
	helpers []truth
}

// test judges one condition.
type test func(f *facts) truth

// body is a conjunction, in order.
type body []test

func (b body) judge(f *facts) truth {
	out := holds
	for _, t := range b {
		switch t(f) {
		case fails:
			return fails
		case unclear:
			out = unclear
		case holds:
		default:
			return unknown
		}
	}
	return out
}

// anything is the test of what is not understood.
func anything(*facts) truth { return unknown }

// not inverts a condition; what it negates may be undefined.
func not(t test) test {
	return func(f *facts) truth {
		switch t(f) {
		case fails:
			return holds
		case holds:
			return fails
		case unclear:
			return unclear
		default:
			return unknown
		}
	}
}

// Guard is what is understood of the rules of one package. The zero Guard understands nothing.
type Guard struct {
	rules   []body // of the verdicts
	helpers int
}

// Silent reports that no rule of the package fires and none raises an error. When it reports false, nothing is known. It takes time in
// proportion to the text of the rules.
func (g Guard) Silent(v *document.Values) bool {
	f := &facts{values: v, helpers: make([]truth, g.helpers)}
	for _, r := range g.rules {
		if r.judge(f) != fails {
			return false
		}
	}
	return len(g.rules) > 0
}

// Of reads the rules of a package in compiled modules. Fields numbers the parts of the input document.
func Of(modules map[string]*ast.Module, pkg string, fields []document.Field) Guard {
	r := &reader{pkg: pkg, rules: map[string][]*ast.Rule{}, helpers: map[string]test{}, fields: fields}
	for _, m := range modules {
		if m.Package.Path.String() != pkg {
			continue
		}
		for _, rule := range m.Rules {
			name := rule.Head.Ref()[0].Value.String()
			r.rules[name] = append(r.rules[name], rule)
		}
	}
	var g Guard
	for _, rule := range r.rules["verdicts"] {
		if rule.Head.RuleKind() != ast.MultiValue || rule.Default || rule.Else != nil || len(rule.Head.Ref()) != 1 {
			return Guard{}
		}
		g.rules = append(g.rules, r.body(rule.Body, scope{}))
	}
	g.helpers = len(r.helpers)
	return g
}
