package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module          = "ostiary"
	maxPackageLines = 1500
	maxFileLines    = 500
	maxFuncLines    = 100
)

// layers gives every package its number; a package imports only packages with a smaller one. A new package must be placed here.
var layers = map[string]int{
	"":                                0,
	"internal/jsonobject":             0,
	"internal/strictjson":             1,
	"internal/config":                 1,
	"internal/dirwatch":               1,
	"internal/datadir":                1,
	"internal/term":                   1,
	"tool":                            2,
	"policies":                        1,
	"audit":                           1,
	"decision":                        3,
	"agent":                           4,
	"sanitize/decode":                 2,
	"sanitize":                        3,
	"agent/session":                   5,
	"decision/permit":                 5,
	"queue/view":                      3,
	"queue":                           5,
	"queue/queuetest":                 6,
	"enforce/wire":                    6,
	"enforce/describe":                6,
	"enforce/clean":                   7,
	"enforce/parse":                   6,
	"enforce/arguments":               7,
	"enforce/phases":                  8,
	"enforce/seen":                    7,
	"enforce":                         8,
	"client":                          7,
	"internal/localdb":                7,
	"enforce/httpapi":                 9,
	"enforce/mcpproxy":                9,
	"enforce/mcpproxy/rpc":            2,
	"enforce/hook":                    9,
	"web/login":                       7,
	"web":                             9,
	"agent/credential":                9,
	"agent/session/localsession":      9,
	"tool/registry":                   9,
	"decision/rego/bundle":            8,
	"decision/rego/bundle/bundletest": 9,
	"decision/rego/document":          7,
	"decision/rego/guard":             8,
	"decision/rego":                   9,
	"decision/workbench":              10,
	"decision/workbench/draft":        11,
	"decision/workbench/reading":      8,
	"decision/workbench/invariant":    9,
	"decision/workbench/whatif":       10,
	"queue/localqueue":                9,
	"sanitize/secret":                 9,
	"sanitize/pii":                    9,
	"sanitize/inject":                 9,
	"sanitize/markup":                 9,
	"sanitize/hidden":                 9,
	"decision/shadow":                 10,
	"sanitize/shipped":                10,
	"cmd/sidecar":                     12,
	"cmd/ostiary-hook":                12,
	"internal/archtest":               12,
	"internal/testkit":                12,
}

// heavy says which packages may import a library that is large, or that the domain must not know.
var heavy = map[string][]string{
	"github.com/gin-gonic/gin":               {"enforce/httpapi", "web"},
	"github.com/open-policy-agent/opa":       {"decision/rego", "decision/rego/bundle", "decision/rego/bundle/bundletest", "decision/rego/document", "decision/rego/guard", "decision/workbench", "decision/workbench/reading", "decision/workbench/whatif"},
	"mvdan.cc/sh":                            {"enforce/parse"},
	"github.com/golang-jwt/jwt":              {"decision/permit", "agent/credential"},
	"github.com/redis/go-redis":              {"queue/redisqueue"},
	"github.com/modelcontextprotocol/go-sdk": {},
	"modernc.org/sqlite":                     {"internal/localdb"},
	"github.com/spf13/cobra":                 {"cmd/sidecar"},
	"github.com/knadh/koanf":                 {"internal/config"},
	"github.com/santhosh-tekuri/jsonschema":  {"decision/rego", "tool/registry"},
	"github.com/nyaruka/phonenumbers":        {"sanitize/pii"},
	"github.com/yuin/goldmark":               {"sanitize/markup"},
	"encoding/json":                          {"decision/rego", "decision/rego/bundle", "internal/testkit"}, // keeps the last duplicate, folds case, rounds: OPA's own answer is all it reads
}

// pkg is one package of the repository, as its files say.
type pkg struct {
	dir   string
	files map[string]*ast.File // production files
	lines map[string]int
	fset  *token.FileSet
}

