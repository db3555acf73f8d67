package rego

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary/decision/rego/document"
)

// readSet lists the places of the input document that an evaluation can look at; a place stands for all below it. An empty place, the
// root, stands for the whole document.
type readSet struct {
	places [][]string
}

func (r *readSet) add(place []string) { r.places = append(r.places, place) }

// touches reports whether reading r can tell two documents apart that differ at path.
func (r readSet) touches(path []string) bool {
	return slices.ContainsFunc(r.places, func(place []string) bool { return within(path, place) || within(place, path) })
}

// within reports whether path is at or below place.
func within(path, place []string) bool {
	return len(path) >= len(place) && slices.Equal(path[:len(place)], place)
}

// reader finds the read sets of packages in compiled modules.
type reader struct {
	modules map[string]*ast.Module
}

// of collects what the modules of a package read, with all modules whose rules these can reach.
func (r reader) of(pkg ast.Ref) readSet {
	var set readSet
	seen := map[string]bool{}
	var visit func(ref ast.Ref)
	visit = func(ref ast.Ref) {
		for name, m := range r.modules {
			if seen[name] || !meets(m.Package.Path, ref) {
				continue
			}
			seen[name] = true
			collect(m, &set, visit)
		}
	}
	visit(pkg)
	return set
}

// meets reports whether a reference can reach into a package: as far as both are constant, they agree.
func meets(pkg, ref ast.Ref) bool {
	for i := 0; i < len(pkg) && i < len(ref); i++ {
		if i > 0 && !ref[i].IsGround() {
			return true
		}
		if !pkg[i].Equal(ref[i]) {
			return false
		}
	}
	return true
}

// collect adds what a module reads of the input, and visits every reference into data.
func collect(m *ast.Module, set *readSet, visit func(ast.Ref)) {
	heads := map[*ast.Term]bool{} // of references, which are not variables of their own
	ast.WalkRefs(m, func(ref ast.Ref) bool {
		heads[ref[0]] = true
		switch {
		case ref[0].Equal(ast.InputRootDocument):
			set.add(constants(ref[1:]))
		case ref[0].Equal(ast.DefaultRootDocument):
			visit(ref)
		}
		return false
	})
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if v, ok := t.Value.(ast.Var); ok && !heads[t] && v.Equal(ast.InputRootDocument.Value) {
			set.add(nil)
		}
		return false
	})
}

// constants is the part of a reference up to the first step that only the evaluation knows, or that is no member name.
func constants(ref ast.Ref) []string {
	place := []string{}
	for _, step := range ref {
		name, ok := step.Value.(ast.String)
		if !ok {
			break
		}
		place = append(place, string(name))
	}
	return place
}

// fieldsOf turns read sets into fields: the fixed ones that any of them touches, and one for every place below args. The second result says
// for each set which fields it reads.
func fieldsOf(sets []readSet) ([]document.Field, [][]int) {
	var used []document.Field
	for _, f := range document.Fields() {
		if slices.ContainsFunc(sets, func(s readSet) bool { return s.touches(f.Path) }) {
			used = append(used, f)
		}
	}
	for _, place := range argPlaces(sets) {
		used = append(used, document.Args(place...))
	}
	reads := make([][]int, len(sets))
	for i, s := range sets {
		for j, f := range used {
			if s.touches(f.Path) {
				reads[i] = append(reads[i], j)
			}
		}
	}
	return used, reads
}

// argPlaces lists the places below args that are read, none below another.
func argPlaces(sets []readSet) [][]string {
	var places [][]string
	for _, s := range sets {
		for _, place := range s.places {
			switch {
			case len(place) == 0:
				places = append(places, nil)
			case place[0] == "args":
				places = append(places, place[1:])
			}
		}
	}
	slices.SortFunc(places, func(a, b []string) int { return strings.Compare(strings.Join(a, "\x00"), strings.Join(b, "\x00")) })
	var out [][]string
	for _, place := range places {
		if !slices.ContainsFunc(out, func(above []string) bool { return within(place, above) }) {
			out = append(out, place)
		}
	}
	return out
}
