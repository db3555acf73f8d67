package reading

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision"
)

// About is what a rule says of itself.
type About struct {
	Title, Description, File string
	Line                     int
}

// FindAbout reads where each verdict stands, with the METADATA of its rule, or else of its package.
func FindAbout(modules map[string]*ast.Module) map[string]About {
	out := map[string]About{}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		m := modules[name]
		policy := strings.TrimPrefix(m.Package.Path.String(), "data.policies.")
		for _, r := range m.Rules {
			if r.Head.Name != "verdicts" || r.Head.Key == nil {
				continue
			}
			object, ok := r.Head.Key.Value.(ast.Object)
			if !ok {
				continue
			}
			id := object.Get(ast.StringTerm("id"))
			if id == nil {
				continue
			}
			a := About{File: name, Line: r.Location.Row}
			for _, notes := range [][]*ast.Annotations{r.Annotations, m.Annotations} {
				for _, n := range notes {
					if a.Title == "" && (n.Scope != "rule" || slices.Contains(r.Annotations, n)) {
						a.Title, a.Description = n.Title, strings.TrimSpace(n.Description)
					}
				}
			}
			out[policy+" "+strings.Trim(id.String(), `"`)] = a
		}
	}
	return out
}

// FindSays lists what each package can say; one that computes a verdict can say anything.
func FindSays(modules map[string]*ast.Module) map[string]map[decision.Behavior]bool {
	out := map[string]map[decision.Behavior]bool{}
	for _, m := range modules {
		policy := strings.TrimPrefix(m.Package.Path.String(), "data.policies.")
		if out[policy] == nil {
			out[policy] = map[decision.Behavior]bool{}
		}
		for _, r := range m.Rules {
			if r.Head.Name != "verdicts" {
				continue
			}
			for _, b := range saidBy(r) {
				out[policy][b] = true
			}
		}
	}
	return out
}

// saidBy is the behavior that a rule writes out, or else all.
func saidBy(r *ast.Rule) []decision.Behavior {
	if r.Head.Key != nil {
		if object, ok := r.Head.Key.Value.(ast.Object); ok {
			if word := object.Get(ast.StringTerm("behavior")); word != nil {
				if b, err := decision.ParseBehavior(strings.Trim(word.String(), `"`)); err == nil {
					return []decision.Behavior{b}
				}
			}
		}
	}
	return []decision.Behavior{decision.Deny, decision.Ask, decision.Allow, decision.Passthrough}
}
