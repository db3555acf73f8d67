package workbench

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
)

// Lint is one thing that lint looks for.
type Lint struct {
	ID    string `json:"id"`
	About string `json:"about"`
	fix   string
	find  func(*lintFile) []hit
}

// hit is a line, and what stands there.
type hit struct {
	line int
	what string
}

// lintFile is one module, with what its lints need of the others.
type lintFile struct {
	*ast.Module
	verdicts []verdictRule
	ids      map[string][]string // of every verdict: where it stands
	untested map[int]bool        // lines of verdicts that no test makes speak
	read     bool                // another package reads this one
}

// verdictRule is a rule that adds to verdicts, and all that it rests on in its package.
type verdictRule struct {
	rule         *ast.Rule
	id, behavior string // empty when they are not written out
	rests        []*ast.Rule
}

// Lints that come of other work than reading one module.
var (
	lintLayer    = Lint{ID: "layer", About: "a package outside policies.operator.<name> and policies.tenant_<x>.<name>, which is refused"}
	lintImport   = Lint{ID: "import-v2", About: `no "import rego.v2": "not" on an absent field skips the rule`}
	lintIgnore   = Lint{ID: "ignore", About: "an ostiary:ignore without a reason, or one that silences nothing"}
	lintUnparsed = Lint{ID: "parse", About: "no Rego"}
)

// Lints lists all lints by their ids.
func Lints() []Lint {
	return slices.SortedFunc(slices.Values(append(lints(), lintLayer, lintImport, lintIgnore, lintUnparsed)), func(a, b Lint) int { return strings.Compare(a.ID, b.ID) })
}

// Lint finds what compiles and does not do what its author thinks. It runs the tests, since a verdict that none of them hears is a finding.
func (b *Bench) Lint(ctx context.Context) (Report, error) {
	findings := slices.Clone(b.faults)
	uncovered := b.untested(ctx)
	ids := b.verdictIDs()
	for _, name := range slices.Sorted(maps.Keys(b.modules)) {
		if !b.own[name] {
			continue
		}
		f := &lintFile{Module: b.modules[name], verdicts: b.verdictsOf(name), ids: ids, untested: uncovered[name], read: b.isRead(name)}
		found := f.run(name)
		if b.operators(name) {
			found = append(found, layerFindings(name, f.Module)...)
		}
		findings = append(findings, silence(name, f.Comments, found)...)
	}
	return b.report(findings, true), nil
}

func (f *lintFile) run(name string) []Finding {
	var out []Finding
	for _, l := range lints() {
		for _, h := range l.find(f) {
			out = append(out, Finding{ID: l.ID, File: name, Line: h.line, Message: h.what, Fix: l.fix})
		}
	}
	return out
}

// ignoreMark begins a comment that silences a lint for the line of code below it.
const ignoreMark = "ostiary:ignore"

// silence drops what a comment with a reason excuses. A comment that gives no reason, or excuses nothing, is a finding itself.
func silence(name string, comments []*ast.Comment, findings []Finding) []Finding {
	commented := map[int]bool{}
	for _, c := range comments {
		commented[c.Location.Row] = commented[c.Location.Row] || c.Location.Col == 1 || strings.HasPrefix(strings.TrimSpace(string(c.Location.Text)), "#")
	}
	for _, c := range comments {
		words := strings.Fields(string(c.Text))
		if len(words) == 0 || words[0] != ignoreMark {
			continue
		}
		complaint := ""
		below := c.Location.Row + 1
		for commented[below] {
			below++
		}
		before := len(findings)
		if len(words) < 3 {
			complaint = "an ignore without a reason does nothing"
		} else if findings = slices.DeleteFunc(findings, func(f Finding) bool { return f.ID == words[1] && f.Line == below }); len(findings) == before {
			complaint = "there is no " + words[1] + " to ignore on line " + itoa(below)
		}
		if complaint != "" {
			findings = append(findings, Finding{ID: lintIgnore.ID, File: name, Line: c.Location.Row, Message: complaint,
				Fix: "write # " + ignoreMark + " <id> <reason> on the line above, or delete it"})
		}
	}
	return findings
}

