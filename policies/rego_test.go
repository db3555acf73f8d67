package policies_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"ostiary/decision/rego"
	"ostiary/policies"
)

// source is one Rego file of this directory.
type source struct {
	name   string
	text   string
	module *ast.Module
}

// sources reads the rule files, and the test file of each.
func sources(t *testing.T) (rules []source, tests map[string]source) {
	t.Helper()
	tests = map[string]source{}
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".rego") {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		m, err := rego.Parse(name, string(raw))
		if err != nil {
			return err
		}
		s := source{filepath.ToSlash(name), string(raw), m}
		if rule, ok := strings.CutSuffix(s.name, "_test.rego"); ok {
			tests[rule+".rego"] = s
		} else {
			rules = append(rules, s)
		}
		return nil
	})
	if err != nil || len(rules) == 0 {
		t.Fatalf("%d rule files: %v", len(rules), err)
	}
	return rules, tests
}

// data is what the shipped data documents say.
func data(t *testing.T) map[string]any {
	t.Helper()
	files, err := filepath.Glob("data/*.json")
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]any{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		docs[strings.TrimSuffix(filepath.Base(file), ".json")] = doc
	}
	return map[string]any{"ostiary": docs}
}

// run asks OPA's tester and returns the tests that do not pass.
func run(modules map[string]*ast.Module, store storage.Store) (passed int, failed []string, err error) {
	ctx := context.Background()
	txn, err := store.NewTransaction(ctx, storage.WriteParams)
	if err != nil {
		return 0, nil, err
	}
	defer store.Abort(ctx, txn)
	results, err := tester.NewRunner().SetCompiler(ast.NewCompiler().WithCapabilities(rego.Capabilities())).SetStore(store).SetModules(modules).RunTests(ctx, txn)
	if err != nil {
		return 0, nil, err
	}
	for r := range results {
		switch {
		case r.Error != nil:
			failed = append(failed, fmt.Sprintf("%s: %s: %v", r.Location, r.Name, r.Error))
		case !r.Pass():
			failed = append(failed, fmt.Sprintf("%s: %s", r.Location, r.Name))
		default:
			passed++
		}
	}
	return passed, failed, nil
}

func TestTheRulesKeepTheirTests(t *testing.T) {
	rules, tests := sources(t)
	modules := map[string]*ast.Module{}
	for _, s := range rules {
		modules[s.name] = s.module
	}
	for _, s := range tests {
		modules[s.name] = s.module
	}
	passed, failed, err := run(modules, inmem.NewFromObject(data(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range failed {
		t.Errorf("%s does not pass", f)
	}
	t.Logf("%d tests of %d files pass", passed, len(tests))
}

// rule is one verdict that a file can give.
type rule struct {
	file, pack, id, short, behavior, severity string
	title, description                        string
	owasp                                     []string
	line                                      int
}

var verdictHead = regexp.MustCompile(`(?s)^verdicts contains \{\s*"id": "([^"]+)",\s*"behavior": "([a-z]+)",.*?"severity": "([a-z]+)"`)

// shipped lists every rule that has a verdict, with what its metadata says.
func shipped(t *testing.T) []rule {
	t.Helper()
	files, _ := sources(t)
	var out []rule
	for _, s := range files {
		notes := map[*ast.Rule]*ast.Annotations{}
		for _, a := range s.module.Annotations {
			for _, r := range s.module.Rules {
				if a.Scope == "rule" && a.GetTargetPath().Equal(r.Ref()) && r.Location.Row == a.EndLoc().Row+1 {
					notes[r] = a
				}
			}
		}
		for _, r := range s.module.Rules {
			if r.Head.Name != "verdicts" || path.Dir(s.name) == "main" {
				continue
			}
			m := verdictHead.FindStringSubmatch(s.text[r.Location.Offset:])
			if m == nil {
				t.Fatalf("%s:%d: a verdict begins with id, behavior, reason and severity", s.name, r.Location.Row)
			}
			_, short, _ := strings.Cut(m[1], ".")
			one := rule{file: s.name, pack: path.Dir(s.name), id: m[1], short: short, behavior: m[2], severity: m[3], line: r.Location.Row}
			if a := notes[r]; a == nil {
				t.Errorf("%s:%d: %s has no metadata right above it", s.name, r.Location.Row, one.id)
			} else {
				one.title, one.description, one.owasp = a.Title, strings.TrimSpace(a.Description), words(a.Labels["owasp"])
				if one.title == "" || one.description == "" || len(one.owasp) == 0 || a.Labels["severity"] != one.severity {
					t.Errorf("%s:%d: the metadata of %s wants title, description, labels.owasp and labels.severity: %s", s.name, r.Location.Row, one.id, one.severity)
				}
			}
			out = append(out, one)
		}
	}
	return out
}

// words reads a word or a list of words.
func words(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, fmt.Sprint(one))
		}
		return out
	}
	return nil
}

func TestEveryRuleIsNamedAfterItsFileAndTested(t *testing.T) {
	_, tests := sources(t)
	seen := map[string]string{}
	for _, r := range shipped(t) {
		if want := strings.TrimSuffix(path.Base(r.file), ".rego") + "." + r.short; r.id != want {
			t.Errorf("%s:%d: the id %s, want %s", r.file, r.line, r.id, want)
		}
		if other, twice := seen[r.id]; twice {
			t.Errorf("%s:%d: %s has the same id", r.file, r.line, other)
		}
		seen[r.id] = fmt.Sprintf("%s:%d", r.file, r.line)
		m := tests[r.file].module
		for _, kind := range []string{"fires", "silent", "absent"} {
			prefix := "test_" + r.short + "_" + kind
			if m == nil || !slices.ContainsFunc(m.Rules, func(one *ast.Rule) bool { return strings.HasPrefix(one.Head.Name.String(), prefix) }) {
				t.Errorf("%s:%d: %s has no test %s…", r.file, r.line, r.id, prefix)
			}
		}
	}
}

func TestEveryPackageIsWhereItsNameSays(t *testing.T) {
	files, _ := sources(t)
	for _, s := range files {
		dir := path.Dir(s.name)
		want := "data.policies." + dir + "." + strings.TrimSuffix(path.Base(s.name), ".rego")
		if dir != "main" && s.module.Package.Path.String() != want {
			t.Errorf("%s: package %s, want %s", s.name, s.module.Package.Path, want)
		}
		if !slices.ContainsFunc(s.module.Imports, func(i *ast.Import) bool { return i.Path.String() == "rego.v2" }) {
			t.Errorf("%s: no import rego.v2", s.name)
		}
	}
}

func TestEveryRuleFileShipsAndNoTestDoes(t *testing.T) {
	files, _ := sources(t)
	want := map[string]bool{}
	for _, s := range files {
		want[s.name] = true
		if raw, err := policies.FS.ReadFile(s.name); err != nil || string(raw) != s.text {
			t.Errorf("%s is not embedded: %v", s.name, err)
		}
	}
	err := fs.WalkDir(policies.FS, ".", func(name string, e fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".rego") && !want[name] {
			t.Errorf("%s is embedded", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
