package whatif

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// about is what a rule says of itself.
type about struct {
	title, description, file string
	line                     int
}

// findAbout reads where each verdict stands, with the METADATA of its rule, or else of its package.
func findAbout(modules map[string]*ast.Module) map[string]about {
	out := map[string]about{}
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
			a := about{file: name, line: r.Location.Row}
			for _, notes := range [][]*ast.Annotations{r.Annotations, m.Annotations} {
				for _, n := range notes {
					if a.title == "" && (n.Scope != "rule" || slices.Contains(r.Annotations, n)) {
						a.title, a.description = n.Title, strings.TrimSpace(n.Description)
					}
				}
			}
			out[policy+" "+strings.Trim(id.String(), `"`)] = a
		}
	}
	return out
}
