package whatif

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/decision/workbench/reading"
	"ostiary/policies"
	"ostiary/tool"
)

const head = "package policies.operator.t\n\nimport rego.v2\n\n"

func verdict(id, behavior, body string) string {
	return `verdicts contains {"id": "` + id + `", "behavior": "` + behavior + "\", \"reason\": \"r\"} if {\n" + body + "\n}\n"
}

// lab opens the shipped policies with one file of an operator's beside them.
func lab(t *testing.T, rules string) *Lab {
	t.Helper()
	cfg := rego.Config{Shipped: policies.FS}
	if rules != "" {
		cfg.OperatorDir = t.TempDir()
		if err := os.WriteFile(filepath.Join(cfg.OperatorDir, "t.rego"), []byte(head+rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// call is a declared read, which the baseline allows.
func call(change func(*decision.Input)) decision.Input {
	in := decision.Input{
		Phase:  decision.PhaseCall,
		Tool:   decision.ToolFacts{Namespace: "crm", Name: "find", AnnotationsSource: tool.FromOperator, Annotations: tool.Risk{ReadOnly: true}},
		Args:   Value(`{}`),
		Caller: decision.Caller{Agent: "a", Tenant: "default", Profile: "api"},
	}
	if change != nil {
		change(&in)
	}
	return in
}

func quietly(uint64, uint64) {}

func explain(t *testing.T, rules string, in decision.Input) Explanation {
	t.Helper()
	e, err := lab(t, rules).Explain(t.Context(), in, quietly)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// changes lists them as "behavior: place=value and place=value".
func changesOf(e Explanation) []string {
	var out []string
	for _, c := range e.Changes {
		var parts []string
		for _, f := range c.Fields {
			parts = append(parts, f.Path+"="+reading.Show(f.To))
		}
		out = append(out, c.Behavior.String()+": "+strings.Join(parts, " and "))
	}
	return out
}

func TestExplainSaysWhyAndWhatElse(t *testing.T) {
	e := explain(t, "# METADATA\n# title: Big sums\n"+verdict("t.much", "deny", "\tis_number(input.args.amount)\n\tinput.args.amount > 100"),
		call(func(in *decision.Input) { in.Args = Value(`{"amount":500}`) }))
	if e.Behavior != decision.Deny || e.Source != "policy" || len(e.Rules) != 2 {
		t.Fatalf("%+v", e)
	}
	if r := e.Rules[0]; r.ID != "t.much" || !r.Decided || r.Title != "Big sums" || r.Line != 7 || filepath.Base(r.File) != "t.rego" {
		t.Errorf("%+v", r)
	}
	if r := e.Rules[1]; r.ID != "tools.read_only" || r.Decided {
		t.Errorf("%+v", r)
	}
	got := changesOf(e)
	for _, want := range []string{"allow: args.amount=absent", "allow: args.amount=100", "allow: args.amount=null"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if slices.Contains(got, "allow: args.amount=101") || e.Tried < 50 {
		t.Errorf("%d: %q", e.Tried, got)
	}
	if i := slices.IndexFunc(e.Reads, func(r Reading) bool { return r.Path == "args.amount" }); i < 0 || string(e.Reads[i].Value) != "500" {
		t.Errorf("%+v", e.Reads)
	}
}

func TestExplainFlipsFlagsLabelsAndOrigins(t *testing.T) {
	e := explain(t, "", call(func(in *decision.Input) {
		in.Provenance.Args = []decision.ArgOrigin{{Pointer: "/a", Role: "url", Origin: decision.OriginUntrusted}, {Pointer: "/b", Role: "text", Origin: decision.OriginModel}}
	}))
	got := changesOf(e)
	for place, want := range map[string]bool{
		"ask: tool.annotations.destructive=true": true, "ask: tool.annotations.read_only=false": true, "ask: caller.confidence=0.79": true, "ask: caller.confidence=0.8": false,
		"ask: session.error_streak": false, "deny: parsed.paths": false, // a read is not judged by these
	} {
		if has := slices.ContainsFunc(got, func(s string) bool { return s == place || strings.HasPrefix(s, place+"=") }); has != want {
			t.Errorf("%q: %v in %q", place, has, got)
		}
	}
}

func TestExplainTriesPairsWhenNoSinglePlaceLoosens(t *testing.T) {
	// Two rules ask, each for a reason of its own.
	e := explain(t, verdict("t.a", "ask", "\tinput.caller.agent == \"a\"")+"\n"+verdict("t.b", "ask", "\tinput.tool.name == \"find\""), call(nil))
	if e.Behavior != decision.Ask {
		t.Fatalf("%+v", e)
	}
	found := false
	for _, c := range e.Changes {
		found = found || c.Behavior == decision.Allow && len(c.Fields) == 2
	}
	if !found {
		t.Errorf("%q", changesOf(e))
	}
}

func TestExplainSaysWhenNothingWouldChangeTheAnswer(t *testing.T) {
	e := explain(t, verdict("t.never", "deny", "\ttrue"), call(nil))
	if e.Behavior != decision.Deny || len(e.Changes) != 0 || e.Tried == 0 {
		t.Errorf("%d %q", e.Tried, changesOf(e))
	}
}

func TestExplainTellsSilenceAndFailure(t *testing.T) {
	hook := call(func(in *decision.Input) { in.Caller.Profile = "hook" })
	if e := explain(t, "", hook); e.Behavior != decision.Passthrough || e.Source != "default" {
		t.Errorf("%+v", e)
	}
	e := explain(t, verdict("t.x", "ask", "\tto_number(input.args.n) == 1"), call(func(in *decision.Input) { in.Args = Value(`{"n":"abc"}`) }))
	if e.Behavior != decision.Deny || e.Source != "error" || !strings.Contains(e.Error, "to_number") {
		t.Errorf("%+v", e)
	}
}

func replay(t *testing.T, rules string, lines ...string) (ReplayReport, error) {
	t.Helper()
	return lab(t, rules).Replay(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), quietly)
}

func record(t *testing.T, in decision.Input, behavior string) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{"input": in, "behavior": behavior}, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

func TestReplayGroupsFlipsAndPutsTheWiderFirst(t *testing.T) {
	var lines []string
	for i := range 40 {
		in := call(func(in *decision.Input) {
			in.Args = Value(`{"to":"` + strings.Repeat("x", i) + `"}`)
			in.Tool.Name = []string{"find", "other"}[i%2]
		})
		behavior := "allow"
		if i == 7 { // some rule that is no more denied this one
			behavior = "deny"
		}
		lines = append(lines, record(t, in, behavior))
	}
	r, err := replay(t, verdict("t.find", "ask", "\tinput.tool.name == \"find\"\n\tinput.args.to != \"y\""), lines...)
	if err != nil {
		t.Fatal(err)
	}
	if r.Replayed != 40 || r.Flipped != 21 || r.Widened != 1 || r.Failed != 0 || len(r.Kinds) != 2 {
		t.Fatalf("%+v", r)
	}
	if k := r.Kinds[0]; !k.Widened || k.Was != decision.Deny || k.Now != decision.Allow || k.Line != 8 || k.Count != 1 || !slices.Equal(k.Rules, []string{"tools.read_only"}) {
		t.Errorf("%+v", k)
	}
	if k := r.Kinds[1]; k.Widened || k.Now != decision.Ask || k.Count != 20 || k.Line != 1 || len(k.Differ) != 1 || k.Differ[0] != (Spread{"args.to", 20}) || !strings.Contains(string(k.Example), `"find"`) {
		t.Errorf("%+v", k)
	}
	for _, k := range r.Kinds {
		if i := slices.IndexFunc(k.Alike, func(a Reading) bool { return a.Path == "tool.name" }); i < 0 {
			t.Errorf("%+v does not name the tool", k)
		}
	}
}

func TestReplayCountsFailuresAsDenials(t *testing.T) {
	r, err := replay(t, verdict("t.x", "ask", "\tto_number(input.args.n) == 1"), record(t, call(func(in *decision.Input) { in.Args = Value(`{"n":"abc"}`) }), "allow"))
	if err != nil || r.Failed != 1 || r.Flipped != 1 || r.Kinds[0].Now != decision.Deny || r.Kinds[0].Rules[0] != "policy_error" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReplayRefusesALineThatItCannotRead(t *testing.T) {
	good := record(t, call(nil), "allow")
	for name, c := range map[string]struct{ line, want string }{
		"broken":       {`{"input":`, "line 3"},
		"unknown":      {strings.Replace(good, `"tool":{`, `"tool":{"nmae":"x",`, 1), "nmae"},
		"twice":        {strings.Replace(good, `"phase":`, `"phase":"call","phase":`, 1), "line 3"},
		"no behavior":  {`{"input":{"phase":"call","caller":{"profile":"api"}}}`, "input or behavior is missing"},
		"no input":     {`{"behavior":"deny"}`, "input or behavior is missing"},
		"other word":   {record(t, call(nil), "maybe"), "line 3"},
		"other phase":  {record(t, call(func(in *decision.Input) { in.Phase = "cal" }), "allow"), `phase is "cal"`},
		"no such host": {record(t, call(func(in *decision.Input) { in.Caller.Profile = "x" }), "allow"), "profile"},
	} {
		if _, err := replay(t, "", good, "", c.line); err == nil || ostiary.KindOf(err) != ostiary.KindConfigInvalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
