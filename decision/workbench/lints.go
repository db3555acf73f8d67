package workbench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision/rego"
)

func itoa(n int) string { return strconv.Itoa(n) }

// lints are those that read one module.
func lints() []Lint {
	return []Lint{
		{"args-number", "a number of the arguments is compared without is_number: true and null are smaller than every number",
			"add is_number(…) to the rule, and deny what is no number, or declare an input_schema and ignore this with that reason", argsNumber},
		{"builtin-may-fail", "a builtin that fails on some texts gets a value of the input: a failure denies every call that reaches it",
			"test the value first, with regex.match or the is_valid of its family", builtinMayFail},
		{"impure-builtin", "a builtin that reaches out, reads the clock or depends on chance, which is refused",
			"do without it; time is in input.clock", impureBuiltin},
		{"schema-annotation", "a schema in METADATA: it has no effect, the closed schema of the input holds",
			"delete it", schemaAnnotation},
		{"allow-unvouched", "an allow that does not require that an operator or we declared the tool: servers' annotations are hints",
			`add input.tool.annotations_source in {"operator", "shipped"}`, allowUnvouched},
		{"args-path", "a path of the arguments is judged as the agent wrote it, with .. and ~",
			"judge input.parsed.paths, which are absolute and clean", argsPath},
		{"id-prefix", "an id that does not begin with the last name of its package (or custom.id_prefix of the package's METADATA)",
			"rename it", idPrefix},
		{"id-unique", "an id that another rule has too: the log names rules by their ids",
			"rename one of them", idUnique},
		{"no-phase", "a verdict that does not look at input.phase: it speaks of calls and of results",
			`add input.phase == "call"`, noPhase},
		{"no-title", "a verdict whose rule and package have no title in METADATA",
			"write # METADATA and # title: … above the rule or the package", noTitle},
		{"unheard", "a package without verdicts that nobody reads: it is never asked",
			"call the set verdicts, or delete the package", unheard},
		{"untested", "a verdict that no test makes speak",
			"write a test in a file that ends in _test.rego", untested},
		{"whole-input", "input is read as a whole: decisions about such a call cannot be remembered",
			"name the fields that the rule needs", wholeInput},
	}
}

// calls gives every builtin or function that is called in a node, with its operands.
func calls(node any, visit func(name string, operands []*ast.Term, at *ast.Location)) {
	ast.WalkExprs(node, func(e *ast.Expr) bool {
		if terms, ok := e.Terms.([]*ast.Term); ok && len(terms) > 0 {
			visit(terms[0].String(), terms[1:], e.Location)
		}
		return false
	})
	ast.WalkTerms(node, func(t *ast.Term) bool {
		if call, ok := t.Value.(ast.Call); ok && len(call) > 0 {
			visit(call[0].String(), call[1:], t.Location)
		}
		return false
	})
}

// isInput reports whether a term is a reference to a place at or below prefix of the input.
func isInput(t *ast.Term, prefix ...string) bool {
	ref, ok := t.Value.(ast.Ref)
	if !ok || len(ref) <= len(prefix) || !ref[0].Equal(ast.InputRootDocument) {
		return false
	}
	for i, p := range prefix {
		if !ref[i+1].Equal(ast.StringTerm(p)) {
			return false
		}
	}
	return true
}

// aliases are the variables of a rule that stand for places below prefix of the input.
func aliases(r *ast.Rule, prefix ...string) map[string]string {
	out := map[string]string{}
	calls(r, func(name string, operands []*ast.Term, _ *ast.Location) {
		if (name == "assign" || name == "eq") && len(operands) == 2 && isInput(operands[1], prefix...) {
			out[operands[0].String()] = operands[1].String()
		}
	})
	ast.WalkNodes(r, func(n ast.Node) bool {
		if some, ok := n.(*ast.SomeDecl); ok {
			for _, s := range some.Symbols {
				if call, ok := s.Value.(ast.Call); ok && len(call) >= 3 && isInput(call[len(call)-1], prefix...) {
					out[call[len(call)-2].String()] = call[len(call)-1].String() + "[_]"
				}
			}
		}
		return false
	})
	return out
}

var comparisons = []string{"gt", "gte", "lt", "lte"}

