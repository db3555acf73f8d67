package policies_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"ostiary/decision/rego"
)

// equivalent lists the mutants that no test can tell from the rule, with the reason.
var equivalent = map[string]string{}

// mutant is a rule file with one change.
type mutant struct {
	file  source
	line  int
	what  string
	text  string
	names string // file, rule and change, without the line
}

// mutate changes one thing at a time: every condition is dropped and negated, every comparison shifted, every behavior replaced, every
// rule removed.
func mutate(s source) []mutant {
	var out []mutant
	within := ""
	seen := map[string]bool{} // a negation has its expression's place a second time
	edit := func(at *ast.Location, text, what string) {
		changed := s.text[:at.Offset] + text + s.text[at.Offset+len(at.Text):]
		if seen[changed] {
			return
		}
		seen[changed] = true
		out = append(out, mutant{file: s, line: at.Row, what: what, text: changed,
			names: s.name + " " + within + ": " + what})
	}
	for _, r := range s.module.Rules {
		within = r.Head.Ref().String()
		if m := verdictHead.FindStringSubmatch(string(r.Location.Text)); m != nil {
			within = m[1]
			for _, other := range []string{"deny", "ask", "allow", "passthrough"} {
				if other != m[2] {
					edit(r.Location, strings.Replace(string(r.Location.Text), `"behavior": "`+m[2], `"behavior": "`+other, 1), m[2]+" becomes "+other)
				}
			}
		}
		edit(r.Location, "", "the rule is gone")
		ast.WalkBodies(r, func(body ast.Body) bool {
			for _, e := range body {
				condition(e, edit)
			}
			return false
		})
	}
	return out
}

// condition changes one expression of a body.
func condition(e *ast.Expr, edit func(at *ast.Location, text, what string)) {
	text := string(e.Location.Text)
	if e.Generated || text == "" || text == "true" {
		return
	}
	short := strings.Join(strings.Fields(text), " ")
	edit(e.Location, "true", "without "+short)
	if rest, negated := strings.CutPrefix(text, "not "); negated {
		edit(e.Location, rest, "not negated: "+short)
	} else if !e.IsAssignment() && !strings.HasPrefix(text, "some ") && !e.IsEvery() {
		edit(e.Location, "not "+text, "negated: "+short)
	}
	for from, to := range map[string]string{" >= ": " > ", " > ": " >= ", " <= ": " < ", " < ": " <= ", " == ": " != ", " != ": " == "} {
		if e.IsCall() && strings.Count(text, from) == 1 {
			edit(e.Location, strings.Replace(text, from, to, 1), strings.TrimSpace(to)+" in "+short)
		}
	}
}

// TestNoRuleCanChangeUnseen plants one fault at a time in the shipped rules; the tests beside them must find each.
func TestNoRuleCanChangeUnseen(t *testing.T) {
	rules, tests := sources(t)
	shared := map[string]*ast.Module{}
	for _, s := range rules {
		shared[s.name] = s.module
	}
	var all []mutant
	for _, s := range rules {
		if _, tested := tests[s.name]; tested {
			all = append(all, mutate(s)...)
		}
	}
	if testing.Short() { // every tenth is enough to see that the machinery works
		all = slices.DeleteFunc(all, func(m mutant) bool { return (m.line+len(m.text))%10 != 0 })
	}
	docs := data(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	killed, unborn, survived := 0, 0, []string{}
	work := make(chan mutant)
	for range 4 {
		wg.Go(func() {
			store := inmem.NewFromObject(docs)
			for m := range work {
				lives, born := survives(m, tests[m.file.name], shared, store)
				mu.Lock()
				switch {
				case !born:
					unborn++
				case !lives:
					killed++
				case equivalent[m.names] == "":
					survived = append(survived, fmt.Sprintf("%s:%d: %s", m.file.name, m.line, m.what))
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range all {
		work <- m
	}
	close(work)
	wg.Wait()
	slices.Sort(survived)
	for _, s := range survived {
		t.Errorf("%s: no test fails", s)
	}
	t.Logf("%d mutants: %d killed, %d do not compile, %d equivalent, %d survive", len(all), killed, unborn, len(all)-killed-unborn-len(survived), len(survived))
	if killed == 0 {
		t.Error("no mutant was killed")
	}
}

// survives reports whether all tests still pass, and whether the mutant compiles at all.
func survives(m mutant, test source, shared map[string]*ast.Module, store storage.Store) (lives, born bool) {
	changed, err := rego.Parse(m.file.name, m.text)
	if err != nil || changed == nil {
		return false, false
	}
	modules := map[string]*ast.Module{m.file.name: changed, test.name: test.module.Copy()}
	for name, helper := range shared {
		if name != m.file.name && reaches(m.file.module, helper) {
			modules[name] = helper.Copy()
		}
	}
	_, failed, err := run(modules, store)
	if err != nil {
		return false, false
	}
	return len(failed) == 0, true
}

// reaches reports whether a module imports another one's package.
func reaches(m, other *ast.Module) bool {
	return slices.ContainsFunc(m.Imports, func(i *ast.Import) bool { return i.Path.String() == other.Package.Path.String() })
}