func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	root := filepath.Join("..", "..")
	found := map[string]*pkg{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(name, root), string(filepath.Separator)))
		if e.IsDir() {
			if skip(root, name, e.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return read(found, name, rel)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// skip leaves out what is no part of the product: dependencies, nested modules and test programs.
func skip(root, name, base string) bool {
	if base == "node_modules" || base == "testdata" || base == "test" || base == "examples" || strings.HasPrefix(base, ".") && base != ".." {
		return true
	}
	if name == root {
		return false
	}
	_, err := os.Stat(filepath.Join(name, "go.mod"))
	return err == nil
}

func read(found map[string]*pkg, name, rel string) error {
	dir := path.Dir(rel)
	if dir == "." {
		dir = ""
	}
	p := found[dir]
	if p == nil {
		p = &pkg{dir: dir, files: map[string]*ast.File{}, lines: map[string]int{}, fset: token.NewFileSet()}
		found[dir] = p
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(p.fset, name, src, parser.ParseComments)
	if err != nil {
		return err
	}
	if f.Name.Name == "main" && strings.HasSuffix(dir, "/gen") {
		delete(found, dir)
		return nil
	}
	p.files[path.Base(rel)], p.lines[path.Base(rel)] = f, strings.Count(string(src), "\n")
	return nil
}

func imports(f *ast.File) []string {
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

func TestPackagesImportOnlyLowerLayers(t *testing.T) {
	for dir, p := range packages(t) {
		layer, placed := layers[dir]
		if !placed {
			t.Errorf("package %q has no layer; place it in this test", dir)
			continue
		}
		for file, f := range p.files {
			for _, imported := range imports(f) {
				own, ours := strings.CutPrefix(imported, module)
				if !ours || own != "" && own[0] != '/' {
					continue
				}
				if under, known := layers[strings.TrimPrefix(own, "/")]; known && under >= layer {
					t.Errorf("%s/%s (layer %d) imports %s (layer %d)", dir, file, layer, imported, under)
				}
			}
		}
	}
}

func TestEveryLayerNamesAPackageThatExists(t *testing.T) {
	found := packages(t)
	for _, dir := range slices.Sorted(maps.Keys(layers)) {
		if found[dir] == nil && dir != "internal/archtest" {
			t.Errorf("layer of %q: there is no such package", dir)
		}
	}
}

func TestHeavyImportsStayWhereTheyBelong(t *testing.T) {
	for dir, p := range packages(t) {
		for file, f := range p.files {
			for _, imported := range imports(f) {
				for lib, allowed := range heavy {
					if (imported == lib || strings.HasPrefix(imported, lib+"/")) && !slices.Contains(allowed, dir) {
						t.Errorf("%s/%s imports %s, which belongs in %v", dir, file, imported, allowed)
					}
				}
			}
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	for dir, p := range packages(t) {
		var where []string
		for file, f := range p.files {
			if f.Doc != nil {
				where = append(where, file)
			}
		}
		if len(where) != 1 {
			t.Errorf("package %q has %d package comments (%v), want one", dir, len(where), where)
		}
	}
}

func TestPackagesFilesAndFunctionsStaySmall(t *testing.T) {
	for dir, p := range packages(t) {
		total := 0
		for file, f := range p.files {
			total += p.lines[file]
			if p.lines[file] > maxFileLines {
				t.Errorf("%s/%s has %d lines, at most %d", dir, file, p.lines[file], maxFileLines)
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					if n := p.fset.Position(fn.End()).Line - p.fset.Position(fn.Pos()).Line + 1; n > maxFuncLines {
						t.Errorf("%s/%s: %s has %d lines, at most %d", dir, file, fn.Name.Name, n, maxFuncLines)
					}
				}
			}
		}
		if total > maxPackageLines {
			t.Errorf("package %q has %d lines, at most %d", dir, total, maxPackageLines)
		}
	}
}

func TestNoPackageHidesWorkInInit(t *testing.T) {
	for dir, p := range packages(t) {
		for file, f := range p.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s/%s has an init function", dir, file)
				}
			}
		}
	}
}
