package policies_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/enforce/parse"
	"ostiary/internal/strictjson"
	"ostiary/policies"
	"ostiary/tool"
)

// risks are the tools of a coding agent as the registry resolves them (tool/registry/builtin).
var risks = map[string]tool.Risk{
	"Bash": {Destructive: true, OpenWorld: true, SensitiveSink: true}, "Write": {Idempotent: true, Destructive: true}, "Edit": {},
	"Read": {ReadOnly: true, Idempotent: true}, "Grep": {ReadOnly: true, Idempotent: true}, "Glob": {ReadOnly: true, Idempotent: true},
}

// coding turns a line of testdata into the input document of a call behind a hook: a shell command, or @Tool path content.
func coding(t testing.TB, text string) decision.Input {
	t.Helper()
	name, args := "Bash", map[string]string{"command": text}
	if rest, ok := strings.CutPrefix(text, "@"); ok {
		var words string
		name, words, _ = strings.Cut(rest, " ")
		path, content, _ := strings.Cut(words, " ")
		args = map[string]map[string]string{
			"Read": {"file_path": path}, "Edit": {"file_path": path, "old_string": "x", "new_string": content}, "Write": {"file_path": path, "content": content},
			"Grep": {"pattern": path, "path": "src"}, "Glob": {"pattern": path},
		}[name]
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := strictjson.Leaves(raw)
	if err != nil {
		t.Fatal(err)
	}
	of := tool.Name{Namespace: "claude-code", Name: name}
	parsed, err := parse.Arguments(of, leaves, tool.RoleOf, "/home/ann/proj")
	if err != nil {
		t.Fatal(err)
	}
	in := decision.Input{
		Phase: decision.PhaseCall, Args: raw, Parsed: parsed,
		Tool:    decision.ToolFacts{Namespace: of.Namespace, Name: of.Name, Annotations: risks[name], AnnotationsSource: tool.FromShipped},
		Caller:  decision.Caller{Agent: "ann", Tenant: "default", Profile: "hook"},
		Request: decision.RequestFacts{Known: true},
	}
	for _, l := range leaves {
		in.Provenance.Args = append(in.Provenance.Args, decision.ArgOrigin{Pointer: l.Pointer, Role: string(tool.RoleOf(l.Pointer)), Origin: decision.OriginModel})
	}
	return in
}

// lines reads a file of cases. A case begins at the start of a line; the lines of a heredoc, and those that begin with a tab, belong to it.
func lines(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	until := ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if until != "" || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, ")") {
			out[len(out)-1] += "\n" + line
			if line == until {
				until = ""
			}
			continue
		}
		out = append(out, line)
		for _, mark := range []string{"E", "MSG"} {
			if strings.Contains(line, "<<'"+mark+"'") {
				until = mark
			}
		}
	}
	return out
}

func engine(t testing.TB) *rego.Engine {
	t.Helper()
	t.Setenv("HOME", "/home/ann")
	e, err := rego.Load(context.Background(), rego.Config{Shipped: policies.FS, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// maxInterrupted is the share of ordinary calls that may ask.
const maxInterrupted = 0.02

func TestADayOfOrdinaryCodingIsHardlyInterrupted(t *testing.T) {
	e := engine(t)
	cases := lines(t, "testdata/ordinary.txt")
	interrupted := 0
	for _, c := range cases {
		out, err := e.Decide(context.Background(), coding(t, c))
		if err != nil {
			t.Fatal(err)
		}
		if out.Behavior < decision.Allow && out.Spoke {
			interrupted++
			t.Logf("%s: %s", c, out.Verdicts[0].ID)
		}
	}
	rate := float64(interrupted) / float64(len(cases))
	t.Logf("%d of %d ordinary calls interrupted: %.1f %%", interrupted, len(cases), 100*rate)
	if len(cases) < 150 || rate > maxInterrupted {
		t.Errorf("of %d calls, want at least 150, %.1f %% ask, want at most %.0f %%", len(cases), 100*rate, 100*maxInterrupted)
	}
}

func TestRiskyCodingCallsAsk(t *testing.T) {
	e := engine(t)
	cases := lines(t, "testdata/risky.txt")
	caught := map[string]int{}
	for _, c := range cases {
		rule, text, _ := strings.Cut(c, "\t")
		out, err := e.Decide(context.Background(), coding(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(out.Verdicts, func(v decision.Verdict) bool { return v.ID == rule && v.Behavior <= decision.Ask }) {
			t.Errorf("%s: %s is silent, got %v", text, rule, out.Verdicts)
			continue
		}
		caught[rule]++
	}
	for _, r := range shipped(t) {
		if r.pack == "pack_coding" && caught[r.id] == 0 {
			t.Errorf("no risky call for %s", r.id)
		}
	}
	t.Logf("%d risky calls, of %d rules", len(cases), len(caught))
}