func argsNumber(f *lintFile) []hit {
	var out []hit
	for _, r := range f.Rules {
		known := aliases(r, "args")
		standsFor := func(t *ast.Term) string {
			if isInput(t, "args") {
				return t.String()
			}
			return known[t.String()]
		}
		guarded := map[string]bool{}
		calls(r, func(name string, operands []*ast.Term, _ *ast.Location) {
			if name == "is_number" && len(operands) == 1 {
				guarded[standsFor(operands[0])] = true
			}
		})
		calls(r, func(name string, operands []*ast.Term, at *ast.Location) {
			if !slices.Contains(comparisons, name) {
				return
			}
			for _, t := range operands {
				if place := standsFor(t); place != "" && !guarded[place] {
					out = append(out, hit{at.Row, place + " is compared as a number, and may be none"})
				}
			}
		})
	}
	return out
}

// fallible are builtins that fail on texts of the right type, and what tells beforehand.
var fallible = map[string]string{
	"to_number": "regex.match", "json.unmarshal": "json.is_valid", "yaml.unmarshal": "yaml.is_valid", "base64.decode": "base64.is_valid",
	"base64url.decode": "regex.match", "base64url.decode_no_pad": "regex.match", "hex.decode": "regex.match", "urlquery.decode": "regex.match", "urlquery.decode_object": "regex.match",
	"units.parse": "regex.match", "units.parse_bytes": "regex.match", "semver.compare": "semver.is_valid",
	"time.parse_ns": "regex.match", "time.parse_rfc3339_ns": "regex.match", "time.parse_duration_ns": "regex.match",
	"net.cidr_contains": "net.cidr_is_valid", "net.cidr_intersects": "net.cidr_is_valid", "net.cidr_expand": "net.cidr_is_valid",
}

func builtinMayFail(f *lintFile) []hit {
	var out []hit
	for _, r := range f.Rules {
		known := aliases(r)
		ofInput := func(t *ast.Term) bool { return isInput(t) || known[t.String()] != "" }
		guarded := map[string]bool{}
		calls(r, func(name string, operands []*ast.Term, _ *ast.Location) {
			for _, t := range operands {
				guarded[name+" "+t.String()] = true
			}
		})
		calls(r, func(name string, operands []*ast.Term, at *ast.Location) {
			guard, may := fallible[name]
			for _, t := range operands {
				if may && ofInput(t) && !guarded[guard+" "+t.String()] && !guarded["regex.match "+t.String()] {
					out = append(out, hit{at.Row, fmt.Sprintf("%s(%s) fails on some texts; ask %s first", name, t, guard)})
				}
			}
		})
	}
	return out
}

func impureBuiltin(f *lintFile) []hit {
	allowed := map[string]bool{}
	for _, b := range rego.Capabilities().Builtins {
		allowed[b.Name] = true
	}
	var out []hit
	calls(f.Module, func(name string, _ []*ast.Term, at *ast.Location) {
		if _, isBuiltin := ast.BuiltinMap[name]; isBuiltin && !allowed[name] {
			out = append(out, hit{at.Row, name + " depends on more than the input"})
		}
	})
	return out
}

func schemaAnnotation(f *lintFile) []hit {
	var out []hit
	for _, a := range f.Annotations {
		if len(a.Schemas) > 0 {
			out = append(out, hit{a.Location.Row, "the schemas of this METADATA have no effect"})
		}
	}
	return out
}

func allowUnvouched(f *lintFile) []hit {
	var out []hit
	for _, v := range f.verdicts {
		if v.behavior == "allow" && !slices.ContainsFunc(v.rests, vouches) {
			out = append(out, hit{v.rule.Location.Row, v.id + " allows whoever declared the tool"})
		}
	}
	return out
}

// vouches reports whether a rule holds input.tool.annotations_source against nothing but operator and shipped, or speaks of conclusions
// alone, for which no tool runs. Only a condition that must hold as it stands vouches: no negated one, and none within another.
func vouches(r *ast.Rule) bool {
	return slices.ContainsFunc(r.Body, func(e *ast.Expr) bool {
		if e.Negated || len(e.With) > 0 || !e.IsCall() || len(e.Operands()) != 2 || !slices.Contains([]string{"equal", "eq", "internal.member_2"}, e.Operator().String()) {
			return false
		}
		x, y := e.Operand(0), e.Operand(1)
		return vouching(x, y) || vouching(y, x)
	})
}

func vouching(t, against *ast.Term) bool {
	return isInput(t, "tool", "annotations_source") && trusted(against) || isInput(t, "phase") && against.Equal(ast.StringTerm("conclusion"))
}

func trusted(t *ast.Term) bool {
	var words []string
	add := func(t *ast.Term) { words = append(words, strings.Trim(t.String(), `"`)) }
	switch v := t.Value.(type) {
	case ast.String:
		add(t)
	case ast.Set:
		v.Foreach(add)
	case *ast.Array:
		v.Foreach(add)
	}
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return w != "operator" && w != "shipped" })
}

