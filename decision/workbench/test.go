package workbench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/cover"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/topdown"

	"ostiary"
)

// Outcomes of a test.
const (
	Passed  = "pass"
	Failed  = "fail"
	Erred   = "error" // a builtin failed, which denies every call that reaches it
	Skipped = "skip"  // its name begins with todo_
)

// TestResult is what came of one test. File and Line are where it failed, or where it stands.
type TestResult struct {
	Name    string   `json:"name"`
	Outcome string   `json:"outcome"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Message string   `json:"message,omitempty"`
	Output  string   `json:"output,omitempty"` // of print
	Trace   []string `json:"trace,omitempty"`
}

// TestReport is what came of all tests.
type TestReport struct {
	OK      bool         `json:"ok"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Tests   []TestResult `json:"tests"`
}

// Test runs the tests whose names fit the pattern; an empty one fits all.
func (b *Bench) Test(ctx context.Context, pattern string) (TestReport, error) {
	results, err := b.run(ctx, pattern, nil)
	if err != nil {
		return TestReport{}, err
	}
	report := TestReport{OK: true, Tests: []TestResult{}}
	for _, r := range results {
		one := testResult(r)
		switch one.Outcome {
		case Passed:
			report.Passed++
		case Skipped:
			report.Skipped++
		default:
			report.Failed++
			report.OK = false
		}
		report.Tests = append(report.Tests, one)
	}
	return report, nil
}

// run evaluates the tests of the files that are looked at, together with everything else.
func (b *Bench) run(ctx context.Context, pattern string, coverage *cover.Cover) ([]*tester.Result, error) {
	modules := maps.Clone(b.modules)
	for name, m := range b.tests {
		if b.own[name] {
			modules[name] = m
		}
	}
	if len(b.faults) > 0 {
		return nil, refused(b.faults[0])
	}
	store := b.store()
	txn, err := store.NewTransaction(ctx, storage.WriteParams)
	if err != nil {
		return nil, fmt.Errorf("workbench: %w", err)
	}
	defer store.Abort(ctx, txn)
	c, err := testCompiler(nil)
	if err != nil {
		return nil, err
	}
	r := tester.NewRunner().SetCompiler(c.WithEnablePrintStatements(true)).SetStore(store).SetModules(modules).Filter(pattern).
		RaiseBuiltinErrors(true).CapturePrintOutput(true)
	if coverage != nil {
		r.SetCoverageQueryTracer(coverage).SetCoverageRuns([]cover.Kind{cover.KindIndexExcluded, cover.KindEarlyExit})
	} else {
		r.EnableTracing(true)
	}
	results, err := r.RunTests(ctx, txn)
	if err != nil {
		if found := compileFindings(err, ""); found[0].File != "" {
			return nil, refused(found[0])
		}
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the tests cannot be run")
	}
	var out []*tester.Result
	for r := range results {
		out = append(out, r)
	}
	slices.SortFunc(out, func(x, y *tester.Result) int {
		return cmp.Or(strings.Compare(x.Location.File, y.Location.File), cmp.Compare(x.Location.Row, y.Location.Row), strings.Compare(x.Name, y.Name))
	})
	return out, ctx.Err()
}

// refused is the error for policies that cannot be evaluated.
func refused(f Finding) error {
	return ostiary.Errorf(ostiary.KindPolicyBroken, "%s%s", place(f.File, f.Line), f.Message).WithFix("sidecar policy check lists every fault")
}

func testResult(r *tester.Result) TestResult {
	out := TestResult{Name: strings.TrimPrefix(r.Package, "data.") + "." + r.Name, Outcome: Passed, File: r.Location.File, Line: r.Location.Row, Output: string(r.Output)}
	switch {
	case r.Skip:
		out.Outcome = Skipped
		return out
	case r.Pass():
		return out
	case r.Error != nil:
		out.Outcome, out.Message = Erred, r.Error.Error()
	default:
		out.Outcome, out.Message = Failed, "the test is not true"
	}
	if e := failedAt(r.Trace); e != nil && r.Error == nil {
		out.File, out.Line = e.Location.File, e.Location.Row
		out.Message = "not true: " + strings.TrimSpace(string(e.Location.Text))
	}
	var trace bytes.Buffer
	topdown.PrettyTraceWithOpts(&trace, r.Trace, topdown.PrettyTraceOptions{Locations: true, ExprVariables: true})
	out.Trace = strings.Split(strings.TrimRight(trace.String(), "\n"), "\n")
	return out
}

