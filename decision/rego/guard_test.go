package rego

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego/document"
	"ostiary/policies"
)

// conditions are bodies of rules; the first ones are understood, and sometimes false.
var conditions = []string{
	`input.phase == "nothing"`, `"result" == input.phase`, `input.phase != "call"`, `input.session.tainted`, `not input.session.tainted`, `not not_tainted`, `not_tainted`,
	`input.session.error_streak > 2`, `2 >= input.session.error_streak`, `input.caller.confidence < 0.6`, `not input.caller.confidence < 0.6`, `input.caller.verdict`,
	`not input.caller.verdict`, `input.tool.name in {"x", "y"}`, `not input.tool.name in {"t"}`, `"untrusted" in input.session.labels`,
	`not "untrusted" in input.session.labels`, `input.tool.name in ["ü"]`, `some c in input.parsed.commands; c.name == "git"`, `some p in input.parsed.paths; p == "/a"`,
	`input.parsed.paths[0] == "/a"`, `input.parsed.paths[_] == "/a"`, `count(input.parsed.paths) == 0`, `count(input.parsed.paths) > 1`,
	`not count(input.parsed.commands) == 0`, `count(input.evidence.warnings) == 0`, `x := input.tool.name; y := x; y == "t"`, `input.evidence.status == "ok"`,
	`input.args.a == 3`, `input.args.o.k`, `false`, `input.phase == "nothing"; to_number(input.tool.name) == 1`, `failing_late`, `not input.parsed.paths[0]`,
	`[x, y] = input.parsed.paths; x = input.parsed.files[0]`, `x = input.tool.name; x = input.tool.namespace`, `[x] = input.parsed.paths; not x = input.parsed.files[0]`,
	`input.evidence`, `not input.args.a`, `every p in input.parsed.paths { p == "/a" }`, `input.phase == "nothing" with input.phase as "nothing"`,
	`not input.phase == "call" with input.phase as "nothing"`, `is_number(input.args.a)`, `not is_number(input.args.a)`,
	`to_number(input.tool.name) == 1; input.phase == "nothing"`, `x := [1 | to_number(input.tool.name) == 1]; x == [1]; input.phase == "nothing"`,
	`not to_number(input.tool.name) == 1; input.phase == "nothing"`, `failing; input.phase == "nothing"`, `some_fail; input.phase == "nothing"`,
	`by_default; input.phase == "result"`, `not by_default`, `otherwise`, `not otherwise`, `false_one`, `not false_one`, `a_set[input.tool.name]`, `of(input.tool.name)`,
	`input.tool.name == letters[0]`, `data.ostiary.baseline.sink_mode == "always"`, `data.ostiary.baseline.sink_mode == "never"`,
	`data.policies.operator.t0.failing; input.phase == "nothing"`, `input[x] == "call"; x == "tool"`, `input.tool[x] == "t"; x == "name"`, `true`, `null`, `not false`,
	`{"a": input.tool.name} == {"a": "t"}`, `input.tool.name in {input.tool.namespace}`, `input.result.findings.pii > 10`, `input.provenance.args[_].origin == "untrusted"`,
	`some i; input.parsed.paths[i] == "/a"; i == 1`, `walk(input.parsed, [_, "/a"])`, `count(input.tool.name) == 1`, `count(input.parsed) == 6`,
}

// understood is how many of the conditions are.
const understood = 33

const helpers = `
not_tainted if not input.session.tainted
failing if to_number(input.tool.name) == 1
failing_late if {
	input.phase == "nothing"
	to_number(input.tool.name) == 1
}
some_fail if input.phase == "nothing"
some_fail if to_number(input.tool.name) == 1
default by_default := false
by_default if input.session.tainted
otherwise if input.session.tainted else := false
false_one := false if input.session.tainted
a_set contains "t" if input.session.tainted
of(x) if x == "t"
letters := ["t"]
`

// A guard may only say that a package is silent when OPA finds no verdict, and no error either.
func TestASilentPackageHasNeitherVerdictNorError(t *testing.T) {
	s := guarded(t)
	silent := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		for i := range s.packs {
			p := &s.packs[i]
			if !p.guard.Silent(document.NewValues(&in, s.fields)) {
				continue
			}
			silent[p.name] = true
			if verdicts, err := s.evaluate(context.Background(), p, document.NewValues(&in, s.fields)); err != nil || len(verdicts) > 0 {
				t.Fatalf("%s is called silent, but says %v, %v", p.name, verdicts, err)
			}
		}
	})
	for i, text := range conditions[:understood] {
		if !silent[fmt.Sprintf("operator.t%d", i)] {
			t.Errorf("%s was never called silent", text)
		}
	}
}

