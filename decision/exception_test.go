package decision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary/decision"
	"ostiary/tool"
)

var (
	readTool = tool.Name{Namespace: "fs", Name: "read"}
	until    = time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	fixtures = decision.Exception{Rule: "secrets.file", Tool: readTool, Below: []string{"/w/testdata"}, Owner: "ann", Reason: "made-up keys", Until: until}
)

func asked(ids ...string) decision.Outcome {
	out := decision.Outcome{Behavior: decision.Ask, Spoke: true, Revision: "r"}
	for _, id := range ids {
		b := decision.Ask
		if strings.HasPrefix(id, "!") {
			b, id = decision.Deny, id[1:]
			out.Behavior = b
		}
		out.Verdicts = append(out.Verdicts, decision.Verdict{ID: id, Behavior: b, Reason: "because"})
	}
	return out
}

func reading(source tool.Source, paths ...string) *decision.Input {
	args, err := json.Marshal(map[string]any{"paths": paths})
	if err != nil {
		panic(err)
	}
	return &decision.Input{Phase: decision.PhaseCall, Args: args, Tool: decision.ToolFacts{Namespace: "fs", Name: "read", AnnotationsSource: source}, Parsed: decision.Parsed{Paths: paths, Files: paths}}
}

func TestAnExceptionLiftsItsRuleForItsToolUntilItsEnd(t *testing.T) {
	before := until.Add(-time.Second)
	for name, c := range map[string]struct {
		out  decision.Outcome
		in   *decision.Input
		now  time.Time
		want string // behavior, or nothing when nobody speaks
	}{
		"it lifts":                       {asked("secrets.file"), reading(tool.FromOperator, "/w/testdata/.env"), before, "allow"},
		"the directory itself":           {asked("secrets.file"), reading(tool.FromShipped, "/w/testdata"), before, "allow"},
		"a tool that nobody vouches for": {asked("secrets.file"), reading(tool.Undeclared, "/w/testdata/.env"), before, ""},
		"a name that begins alike":       {asked("secrets.file"), reading(tool.FromOperator, "/w/testdata2/.env"), before, "ask"},
		"one path elsewhere":             {asked("secrets.file"), reading(tool.FromOperator, "/w/testdata/.env", "/w/.env"), before, "ask"},
		"no path at all":                 {asked("secrets.file"), reading(tool.FromOperator), before, "ask"},
		"at its end":                     {asked("secrets.file"), reading(tool.FromOperator, "/w/testdata/.env"), until, "ask"},
		"another rule":                   {asked("secrets.store"), reading(tool.FromOperator, "/w/testdata/.env"), before, "ask"},
		"beside another rule":            {asked("secrets.file", "session.budget"), reading(tool.FromOperator, "/w/testdata/.env"), before, "ask"},
		"a deny is absolute":             {asked("!secrets.file"), reading(tool.FromOperator, "/w/testdata/.env"), before, "deny"},
		"beside a deny":                  {asked("!paths.own_state", "secrets.file"), reading(tool.FromOperator, "/w/testdata/.env"), before, "deny"},
	} {
		verdicts := len(c.out.Verdicts)
		got := decision.Except(c.out, []decision.Exception{fixtures}, c.in, c.now)
		if behavior := got.Behavior.String(); got.Spoke != (c.want != "") || got.Spoke && behavior != c.want || got.Revision != "r" {
			t.Errorf("%s: %+v", name, got)
		}
		if len(c.out.Verdicts) != verdicts || c.out.Verdicts[0].Reason != "because" {
			t.Errorf("%s: the verdicts of others were changed", name)
		}
	}
	for name, change := range map[string]func(*decision.Input){
		"a path that the caller's directory completes": func(in *decision.Input) { in.Args = []byte(`{"paths":[".env"]}`) },
		"a shell command":     func(in *decision.Input) { in.Parsed.Commands = []decision.Command{{Name: "cat"}} },
		"what cannot be read": func(in *decision.Input) { in.Parsed.Unparsable = true },
	} {
		in := reading(tool.FromOperator, "/w/testdata/.env")
		change(in)
		if got := decision.Except(asked("secrets.file"), []decision.Exception{fixtures}, in, before); got.Behavior != decision.Ask {
			t.Errorf("%s: %+v", name, got)
		}
	}
	hooked := reading(tool.FromShipped, "/w/testdata/.env")
	hooked.Caller.Profile = "hook"
	if got := decision.Except(asked("secrets.file"), []decision.Exception{fixtures}, hooked, before); got.Spoke {
		t.Errorf("behind a hook: %+v", got)
	}
	other := reading(tool.FromOperator, "/w/testdata/.env")
	other.Tool.Name = "write"
	if got := decision.Except(asked("secrets.file"), []decision.Exception{fixtures}, other, before); got.Behavior != decision.Ask {
		t.Errorf("another tool: %+v", got)
	}
	got := decision.Except(asked("secrets.file"), []decision.Exception{fixtures}, reading(tool.FromOperator, "/w/testdata/.env"), before)
	if want := "secrets.file is excepted for this tool until 2027-01-31, says ann: made-up keys"; got.Verdicts[0].Reason != want || got.Verdicts[0].ID != "exception.secrets.file" {
		t.Errorf("%+v", got.Verdicts)
	}
}
