package rego_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/policies"
)

// rule is an operator's file whose one rule gives this reason.
func rule(behavior, reason string) string {
	return operatorHead + fmt.Sprintf(`verdicts contains {"id": "t.x", "behavior": %q, "reason": %q} if input.tool.name == "t"`, behavior, reason)
}

// folder is an operator's directory with an engine over it.
type folder struct {
	dir string
	*rego.Engine
}

func open(t *testing.T, text string, change func(*rego.Config)) folder {
	t.Helper()
	f := folder{dir: t.TempDir()}
	f.write(t, "t.rego", text)
	cfg := rego.Config{Shipped: policies.FS, OperatorDir: f.dir, Timeout: 10 * time.Second}
	if change != nil {
		change(&cfg)
	}
	var err error
	if f.Engine, err = rego.Load(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	return f
}

// write puts a file in place in one step, as an editor or a checkout does.
func (f folder) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

// says is the first reason of a decision.
func (f folder) says(t *testing.T) string {
	t.Helper()
	return decide(t, f.Engine, call(nil)).Verdicts[0].Reason
}

func TestACandidateThatIsRefusedLeavesTheLastGoodOneInForce(t *testing.T) {
	f := open(t, rule("ask", "good"), nil)
	good := f.Revision()
	for name, c := range map[string]struct {
		file, text, want string
		kind             ostiary.Kind
	}{
		"it does not compile":   {"u.rego", operatorHead + "verdicts contains {", "u.rego:3", ostiary.KindPolicyBroken},
		"its own test fails":    {"t_test.rego", "package policies.operator.t_test\nimport rego.v2\n\ntest_nothing if 1 == 2", "t_test.rego:4", ostiary.KindPolicyBroken},
		"its test is broken":    {"t_test.rego", "package policies.operator.t_test\nimport rego.v2\n\ntest_nothing if", "t_test.rego:4", ostiary.KindPolicyBroken},
		"it is outside a layer": {"u.rego", "package policies.baseline.t\nimport rego.v2\n", "u.rego:1", ostiary.KindPolicyBroken},
	} {
		t.Run(name, func(t *testing.T) {
			f.write(t, c.file, c.text)
			err := f.Reload(context.Background())
			if ostiary.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s at %s", err, c.kind, c.want)
			}
			if s, refused := f.Status(); !errors.Is(refused, err) || s.Refused == "" || s.Revision != good || f.says(t) != "good" {
				t.Errorf("%+v", s)
			}
			if err := os.Remove(filepath.Join(f.dir, c.file)); err != nil {
				t.Fatal(err)
			}
			if err := f.Reload(context.Background()); err != nil {
				t.Errorf("after it is gone: %v", err)
			}
		})
	}
}

func TestATestThatPassesComesAlong(t *testing.T) {
	f := open(t, rule("ask", "good"), nil)
	f.write(t, "t_test.rego", "package policies.operator.t_test\nimport rego.v2\nimport data.policies.operator.t\n"+
		`test_asks if { some v in t.verdicts with input as {"tool": {"name": "t"}}; v.behavior == "ask" }`)
	if err := f.Reload(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestNothingIsPutInForceThatIsNotOnRecord(t *testing.T) {
	var full error
	var recorded []string
	f := open(t, rule("ask", "one"), func(cfg *rego.Config) {
		cfg.Record = func(revision string) error {
			recorded = append(recorded, revision)
			return full
		}
	})
	first := f.Revision()
	full = errors.New("disk full")
	f.write(t, "t.rego", rule("ask", "two"))
	if err := f.Reload(context.Background()); ostiary.KindOf(err) != ostiary.KindAuditUnavailable || f.says(t) != "one" {
		t.Errorf("%v, %s", err, f.says(t))
	}
	full = nil
	if err := f.Reload(context.Background()); err != nil || f.says(t) != "two" {
		t.Errorf("%v, %s", err, f.says(t))
	}
	if err := f.Reload(context.Background()); err != nil { // the same again
		t.Error(err)
	}
	if len(recorded) != 3 || recorded[0] != first || recorded[2] != f.Revision() {
		t.Errorf("recorded %q", recorded)
	}
}

func TestPoliciesCanBeRolledBackStepByStep(t *testing.T) {
	f := open(t, rule("ask", "0"), nil)
	for i := 1; i < 12; i++ {
		f.write(t, "t.rego", rule("ask", fmt.Sprint(i)))
		if err := f.Reload(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for i := 10; i >= 3; i-- {
		status, _ := f.Status()
		if err := f.Rollback(); err != nil || f.says(t) != fmt.Sprint(i) || f.Revision() != status.Earlier[0] {
			t.Errorf("%v, says %s, want %d", err, f.says(t), i)
		}
	}
	if err := f.Rollback(); ostiary.KindOf(err) != ostiary.KindNotFound {
		t.Errorf("got %v", err)
	}
}

func TestReloadsUnderLoadLoseNoCallAndMixNoRevisions(t *testing.T) {
	f := open(t, rule("ask", "0"), nil)
	var mu sync.Mutex
	reasons := map[string]string{f.Revision(): "0"} // by revision
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				out, err := f.Decide(context.Background(), call(func(in *decision.Input) { in.Tool.DefinitionDigest = fmt.Sprint(n % 3) }))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want, known := reasons[out.Revision]
				mu.Unlock()
				if known && out.Verdicts[0].Reason != want {
					t.Errorf("%s says %s, want %s", out.Revision, out.Verdicts[0].Reason, want)
					return
				}
			}
		})
	}
	swaps := 100
	if testing.Short() { // under the race detector
		swaps = 20
	}
	for i := 1; i <= swaps; i++ {
		f.write(t, "t.rego", rule("ask", fmt.Sprint(i)))
		if err := f.Reload(context.Background()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		reasons[f.Revision()] = fmt.Sprint(i)
		mu.Unlock()
	}
	close(stop)
	callers.Wait()
	if len(reasons) != swaps+1 {
		t.Errorf("%d revisions", len(reasons))
	}
}

func TestWhatWasRolledBackFromIsNotTakenAgainByItself(t *testing.T) {
	f := open(t, rule("ask", "one"), nil)
	f.write(t, "t.rego", rule("ask", "two"))
	if err := f.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := f.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := f.Reload(context.Background()); err != nil || f.says(t) != "one" {
		t.Errorf("%v, says %s", err, f.says(t))
	}
	f.write(t, "t.rego", rule("ask", "three"))
	if err := f.Reload(context.Background()); err != nil || f.says(t) != "three" {
		t.Errorf("%v, says %s", err, f.says(t))
	}
}
