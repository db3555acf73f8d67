package workbench

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"ostiary"
	"ostiary/decision/rego"
	"ostiary/decision/workbench/reading"
)

// Check finds everything for which the sidecar would refuse to start, and files that are not formatted, as warnings.
func (b *Bench) Check() (Report, error) {
	findings := slices.Clone(b.faults)
	for name, m := range b.modules {
		if b.own[name] && b.operators(name) {
			findings = append(findings, layerFindings(name, m)...)
		}
	}
	broken, err := b.compileAll(b.modules, rego.NewCompiler)
	if err != nil {
		return Report{}, err
	}
	findings = append(findings, broken...)
	if len(findings) == 0 { // a test of what does not compile tells nothing new
		all := maps.Clone(b.modules)
		maps.Copy(all, b.tests)
		if broken, err = b.compileAll(all, testCompiler); err != nil {
			return Report{}, err
		}
		findings = append(findings, broken...)
	}
	findings = append(append(findings, b.exceptionFindings()...), b.unformatted()...)
	return b.report(findings, false), nil
}

func testCompiler([]byte) (*ast.Compiler, error) {
	return ast.NewCompiler().WithCapabilities(rego.Capabilities()), nil
}

// compileAll compiles, and again without the files that are at fault: the compiler stops at the first stage that fails.
func (b *Bench) compileAll(modules map[string]*ast.Module, compiler func([]byte) (*ast.Compiler, error)) ([]Finding, error) {
	modules = maps.Clone(modules)
	var findings []Finding
	incomplete := len(b.faults) > 0
	for {
		c, err := compiler(b.src.Schema)
		if err != nil {
			return nil, err
		}
		if c.SetErrorLimit(0).Compile(modules); !c.Failed() {
			return findings, nil
		}
		before := len(modules)
		for _, e := range c.Errors {
			// Where a file is left out, others may miss what it defines.
			if missed := incomplete && strings.Contains(e.Message, "data."); !missed {
				findings = append(findings, compileFinding(e, ""))
			}
			if e.Location != nil {
				delete(modules, e.Location.File)
			}
		}
		if incomplete = true; len(modules) == before {
			return findings, nil
		}
	}
}

func compileFindings(err error, name string) []Finding {
	var list ast.Errors
	var one *ast.Error
	if !errors.As(err, &list) {
		if !errors.As(err, &one) {
			one = &ast.Error{Code: ast.ParseErr, Message: err.Error()}
		}
		list = ast.Errors{one}
	}
	var out []Finding
	for _, e := range list {
		f := compileFinding(e, name)
		if last := len(out) - 1; last >= 0 && strings.HasPrefix(f.Message, out[last].Message) && f.Line == out[last].Line {
			out = out[:last] // the parser says it once more, with what it expected
		}
		out = append(out, f)
	}
	return out
}

// compileFinding names the kind of a fault, and what to do about it.
func compileFinding(e *ast.Error, name string) Finding {
	f := Finding{ID: "compile", File: name, Line: 1, Message: e.Message, Fix: "mend the rule"}
	if e.Location != nil && e.Location.File != "" {
		f.File, f.Line = e.Location.File, max(1, e.Location.Row)
	}
	unknown, isFunction := strings.CutPrefix(e.Message, "undefined function ")
	_, isBuiltin := ast.BuiltinMap[unknown]
	switch {
	case e.Message == "empty module":
		f.ID, f.Line, f.Fix = "layer", 1, "delete the file, or begin it with: package policies.operator.<name>"
	case e.Code == ast.ParseErr:
		f.ID, f.Fix = "parse", "mend the syntax"
	case isFunction && isBuiltin:
		f.ID, f.Fix = "capability", "do without it: policies may not reach out, read the clock or depend on chance; time is in input.clock"
	case isFunction:
		f.Fix = "import what defines it, or correct the name"
	case strings.HasPrefix(e.Message, "undefined ref: input"):
		f.ID, f.Fix = "schema", "the input document has no such field: correct the name"+wanted(e.Details)
	case strings.Contains(e.Message, "unused"):
		f.Fix = "delete it, or name it _"
	}
	return f
}