var pathWords = []string{"path", "file", "filename", "file_path", "dir", "directory", "cwd"}

func argsPath(f *lintFile) []hit {
	textual := []string{"startswith", "endswith", "contains", "glob.match", "regex.match"}
	var out []hit
	for _, r := range f.Rules {
		known := aliases(r, "args")
		calls(r, func(name string, operands []*ast.Term, at *ast.Location) {
			if !slices.Contains(textual, name) {
				return
			}
			for _, t := range operands {
				place := known[t.String()]
				if isInput(t, "args") {
					place = t.String()
				}
				last := place[strings.LastIndexByte(place, '.')+1:]
				if slices.Contains(pathWords, strings.TrimSuffix(last, "[_]")) {
					out = append(out, hit{at.Row, place + " is a path as the agent wrote it"})
				}
			}
		})
	}
	return out
}

func idPrefix(f *lintFile) []hit {
	path := f.Package.Path
	last, _ := path[len(path)-1].Value.(ast.String)
	prefix := string(last) + "."
	for _, a := range f.Annotations {
		if own, ok := a.Custom["id_prefix"].(string); ok && a.Scope == "package" {
			prefix = own
		}
	}
	var out []hit
	for _, v := range f.verdicts {
		if v.id != "" && !strings.HasPrefix(v.id, prefix) {
			out = append(out, hit{v.rule.Location.Row, fmt.Sprintf("the id %s does not begin with %s", v.id, prefix)})
		}
	}
	return out
}

func idUnique(f *lintFile) []hit {
	var out []hit
	for _, v := range f.verdicts {
		if places := f.ids[v.id]; len(places) > 1 {
			out = append(out, hit{v.rule.Location.Row, fmt.Sprintf("the id %s stands at %s", v.id, strings.Join(places, " and "))})
		}
	}
	return out
}

func noPhase(f *lintFile) []hit {
	var out []hit
	for _, v := range f.verdicts {
		looks := false
		for _, r := range v.rests {
			ast.WalkTerms(r, func(t *ast.Term) bool {
				looks = looks || isInput(t, "phase")
				return looks
			})
		}
		if !looks {
			out = append(out, hit{v.rule.Location.Row, v.id + " does not look at input.phase"})
		}
	}
	return out
}

func noTitle(f *lintFile) []hit {
	titled := func(as []*ast.Annotations, scopes ...string) bool {
		return slices.ContainsFunc(as, func(a *ast.Annotations) bool {
			return a.Title != "" && (len(scopes) == 0 || slices.Contains(scopes, a.Scope))
		})
	}
	var out []hit
	for _, v := range f.verdicts {
		if !titled(v.rule.Annotations) && !titled(f.Annotations, "package", "document", "subpackages") {
			out = append(out, hit{v.rule.Location.Row, v.id + " has no title"})
		}
	}
	return out
}

func unheard(f *lintFile) []hit {
	if path := f.Package.Path; f.read || len(f.verdicts) > 0 || len(path) < 2 || !path[1].Equal(ast.StringTerm("policies")) {
		return nil
	}
	return []hit{{f.Package.Location.Row, "the package has no verdicts, and no other package reads it"}}
}

func untested(f *lintFile) []hit {
	var out []hit
	for _, v := range f.verdicts {
		if f.untested[v.rule.Location.Row] {
			out = append(out, hit{v.rule.Location.Row, "no test makes " + v.id + " speak"})
		}
	}
	return out
}

func wholeInput(f *lintFile) []hit {
	heads := map[*ast.Term]bool{}
	var out []hit
	ast.WalkRefs(f.Module, func(ref ast.Ref) bool {
		heads[ref[0]] = true
		if _, named := second(ref).(ast.String); ref[0].Equal(ast.InputRootDocument) && !named {
			out = append(out, hit{ref[0].Location.Row, "input is read as a whole"})
		}
		return false
	})
	ast.WalkTerms(f.Module, func(t *ast.Term) bool {
		if v, ok := t.Value.(ast.Var); ok && !heads[t] && v.Equal(ast.InputRootDocument.Value) {
			out = append(out, hit{t.Location.Row, "input is read as a whole"})
		}
		return false
	})
	return out
}

// second is the first step below the head of a reference.
func second(ref ast.Ref) ast.Value {
	if len(ref) < 2 {
		return nil
	}
	return ref[1].Value
}
