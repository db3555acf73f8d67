package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ostiary/internal/config"
	"ostiary/queue"
)

// repo returns a path in the repository.
func repo(name string) string { return filepath.Join("..", "..", filepath.FromSlash(name)) }

func readText(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestEveryRelativeLinkResolves(t *testing.T) {
	err := filepath.WalkDir(repo(""), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := e.Name(); e.IsDir() && (base == "node_modules" || base == "testdata" || strings.HasPrefix(base, ".") && base != "..") {
			return filepath.SkipDir
		}
		if e.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		for _, m := range link.FindAllStringSubmatch(readText(t, path), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	doc := readText(t, repo("docs/configuration.md"))
	for _, key := range settings(reflect.TypeFor[config.Config](), "") {
		if !strings.Contains(doc, "| `"+key+"` |") {
			t.Errorf("docs/configuration.md has no row for %s", key)
		}
	}
}

// settings lists the keys of a configuration struct, as the file spells them.
func settings(s reflect.Type, prefix string) []string {
	var keys []string
	for i := range s.NumField() {
		f := s.Field(i)
		tag := f.Tag.Get("koanf")
		if tag == "-" {
			continue
		}
		key := prefix + tag
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, settings(f.Type, key+".")...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

func TestEveryLayerStandsInTheArchitecture(t *testing.T) {
	doc := readText(t, repo("ARCHITECTURE.md"))
	for dir, layer := range layers {
		if dir == "" {
			dir = "."
		}
		if row := fmt.Sprintf("| `%s` | %d |", dir, layer); !strings.Contains(doc, row) {
			t.Errorf("ARCHITECTURE.md has no row %q", row)
		}
	}
}

var ruleID = regexp.MustCompile(`"id": "([^"]+)"`)

func TestEveryBaselineRuleIsDocumented(t *testing.T) {
	doc := readText(t, repo("docs/policies.md"))
	files, err := filepath.Glob(repo("policies/baseline/*.rego"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no baseline rules: %v", err)
	}
	for _, file := range files {
		for _, m := range ruleID.FindAllStringSubmatch(readText(t, file), -1) {
			if !strings.HasSuffix(file, "_test.rego") && !strings.Contains(doc, "| `"+m[1]+"` |") {
				t.Errorf("docs/policies.md has no row for the rule %s", m[1])
			}
		}
	}
}

func TestEveryEventIsDocumented(t *testing.T) {
	doc := readText(t, repo("docs/audit.md"))
	f, err := parser.ParseFile(token.NewFileSet(), repo("audit/event.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Class" {
			return true
		}
		for _, v := range spec.Values {
			class, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if found++; err != nil || !strings.Contains(doc, "| `"+class+"` |") {
				t.Errorf("docs/audit.md has no row for the event %s", class)
			}
		}
		return true
	})
	if found == 0 {
		t.Error("audit/event.go has no event classes")
	}
}

func TestTheStateDiagramIsTheTable(t *testing.T) {
	arrow := regexp.MustCompile(`(?m)^    (\w+) --> (\w+):`)
	drawn := map[string]bool{}
	for _, m := range arrow.FindAllStringSubmatch(readText(t, repo("ARCHITECTURE.md")), -1) {
		drawn[m[1]+" → "+m[2]] = true
	}
	for _, from := range queue.States() {
		for _, to := range queue.States() {
			key := string(from) + " → " + string(to)
			if from.CanBecome(to) != drawn[key] {
				t.Errorf("%s: in the table %t, in ARCHITECTURE.md %t", key, from.CanBecome(to), drawn[key])
			}
		}
	}
}
