package guard

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision/rego/document"
)

// truth is what is known of a condition for one input.
type truth int8

const (
	unknown truth = iota // it may even raise an error
	unclear              // it holds or fails, and raises no error
	fails                // it is false or undefined
	holds
)

// test judges one condition.
type test func(v *document.Values) truth

// body is a conjunction, in order.
type body []test

func (b body) judge(v *document.Values) truth {
	out := holds
	for _, t := range b {
		switch t(v) {
		case fails:
			return fails
		case unknown:
			return unknown
		case unclear:
			out = unclear
		case holds:
		}
	}
	return out
}

// anything is the test of what is not understood.
func anything(*document.Values) truth { return unknown }

// not inverts a condition; what it negates may be undefined.
func not(t test) test {
	return func(v *document.Values) truth {
		switch t(v) {
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
	rules []body // of the verdicts
}

// Silent reports that no rule of the package fires and none raises an error. When it reports false, nothing is known.
func (g Guard) Silent(v *document.Values) bool {
	for _, r := range g.rules {
		if r.judge(v) != fails {
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
	return g
}
