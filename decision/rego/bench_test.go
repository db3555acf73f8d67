package rego_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/policies"
)

// Whoever asks the packages one by one, and joins what they say, hears what the engine says.
func TestABenchAnswersAsTheEngineDoes(t *testing.T) {
	cfg := operator(t, map[string]string{
		"t.rego":      operatorHead + `verdicts contains {"id": "t.no", "behavior": "deny", "reason": "never"} if input.args.a == 2`,
		"t_test.rego": "package policies.operator.t_test\nimport rego.v2\ntest_that_fails if false\n",
	})
	cfg.Shipped = policies.FS
	src, err := rego.ReadSources(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rego.OpenBench(t.Context(), src, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(b.Packages(), func(p rego.Package) bool { return p.Name == "operator.t" })
	if at < 0 || !slices.EqualFunc(b.Packages()[at].Reads, [][]string{{"args", "a"}}, slices.Equal) {
		t.Fatalf("packages %v", b.Packages())
	}
	for _, args := range []string{`{"a":1}`, `{"a":2}`} {
		in := call(func(in *decision.Input) { in.Args = []byte(args) })
		var verdicts []decision.Verdict
		for i := range b.Packages() {
			said, err := b.Ask(t.Context(), i, &in)
			if err != nil {
				t.Fatal(err)
			}
			verdicts = append(verdicts, said...)
		}
		whole, err := b.Decide(t.Context(), in)
		if got, spoke := decision.Combine(verdicts); err != nil || got != whole.Behavior || spoke != whole.Spoke {
			t.Errorf("%s: the packages say %s, together %s, %v", args, got, whole.Behavior, err)
		}
	}
}

// A relative --policies can give an operator's file any name, and must not put it in the place of ours.
func TestAnOperatorsFileReplacesNoneOfOurs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"policies", rego.Shipped} {
		if err := os.MkdirAll(filepath.Join(dir, "baseline"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "baseline", "sinks.rego"), []byte(operatorHead), 0o600); err != nil {
			t.Fatal(err)
		}
		sink := call(func(in *decision.Input) { in.Tool.Annotations.SensitiveSink = true })
		e, err := tryLoad(rego.Config{OperatorDir: dir})
		if ostiary.KindOf(err) == ostiary.KindPolicyBroken {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if out := decide(t, e, sink); out.Behavior != decision.Ask {
			t.Errorf("%s: %+v", dir, out)
		}
	}
}
