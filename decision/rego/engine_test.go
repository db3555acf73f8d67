package rego_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/policies"
	"ostiary/tool"
)

func load(t *testing.T, cfg rego.Config) *rego.Engine {
	t.Helper()
	e, err := tryLoad(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tryLoad(cfg rego.Config) (*rego.Engine, error) {
	cfg.Shipped = policies.FS
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second // a loaded machine must not fail a test of something else
	}
	return rego.Load(context.Background(), cfg)
}

func call(change func(*decision.Input)) decision.Input {
	in := decision.Input{
		Phase: decision.PhaseCall,
		Tool: decision.ToolFacts{Namespace: "crm", Name: "t", AnnotationsSource: tool.FromOperator,
			Annotations: tool.Risk{ReadOnly: true, Idempotent: true}},
		Args:    []byte(`{"a":1}`),
		Caller:  decision.Caller{Agent: "a", Tenant: "default", Profile: "api"},
		Session: decision.SessionFacts{Labels: []tool.Label{}},
		Parsed:  decision.Parsed{Paths: []string{}, Hosts: []string{}},
	}
	if change != nil {
		change(&in)
	}
	return in
}

func decide(t *testing.T, e *rego.Engine, in decision.Input) decision.Outcome {
	t.Helper()
	out, err := e.Decide(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func operator(t *testing.T, files map[string]string) rego.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return rego.Config{OperatorDir: dir}
}

// Covers: A19, A20, A21, A22, A23, B3
func TestBaselineJudgesACall(t *testing.T) {
	half, sure := 0.5, 0.9
	cases := []struct {
		name   string
		change func(*decision.Input)
		want   decision.Behavior
		rule   string
	}{
		{"a declared read passes", nil, decision.Allow, "tools.read_only"},
		{"a confident read passes", func(in *decision.Input) { in.Caller.Confidence = &sure }, decision.Allow, "tools.read_only"},
		{"an undeclared tool asks", func(in *decision.Input) {
			in.Tool.AnnotationsSource = tool.Undeclared
			in.Tool.Annotations = tool.Annotations{}.Resolve()
		}, decision.Ask, "tools.undeclared"},
		{"a destructive tool asks", func(in *decision.Input) { in.Tool.Annotations = tool.Risk{Destructive: true} }, decision.Ask, "sinks.destructive"},
		{"a sensitive sink asks", func(in *decision.Input) { in.Tool.Annotations.SensitiveSink = true }, decision.Ask, "sinks.sensitive"},
		{"an uncertain verdict asks", func(in *decision.Input) { in.Caller.Verdict = "uncertain" }, decision.Ask, "confidence.uncertain"},
		{"low confidence asks", func(in *decision.Input) { in.Caller.Confidence = &half }, decision.Ask, "confidence.low"},
		{"a promised confidence that is absent asks", func(in *decision.Input) { in.Caller.ReportsConfidence = true }, decision.Ask, "confidence.not_reported"},
		{"missing evidence asks", func(in *decision.Input) {
			in.Evidence = &decision.Evidence{Status: "degraded", Warnings: []string{"diagram_roi_not_found"}}
		}, decision.Ask, "confidence.evidence_missing"},
		{"repeated errors ask before an effect", func(in *decision.Input) {
			in.Tool.Annotations = tool.Risk{}
			in.Session.ErrorStreak = 3
		}, decision.Ask, "session.error_streak"},
		{"too many iterations ask", func(in *decision.Input) { in.Session.IterationOver = true }, decision.Ask, "session.iterations"},
		{"an exhausted budget asks", func(in *decision.Input) { in.Session.OverBudget = true }, decision.Ask, "session.budget"},
		{"changing hook settings is denied", func(in *decision.Input) {
			in.Tool.Annotations = tool.Risk{}
			in.Parsed.Paths = []string{"/home/u/.claude/settings.json"}
		}, decision.Deny, "paths.hook_settings"},
		{"an untrusted value in an effect asks", func(in *decision.Input) {
			in.Tool.Annotations = tool.Risk{}
			in.Provenance.Args = []decision.ArgOrigin{{Pointer: "/to", Origin: decision.OriginUntrusted}}
		}, decision.Ask, "provenance.untrusted_argument"},
	}
	e := load(t, rego.Config{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := decide(t, e, call(c.change))
			if out.Behavior != c.want || !spoke(out, c.rule) {
				t.Errorf("got %s %v, want %s by %s", out.Behavior, out.Verdicts, c.want, c.rule)
			}
			if !strings.HasPrefix(out.Revision, "sha256:") {
				t.Errorf("revision %q", out.Revision)
			}
		})
	}
}

func spoke(out decision.Outcome, id string) bool {
	for _, v := range out.Verdicts {
		if v.ID == id {
			return true
		}
	}
	return false
}

// Covers: A24
func TestAResultFullOfPersonalDataAsks(t *testing.T) {
	in := call(func(in *decision.Input) {
		in.Phase = decision.PhaseResult
		in.Result = &decision.ResultFacts{Status: tool.OK, Findings: map[string]int{"pii": 50}}
	})
	if out := decide(t, load(t, rego.Config{}), in); out.Behavior != decision.Ask || !spoke(out, "result.much_pii") {
		t.Errorf("got %+v", out)
	}
}

func TestOwnStateIsDeniedEvenToReads(t *testing.T) {
	e := load(t, rego.Config{Settings: map[string]map[string]any{"baseline": {"own_paths": []string{"/var/lib/[ostiary]/"}}}})
	for path, want := range map[string]decision.Behavior{
		"/var/lib/[ostiary]": decision.Deny, "/var/lib/[ostiary]/keys/agent.token": decision.Deny,
		"/var/lib/[ostiary]-notes": decision.Allow, "/var/lib/o": decision.Allow,
	} {
		out := decide(t, e, call(func(in *decision.Input) { in.Parsed.Paths = []string{path} }))
		if out.Behavior != want {
			t.Errorf("%s: got %+v, want %s", path, out, want)
		}
	}
}

func TestBalancedPostureTrustsTheUsersOwnWords(t *testing.T) {
	e := load(t, rego.Config{Settings: map[string]map[string]any{"baseline": {"sink_mode": "provenance"}}})
	sink := func(origin decision.Origin) decision.Input {
		return call(func(in *decision.Input) {
			in.Tool.Annotations = tool.Risk{SensitiveSink: true}
			in.Request.Known = true
			in.Provenance.Args = []decision.ArgOrigin{{Pointer: "/to", Role: "recipient", Origin: origin}}
		})
	}
	if out := decide(t, e, sink(decision.OriginUser)); out.Behavior != decision.Allow {
		t.Errorf("the user's own target: %+v", out)
	}
	if out := decide(t, e, sink(decision.OriginUntrusted)); out.Behavior != decision.Ask {
		t.Errorf("an untrusted target: %+v", out)
	}
}

func TestNoRuleSpeaking(t *testing.T) {
	out := decide(t, load(t, rego.Config{}), call(func(in *decision.Input) {
		in.Tool.Annotations = tool.Risk{}
	}))
	if out.Spoke {
		t.Errorf("a plain declared write has no verdict of the baseline, got %+v", out)
	}
}

const operatorHead = "package policies.operator.t\nimport rego.v2\n"

func TestTheStrictestVerdictWins(t *testing.T) {
	e := load(t, operator(t, map[string]string{"t.rego": operatorHead +
		`verdicts contains {"id": "t.no", "behavior": "deny", "reason": "never"} if input.tool.name == "t"`}))
	if out := decide(t, e, call(nil)); out.Behavior != decision.Deny || out.Verdicts[0].Policy != "operator.t" {
		t.Errorf("got %+v", out)
	}
}

func TestAMalformedAnswerDenies(t *testing.T) {
	for name, rule := range map[string]string{
		"unknown behavior":   `verdicts contains {"id": "t.x", "behavior": "maybe", "reason": "r"}`,
		"no reason":          `verdicts contains {"id": "t.x", "behavior": "allow"}`,
		"no object":          `verdicts contains "allow"`,
		"unknown member":     `verdicts contains {"id": "t.x", "behavior": "allow", "reason": "r", "priority": 1}`,
		"unknown obligation": `verdicts contains {"id": "t.x", "behavior": "allow", "reason": "r", "obligations": ["sing"]}`,
		"a mark on a call":   `verdicts contains {"id": "t.x", "behavior": "allow", "reason": "r", "obligations": ["cite_as_inferred"]}`,
		"builtin error":      `verdicts contains {"id": "t.x", "behavior": "allow", "reason": "r"} if to_number(input.tool.namespace) == 1`,
		"conflict":           "verdicts contains {\"id\": \"t.x\", \"behavior\": x, \"reason\": \"r\"}\nx := \"allow\" if true\nx := \"ask\" if input.phase == \"call\"",
	} {
		t.Run(name, func(t *testing.T) {
			e := load(t, operator(t, map[string]string{"t.rego": operatorHead + rule}))
			out, err := e.Decide(context.Background(), call(nil))
			if err == nil || out.Behavior != decision.Deny || ostiary.KindOf(err) != ostiary.KindPolicyError {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
}

func TestAnEndlessPolicyTimesOutAndDenies(t *testing.T) {
	cfg := operator(t, map[string]string{"t.rego": operatorHead +
		`verdicts contains {"id": "t.x", "behavior": "allow", "reason": "r"} if {
			input.tool.name == "t"
			some i in numbers.range(1, 100000)
			some j in numbers.range(1, 100000)
			i * j == -1
		}`})
	cfg.Timeout = 20 * time.Millisecond
	out, err := load(t, cfg).Decide(context.Background(), call(nil))
	if ostiary.KindOf(err) != ostiary.KindPolicyTimeout || out.Behavior != decision.Deny {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestAPolicyThatNeverAnswersIsRefusedAtStart(t *testing.T) {
	cfg := operator(t, map[string]string{"t.rego": operatorHead +
		`verdicts contains {"id": "t.x", "behavior": "allow", "reason": "r"} if {
			some i in numbers.range(1, 100000)
			some j in numbers.range(1, 100000)
			i * j == -1
		}`})
	cfg.Timeout = 5 * time.Millisecond
	if _, err := tryLoad(cfg); ostiary.KindOf(err) != ostiary.KindPolicyTimeout {
		t.Errorf("got %v", err)
	}
}

func TestABrokenPolicyIsRefusedWithFileAndLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"syntax":           {operatorHead + "verdicts contains {", "t.rego:3"},
		"unknown function": {operatorHead + `verdicts contains {"id": "a", "behavior": "ask", "reason": "r"} if nope(1)`, "t.rego:3"},
		"unsafe builtin":   {operatorHead + `verdicts contains {"id": "a", "behavior": "ask", "reason": "r"} if http.send({"method": "get", "url": "http://x"}).status_code == 200`, "t.rego:3"},
		"clock":            {operatorHead + `verdicts contains {"id": "a", "behavior": "ask", "reason": "r"} if time.now_ns() > 1`, "t.rego:3"},
		"typo in input":    {operatorHead + `verdicts contains {"id": "a", "behavior": "ask", "reason": "r"} if input.toool.name == "x"`, "t.rego:3"},
		"outside layers":   {"package elsewhere\nimport rego.v2\n", "t.rego:1"},
		"silent not":       {"package policies.operator.t\n", "t.rego:1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryLoad(operator(t, map[string]string{"t.rego": c.text}))
			if ostiary.KindOf(err) != ostiary.KindPolicyBroken || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSettingsThatDoNotFitTheirSchemaAreRefused(t *testing.T) {
	for _, settings := range []map[string]map[string]any{
		{"baseline": {"threshold_low": "high"}}, {"baseline": {"sink_mode": "never"}}, {"baseline": {"typo": 1}}, {"typo": {}},
	} {
		if _, err := tryLoad(rego.Config{Settings: settings}); ostiary.KindOf(err) != ostiary.KindConfigInvalid {
			t.Errorf("%v: got %v", settings, err)
		}
	}
}

func TestTheRevisionFollowsTheContent(t *testing.T) {
	plain := load(t, rego.Config{}).Revision()
	if again := load(t, rego.Config{}).Revision(); again != plain {
		t.Error("the same content has two revisions")
	}
	changed := load(t, rego.Config{Settings: map[string]map[string]any{"baseline": {"threshold_low": 0.7}}}).Revision()
	if changed == plain {
		t.Error("other data has the same revision")
	}
}

func TestEitherImportMakesNotSafe(t *testing.T) {
	for _, safe := range []string{"rego.v2", "future.keywords.not"} {
		e := load(t, operator(t, map[string]string{"t.rego": "package policies.operator.t\nimport " + safe + "\n" +
			`verdicts contains {"id": "t.x", "behavior": "deny", "reason": "r"} if not is_number(input.caller.confidence)`}))
		if out := decide(t, e, call(nil)); out.Behavior != decision.Deny {
			t.Errorf("%s: an absent field is skipped: %+v", safe, out)
		}
	}
}

func TestAnExceptionEndsByItself(t *testing.T) {
	now := time.Date(2027, 1, 30, 12, 0, 0, 0, time.UTC)
	list := []map[string]any{{"rule": "sinks.destructive", "tool": map[string]any{"namespace": "crm", "name": "t"}, "owner": "ann", "reason": "a sandbox", "until": "2027-01-31"}}
	e := load(t, rego.Config{Now: func() time.Time { return now }, Settings: map[string]map[string]any{"exceptions": {"list": list}}})
	destroys := call(func(in *decision.Input) { in.Tool.Annotations = tool.Risk{Destructive: true} })
	decide := func() decision.Outcome {
		out, err := e.Decide(context.Background(), destroys)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for range 2 { // the second time from memory
		if out := decide(); out.Behavior != decision.Allow || out.Verdicts[0].ID != "exception.sinks.destructive" {
			t.Errorf("%+v", out)
		}
	}
	now = now.Add(12 * time.Hour)
	if out := decide(); out.Behavior != decision.Ask {
		t.Errorf("after its end: %+v", out)
	}
	if status, _ := e.Status(); len(status.Exceptions) != 1 || status.Exceptions[0].Owner != "ann" {
		t.Errorf("%+v", status.Exceptions)
	}
}

func TestAnExceptionThatNobodyAnswersForIsRefused(t *testing.T) {
	whole := map[string]any{"rule": "sinks.destructive", "tool": map[string]any{"name": "t"}, "owner": "ann", "reason": "a sandbox", "until": "2027-01-31"}
	for name, change := range map[string]func(map[string]any){
		"no owner": func(e map[string]any) { delete(e, "owner") }, "no reason": func(e map[string]any) { e["reason"] = "" }, "no end": func(e map[string]any) { delete(e, "until") },
		"no tool": func(e map[string]any) { delete(e, "tool") }, "no such day": func(e map[string]any) { e["until"] = "2027-02-31" }, "a typo": func(e map[string]any) { e["untill"] = "x" },
		"a relative directory": func(e map[string]any) { e["below"] = []string{"testdata"} }, "no directory": func(e map[string]any) { e["below"] = []string{} },
	} {
		one := maps.Clone(whole)
		change(one)
		_, err := tryLoad(rego.Config{Settings: map[string]map[string]any{"exceptions": {"list": []map[string]any{one}}}})
		if ostiary.KindOf(err) != ostiary.KindConfigInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
