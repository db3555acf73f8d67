package wire_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ostiary"
	"ostiary/enforce/wire"
)

// kinds are all the kinds that error.go declares, by the name of their constant.
func kinds(t *testing.T) map[string]ostiary.Kind {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]ostiary.Kind{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Kind") {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			word, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Error(err)
			}
			found[spec.Names[0].Name] = ostiary.Kind(word)
		}
		return true
	})
	if len(found) < 50 {
		t.Fatalf("only %d kinds were found", len(found))
	}
	return found
}

// internal are the kinds that may be a 500.
var internal = map[ostiary.Kind]bool{ostiary.KindInternal: true, ostiary.KindConfigInvalid: true}

func TestEveryKindHasAStatusOfItsOwn(t *testing.T) {
	for name, k := range kinds(t) {
		if s := wire.Status(k); s == http.StatusInternalServerError != internal[k] || s < 400 || http.StatusText(s) == "" {
			t.Errorf("%s (%s) has status %d", name, k, s)
		}
	}
	if wire.Status("never heard of") != http.StatusInternalServerError {
		t.Error("an unknown kind must be a 500")
	}
}

func TestAProblemNeverTellsTheCause(t *testing.T) {
	cause := errors.New("open /home/ann/.ssh/id: permission denied")
	for name, err := range map[string]error{
		"a bare error":  cause,
		"a wrapped one": ostiary.Wrap(ostiary.KindNotDurable, cause, "the change could not be stored"),
		"a joined one":  errors.Join(cause, ostiary.Wrap(ostiary.KindNotDurable, cause, "the change could not be stored")),
	} {
		p := wire.ProblemOf(err, "req-1")
		if strings.Contains(p.Detail+p.Fix+p.Title, "ssh") || p.Request != "req-1" || p.Type != "urn:ostiary:problem:"+p.Kind || p.Title != http.StatusText(p.Status) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