// guarded loads each condition as the one rule of a package, and chance conjunctions of them as two rules each, beside the shipped packs.
func guarded(t *testing.T) *snapshot {
	t.Helper()
	dir := t.TempDir()
	write := func(name, pkg, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package policies.operator."+pkg+"\nimport rego.v2\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rule := func(id, body string) string {
		return fmt.Sprintf("verdicts contains {\"id\": %q, \"behavior\": \"ask\", \"reason\": \"r\"} if { %s }\n", id, body)
	}
	for i, text := range conditions {
		write(fmt.Sprintf("t%d.rego", i), fmt.Sprintf("t%d", i), rule("x", text)+helpers)
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range 150 {
		bodies := make([]string, 2)
		for j := range bodies {
			var parts []string
			for _, n := range chance.Perm(len(conditions))[:2+chance.IntN(2)] {
				if text := conditions[n]; !strings.Contains(text, "x") && !strings.Contains(text, "some ") && chance.IntN(3) == 0 {
					parts = append(parts, "not { "+text+" }")
				} else {
					parts = append(parts, renamed(text, len(parts)))
				}
			}
			bodies[j] = strings.Join(parts, "; ")
		}
		pkg := fmt.Sprintf("c%d", i)
		write(pkg+"a.rego", pkg, rule("a", bodies[0])+helpers) // a package may stand in several files
		write(pkg+"b.rego", pkg, rule("b", bodies[1]))
	}
	e, err := Load(context.Background(), Config{Shipped: policies.FS, OperatorDir: dir, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return e.current.Load()
}

// renamed gives the variables of a condition names of their own, so that conditions can stand in one body.
func renamed(text string, n int) string {
	return variables.ReplaceAllString(text, fmt.Sprintf("${1}v%d", n))
}

var variables = regexp.MustCompile(`\b([xyicp])\b`)

// A reference that names no rule may name a package below.
func TestAPackageBelowAnotherIsNoRuleOfIt(t *testing.T) {
	for _, name := range []string{"policies.operator.t0[\"foo-bar\"]", "policies.operator.t0.below", "policies.tenant_a[\"b.c\"]", "policies.operator[\"a.b\"]"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "b.rego"), []byte("package "+name+"\nimport rego.v2\nx := 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(context.Background(), Config{Shipped: policies.FS, OperatorDir: dir}); ostiary.KindOf(err) != ostiary.KindPolicyBroken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Helpers that use one helper twice each would be judged two to the power of their depth times.
func TestAChainOfHelpersIsJudgedOnce(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("verdicts contains {\"id\": \"t.x\", \"behavior\": \"ask\", \"reason\": \"r\"} if h0\n")
	for i := range 40 {
		fmt.Fprintf(&rules, "h%d if {\n\th%d\n\tinput.phase == \"call\"\n}\nh%d if {\n\th%d\n\tinput.session.carried\n}\n", i, i+1, i, i+1)
	}
	rules.WriteString("h40 if input.phase == \"call\"\n")
	rules.WriteString("verdicts contains {\"id\": \"t.y\", \"behavior\": \"ask\", \"reason\": \"r\"} if g0 == \"x\"\n")
	for i := range 40 { // and these are true or a text, which is not understood
		fmt.Fprintf(&rules, "g%d := true if {\n\tg%d\n\tg%d\n}\ng%d := \"x\" if input.phase == \"list\"\n", i, i+1, i+1, i)
	}
	rules.WriteString("g40 if input.phase == \"call\"\n")
	s := loadWith(t, rules.String()).current.Load()
	in := anInput()
	for i := range s.packs {
		if s.packs[i].name == "operator.t" && s.packs[i].guard.Silent(document.NewValues(&in, s.fields)) {
			t.Error("it is called silent")
		}
	}
}

// The shipped packs are mostly silent about an ordinary read.
func TestFewPackagesAreAskedAboutAnOrdinaryRead(t *testing.T) {
	s := loadWith(t, "").current.Load()
	in := decision.Input{Phase: decision.PhaseCall, Args: []byte(`{"path":"/w/a.go"}`), Caller: decision.Caller{Agent: "a", Tenant: "default", Profile: "api"}}
	in.Tool.AnnotationsSource, in.Tool.Annotations.ReadOnly = "operator", true
	in.Parsed = decision.Parsed{Paths: []string{"/w/a.go"}, Files: []string{"/w/a.go"}, Hosts: []string{}}
	values, asked := document.NewValues(&in, s.fields), []string{}
	for i := range s.packs {
		if !s.packs[i].guard.Silent(values) {
			asked = append(asked, s.packs[i].name)
		}
	}
	if len(asked) > 5 {
		t.Errorf("asked: %v", asked)
	}
}
