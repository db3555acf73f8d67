package workbench_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ostiary/decision/rego"
	"ostiary/decision/workbench"
	"ostiary/policies"
)

// open puts files into a directory of an operator and opens a bench on it. Places in findings are then relative to it.
func open(t *testing.T, files map[string]string) *workbench.Bench {
	t.Helper()
	b, err := workbench.Open(config(t, files), false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func config(t *testing.T, files map[string]string) rego.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return rego.Config{Shipped: policies.FS, OperatorDir: dir}
}

func check(t *testing.T, files map[string]string) workbench.Report {
	t.Helper()
	r, err := open(t, files).Check()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// said lists findings as "file:line id".
func said(r workbench.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, filepath.Base(f.File)+":"+itoa(f.Line)+" "+f.ID)
	}
	return out
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

const (
	head = "package policies.operator.t\n\nimport rego.v2\n\n"
	fine = head + `verdicts contains {"id": "t.x", "behavior": "ask", "reason": "r"} if input.tool.name == "x"` + "\n"
)

func TestCheckFindsEveryFault(t *testing.T) {
	r := check(t, map[string]string{
		"fine.rego":    fine,
		"syntax.rego":  head + "verdicts contains {\n",
		"input.rego":   head + "a if input.tool.nmae == \"x\"\n\nb if input.caller.agnet == \"x\"\n",
		"chance.rego":  head + "c if rand.intn(\"x\", 2) == 1\n",
		"unused.rego":  head + "d if {\n\tx := 1\n}\n",
		"layer.rego":   "package elsewhere.t\n\ne := 1\n",
		"empty.rego":   "",
		"t_test.rego":  head + "test_x if nothing_such\n",
		"format.rego":  head + "f   if input.tool.name == \"x\"\n",
		"unknown.rego": head + "g if nope(1)\n",
	})
	want := []string{
		"chance.rego:5 capability", "empty.rego:1 layer", "format.rego:5 format", "input.rego:5 schema", "input.rego:7 schema",
		"layer.rego:1 import-v2", "layer.rego:1 layer", "syntax.rego:6 parse", "unknown.rego:5 compile", "unused.rego:6 compile",
	}
	got := said(r)
	slices.Sort(got)
	if !slices.Equal(got, want) || r.OK || r.Files != 10 {
		t.Errorf("%v %d files\ngot  %q\nwant %q", r.OK, r.Files, got, want)
	}
	for _, f := range r.Findings {
		if f.Message == "" || f.Fix == "" {
			t.Errorf("%+v does not say what to do", f)
		}
		if f.ID == "schema" && f.Line == 5 && !strings.Contains(f.Fix, "there are annotations, annotations_source, definition_digest, drifted, name, namespace") {
			t.Errorf("%+v does not name the fields", f)
		}
	}
}

func TestCheckCompilesTestsOnceTheRulesAreFine(t *testing.T) {
	r := check(t, map[string]string{"t.rego": fine, "t_test.rego": head + "test_x if nothing_such\n"})
	if got := said(r); r.OK || !slices.Equal(got, []string{"t_test.rego:5 compile"}) {
		t.Errorf("%q", got)
	}
}

func TestAFileThatIsNotFormattedIsAWarningOnly(t *testing.T) {
	files := map[string]string{"t.rego": strings.Replace(fine, "input.tool", "  input.tool", 1)}
	if r := check(t, files); !r.OK || !slices.Equal(said(r), []string{"t.rego:5 format"}) || !r.Findings[0].Warning {
		t.Errorf("%+v", r)
	}
	if formatted := open(t, files).Formatted(); len(formatted) != 1 {
		t.Errorf("%q", formatted)
	} else {
		for _, text := range formatted {
			if text != fine {
				t.Errorf("%q", text)
			}
		}
	}
}

func TestCheckFindsSettingsThatDoNotFit(t *testing.T) {
	cfg := config(t, map[string]string{"t.rego": head + "a if input.tool.nmae\n"})
	cfg.Settings = map[string]map[string]any{"baseline": {"threshold_lo": 1}}
	b, err := workbench.Open(cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Check()
	if err != nil || len(r.Findings) != 2 || r.Findings[0].ID != "data" || !strings.Contains(r.Findings[0].Message, "threshold_lo") || r.Findings[1].ID != "schema" {
		t.Errorf("%+v, %v", r, err)
	}
}

// What check lets pass, the engine takes; what it refuses, the engine refuses.
func TestCheckAgreesWithTheEngine(t *testing.T) {
	for name, text := range map[string]string{
		"fine": fine, "a typo": head + "a if input.tool.nmae\n", "the clock": head + "a if time.now_ns() > 1\n", "no import": "package policies.operator.t\n",
		"elsewhere": "package t\n\nimport rego.v2\n", "not formatted": head + "a   :=    1\n", "a tenant's": strings.Replace(fine, "operator", "tenant_x", 1),
	} {
		cfg := config(t, map[string]string{"t.rego": text})
		b, err := workbench.Open(cfg, false)
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Check()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rego.Load(t.Context(), cfg); (err == nil) != r.OK {
			t.Errorf("%s: check says %v %q, the engine %v", name, r.OK, said(r), err)
		}
	}
}

func TestTheBaselinePassesItsOwnBench(t *testing.T) {
	shipped := fstest.MapFS{} // with the tests, which the program goes without
	for _, pattern := range []string{"main/*.rego", "baseline/*.rego", "data/baseline.json", "schema/baseline.json", "schema/input.json"} {
		names, err := fs.Glob(os.DirFS("../../policies"), pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %q, %v", pattern, names, err)
		}
		for _, name := range names {
			raw, err := os.ReadFile(filepath.Join("../../policies", name))
			if err != nil {
				t.Fatal(err)
			}
			shipped[name] = &fstest.MapFile{Data: raw}
		}
	}
	b, err := workbench.Open(rego.Config{Shipped: shipped}, true)
	if err != nil {
		t.Fatal(err)
	}
	baseline := func(file string) bool { return strings.Contains(file, "/baseline/") }
	check, err := b.Check()
	if err != nil {
		t.Fatal(err)
	}
	lint, err := b.Lint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(check.Findings, lint.Findings...) {
		if baseline(f.File) {
			t.Errorf("%+v", f)
		}
	}
	tests, err := b.Test(t.Context(), "^data.policies.baseline")
	if err != nil || !tests.OK || tests.Passed == 0 {
		t.Errorf("%d passed, %d failed, %v", tests.Passed, tests.Failed, err)
	}
	coverage, err := b.Coverage(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range coverage.Files {
		if baseline(f.File) && f.Percent < 95 {
			t.Errorf("%+v", f)
		}
	}
}

func TestAFailedTestIsShownWhereItFails(t *testing.T) {
	b := open(t, map[string]string{
		"t.rego": fine,
		"t_test.rego": head + `test_good if count(verdicts) == 1 with input as {"tool": {"name": "x"}}

test_bad if {
	print("seen")
	verdicts == set() with input as {"tool": {"name": "x"}}
}

test_error if to_number("x") == 1

todo_test_later if false
`})
	r, err := b.Test(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range r.Tests {
		got = append(got, one.Name+" "+one.Outcome+" "+itoa(one.Line))
	}
	want := []string{"policies.operator.t.test_good pass 5", "policies.operator.t.test_bad fail 9", "policies.operator.t.test_error error 12", "policies.operator.t.todo_test_later skip 14"}
	if !slices.Equal(got, want) || r.OK || r.Passed != 1 || r.Failed != 2 || r.Skipped != 1 {
		t.Errorf("%+v\ngot  %q\nwant %q", r, got, want)
	}
	if bad := r.Tests[1]; !strings.Contains(bad.Message, "verdicts == set()") || len(bad.Trace) == 0 || !strings.Contains(bad.Output, "seen") {
		t.Errorf("%+v", bad)
	}
	if r.WithoutTraces().Tests[1].Trace != nil || r.Tests[1].Trace == nil {
		t.Error("traces")
	}
	if r, err := b.Test(t.Context(), "good$"); err != nil || len(r.Tests) != 1 || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCoverageNamesTheLinesThatNoTestReaches(t *testing.T) {
	rules := fine + `
verdicts contains {"id": "t.y", "behavior": "ask", "reason": "r"} if {
	input.tool.name == "y"
	input.tool.namespace == "z"
}
`
	b := open(t, map[string]string{"t.rego": rules, "t_test.rego": head + "test_x if count(verdicts) == 1 with input as {\"tool\": {\"name\": \"x\"}}\n"})
	r, err := b.Coverage(t.Context(), 80)
	if err != nil || r.OK || len(r.Files) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	var lines []int
	for _, g := range r.Files[0].Uncovered {
		for n := g.From; n <= g.To; n++ {
			lines = append(lines, n)
		}
	}
	if !slices.Equal(lines, []int{7, 8, 9}) && !slices.Equal(lines, []int{7, 9}) && !slices.Equal(lines, []int{7, 8, 9, 9}) {
		t.Errorf("%+v", r)
	}
	if r, err := b.Coverage(t.Context(), 20); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}