// wanted lists what the schema has in the place of an unknown field.
func wanted(details ast.ErrorDetails) string {
	d, ok := details.(*ast.RefErrInvalidDetail)
	if !ok || len(d.OneOf) == 0 {
		return ""
	}
	var names []string
	for _, v := range d.OneOf {
		if s, ok := v.(ast.String); ok {
			names = append(names, string(s))
		}
	}
	slices.Sort(names)
	return " (there are " + strings.Join(names, ", ") + ")"
}

// layerFindings are the engine's own objections to an operator's module.
func layerFindings(name string, m *ast.Module) []Finding {
	var out []Finding
	for _, err := range rego.OperatorFaults(name, m) {
		f := Finding{ID: "layer", File: name, Line: m.Package.Location.Row, Message: strings.TrimPrefix(ostiary.Public(err).Msg, place(name, m.Package.Location.Row)),
			Fix: "name the package policies.operator.<name>"}
		if strings.Contains(f.Message, "import rego.v2") {
			f.ID, f.Fix = "import-v2", "write it"
		}
		out = append(out, f)
	}
	return out
}

// exceptionFindings are exceptions that lift nothing: for a rule that is not there, or that only denies.
func (b *Bench) exceptionFindings() []Finding {
	exceptions, err := b.src.Exceptions()
	if err != nil {
		return []Finding{dataFault(err)}
	}
	ids, asks := map[string]bool{}, b.asking()
	for about := range reading.FindAbout(b.modules) {
		_, id, _ := strings.Cut(about, " ")
		ids[id] = true
	}
	var out []Finding
	for _, e := range exceptions {
		switch {
		case !ids[e.Rule]:
			out = append(out, Finding{ID: "exception", Message: "the exception for " + e.Rule + " lifts nothing: no rule has this id", Warning: true, Fix: "sidecar policy explain names the rules of a call"})
		case !asks[e.Rule]:
			out = append(out, Finding{ID: "exception", Message: "the exception for " + e.Rule + " lifts nothing: the rule does not ask, and nothing else is lifted", Warning: true})
		}
	}
	return out
}

// asking are the ids of rules whose verdict may be to ask.
func (b *Bench) asking() map[string]bool {
	out := map[string]bool{}
	for _, m := range b.modules {
		for _, r := range m.Rules {
			if r.Head.Key == nil {
				continue
			}
			if object, ok := r.Head.Key.Value.(ast.Object); ok {
				id, behavior := object.Get(ast.StringTerm("id")), object.Get(ast.StringTerm("behavior"))
				if id != nil && (behavior == nil || !isText(behavior) || behavior.Equal(ast.StringTerm("ask"))) {
					out[strings.Trim(id.String(), `"`)] = true
				}
			}
		}
	}
	return out
}

func isText(t *ast.Term) bool {
	_, ok := t.Value.(ast.String)
	return ok
}

func dataFault(err error) Finding {
	f := Finding{ID: "data", Message: ostiary.Public(err).Msg, Fix: "correct it under baseline: or exceptions: in the configuration file"}
	if cause := errors.Unwrap(err); cause != nil {
		f.Message += ": " + strings.Join(strings.Fields(cause.Error()), " ")
	}
	return f
}

func (b *Bench) unformatted() []Finding {
	var out []Finding
	for name := range b.own {
		text, formatted, err := b.format(name)
		if err != nil || formatted == text {
			continue // what cannot be read has been told
		}
		out = append(out, Finding{ID: "format", File: name, Line: firstDifference(text, formatted), Message: "not formatted as opa fmt does",
			Fix: "sidecar policy check --fmt rewrites it", Warning: true})
	}
	return out
}

func (b *Bench) format(name string) (text, formatted string, err error) {
	text = b.src.Modules[name] + b.src.Tests[name]
	raw, err := format.SourceWithOpts(name, []byte(text), format.Opts{RegoVersion: ast.RegoV1,
		ParserOptions: &ast.ParserOptions{Capabilities: rego.Capabilities(), RegoVersion: ast.RegoV1, ProcessAnnotation: true}})
	return text, string(raw), err
}

// Formatted gives the operator's files that are not formatted as they should be.
func (b *Bench) Formatted() map[string]string {
	out := map[string]string{}
	for name := range b.own {
		if text, formatted, err := b.format(name); err == nil && text != formatted && b.operators(name) {
			out[name] = formatted
		}
	}
	return out
}

func firstDifference(a, b string) int {
	line := 1
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			line++
		}
	}
	return line
}
