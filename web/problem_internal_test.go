package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ostiary"
)

// TestEveryKindWeNameHasAStatus reads the kinds from the source, so that a new one cannot be forgotten.
func TestEveryKindWeNameHasAStatus(t *testing.T) {
	values := map[string]ostiary.Kind{}
	inspect(t, "../error.go", func(n ast.Node) {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				word, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				values[spec.Names[0].Name] = ostiary.Kind(word)
			}
		}
	})
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		inspect(t, f, func(n ast.Node) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(sel.Sel.Name, "Kind") {
				return
			}
			if kind, known := values[sel.Sel.Name]; known {
				named++
				if statuses()[kind] == 0 {
					t.Errorf("%s names %s, which has no status", f, kind)
				}
			}
		})
	}
	if named == 0 {
		t.Error("no kind was found: the test proves nothing")
	}
}

func inspect(t *testing.T, path string, visit func(ast.Node)) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		visit(n)
		return true
	})
}