// untested says which rule heads no test reaches. When tests cannot be run, test and check say why; nothing counts as untested then.
func (b *Bench) untested(ctx context.Context) map[string]map[int]bool {
	tested := false // whether our own tests are here: the program goes without them
	for name := range b.tests {
		tested = tested || !b.operators(name)
	}
	coverage := cover.New()
	if _, err := b.run(ctx, "", coverage); err != nil {
		return nil
	}
	out := map[string]map[int]bool{}
	for name, f := range coverage.Report(b.modules).Files {
		if b.modules[name] == nil || !b.operators(name) && !tested {
			continue
		}
		out[name] = map[int]bool{}
		for _, r := range b.modules[name].Rules {
			at := r.Head.Location
			out[name][r.Location.Row] = slices.ContainsFunc(f.NotCovered, func(g cover.Range) bool { return g.Start.Row == at.Row && g.Start.Col == at.Col })
		}
	}
	return out
}

// verdictIDs says where each id stands, over all modules.
func (b *Bench) verdictIDs() map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(b.modules)) {
		for _, v := range b.verdictsOf(name) {
			if v.id != "" {
				out[v.id] = append(out[v.id], strings.TrimSuffix(place(name, v.rule.Location.Row), ": "))
			}
		}
	}
	return out
}

// verdictsOf lists the rules of a module that add to verdicts.
func (b *Bench) verdictsOf(name string) []verdictRule {
	m := b.modules[name]
	if path := m.Package.Path; len(path) < 2 || !path[1].Equal(ast.StringTerm("policies")) {
		return nil
	}
	var out []verdictRule
	for _, r := range m.Rules {
		if r.Head.Name != "verdicts" {
			continue
		}
		v := verdictRule{rule: r, rests: b.restsOn(m.Package.Path, r)}
		if r.Head.Key != nil {
			v.id, v.behavior = member(r.Head.Key, "id"), member(r.Head.Key, "behavior")
		}
		out = append(out, v)
	}
	return out
}

// member is the text of an object's member that is written out.
func member(t *ast.Term, name string) string {
	o, ok := t.Value.(ast.Object)
	if !ok {
		return ""
	}
	value := o.Get(ast.StringTerm(name))
	if value == nil {
		return ""
	}
	s, _ := value.Value.(ast.String)
	return string(s)
}

// restsOn lists a rule and those of its package that it names, and those that they name.
func (b *Bench) restsOn(pkg ast.Ref, r *ast.Rule) []*ast.Rule {
	byName := map[ast.Var][]*ast.Rule{}
	for _, m := range b.modules {
		if m.Package.Path.Equal(pkg) {
			for _, r := range m.Rules {
				byName[r.Head.Name] = append(byName[r.Head.Name], r)
			}
		}
	}
	var out []*ast.Rule
	var visit func(*ast.Rule)
	visit = func(r *ast.Rule) {
		if slices.Contains(out, r) {
			return
		}
		out = append(out, r)
		ast.WalkVars(r, func(v ast.Var) bool {
			for _, named := range byName[v] {
				if named.Head.Name != "verdicts" {
					visit(named)
				}
			}
			return false
		})
	}
	visit(r)
	return out
}

// isRead reports whether another package names this module's.
func (b *Bench) isRead(name string) bool {
	pkg := b.modules[name].Package.Path
	for other, m := range b.modules {
		if other == name || m.Package.Path.Equal(pkg) {
			continue
		}
		found := false
		ast.WalkRefs(m, func(ref ast.Ref) bool {
			found = found || ref.HasPrefix(pkg)
			return found
		})
		if found {
			return true
		}
	}
	return false
}