// failedAt is the last expression that was not true.
func failedAt(trace []*topdown.Event) *topdown.Event {
	for _, e := range slices.Backward(trace) {
		if e.Op != topdown.FailOp || e.Location == nil || e.QueryID == 0 {
			continue
		}
		if expr, ok := e.Node.(*ast.Expr); ok {
			if _, every := expr.Terms.(*ast.Every); !every {
				return e
			}
		}
	}
	return nil
}

// FileCoverage says which lines of a file no test reaches.
type FileCoverage struct {
	File      string  `json:"file"`
	Percent   float64 `json:"percent"`
	Uncovered []Gap   `json:"uncovered"`
}

// Gap is a run of lines that no test reaches, and why, where that is known.
type Gap struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Why  string `json:"why,omitempty"`
}

// CoverageReport says how much of the policies their tests reach.
type CoverageReport struct {
	OK      bool           `json:"ok"`
	Percent float64        `json:"percent"`
	Least   float64        `json:"least"`
	Failed  int            `json:"failed"` // tests
	Files   []FileCoverage `json:"files"`
}

// Coverage runs the tests and says which lines of the files that are looked at they reach. It is not OK below least percent, or when a test fails.
func (b *Bench) Coverage(ctx context.Context, least float64) (CoverageReport, error) {
	coverage := cover.New()
	results, err := b.run(ctx, "", coverage)
	if err != nil {
		return CoverageReport{}, err
	}
	out := CoverageReport{Least: least, Files: []FileCoverage{}, Percent: 100}
	for _, r := range results {
		if !r.Skip && !r.Pass() {
			out.Failed++
		}
	}
	looked := map[string]*ast.Module{}
	for name, m := range b.modules {
		if b.own[name] {
			looked[name] = m
		}
	}
	report := coverage.Report(looked)
	covered, all := 0, 0
	for _, name := range slices.Sorted(maps.Keys(looked)) {
		f := report.Files[name]
		if f == nil || f.CoveredLines+f.NotCoveredLines == 0 {
			continue // nothing in it can be reached
		}
		covered, all = covered+f.CoveredLines, all+f.CoveredLines+f.NotCoveredLines
		out.Files = append(out.Files, FileCoverage{File: name, Percent: percent(f.CoveredLines, f.CoveredLines+f.NotCoveredLines), Uncovered: gaps(f)})
	}
	if all > 0 {
		out.Percent = percent(covered, all)
	}
	out.OK = out.Failed == 0 && out.Percent >= least
	return out, nil
}

func percent(part, all int) float64 { return float64(int(1000*float64(part)/float64(all))) / 10 }

var whyUncovered = map[cover.Kind]string{
	cover.KindIndexExcluded: "another condition of the rule excludes every test's input",
	cover.KindEarlyExit:     "an equal answer was found before",
}

// gaps joins ranges on neighbouring lines.
func gaps(f *cover.FileReport) []Gap {
	out := []Gap{}
	for _, r := range f.NotCovered {
		g := Gap{From: r.Start.Row, To: r.End.Row}
		if len(r.Kinds) > 0 {
			g.Why = whyUncovered[r.Kinds[0]]
		}
		if last := len(out) - 1; last >= 0 && out[last].To+1 >= g.From && out[last].Why == g.Why {
			out[last].To = max(out[last].To, g.To)
			continue
		}
		out = append(out, g)
	}
	return out
}

// WithoutTraces is the report without how failures came to be.
func (r TestReport) WithoutTraces() TestReport {
	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		r.Tests[i].Trace = nil
	}
	return r
}
