package rego

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"ostiary/decision"
	"ostiary/decision/rego/document"
	"ostiary/policies"
	"ostiary/tool"
)

// loadWith returns an engine over the shipped policies and one operator's rule body.
func loadWith(t testing.TB, rules string) *Engine {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.rego"), []byte("package policies.operator.t\nimport rego.v2\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Load(context.Background(), Config{Shipped: policies.FS, OperatorDir: dir, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// reads lists the places that a package reads, as paths with dots.
func (s *snapshot) readsOf(name string) []string {
	var out []string
	for _, p := range s.packs {
		if p.name != name {
			continue
		}
		for _, i := range p.reads {
			out = append(out, strings.Join(s.fields[i].Path, "."))
		}
	}
	slices.Sort(out)
	return out
}

const verdict = `verdicts contains {"id": "t.x", "behavior": "ask", "reason": "r"} if `

func TestWhatAPackageReadsIsFoundHoweverItIsWritten(t *testing.T) {
	annotations := []string{"tool.annotations.destructive", "tool.annotations.idempotent", "tool.annotations.open_world", "tool.annotations.read_only", "tool.annotations.sensitive_sink"}
	for name, c := range map[string]struct {
		rules string
		want  []string // nil: everything
	}{
		"a plain reference":        {verdict + `input.tool.name == "t"`, []string{"tool.name"}},
		"through a variable":       {verdict + "{\n x := input.tool.annotations\n x.read_only }", annotations},
		"a step known at run time": {verdict + `input.tool.annotations[input.caller.profile]`, append([]string{"caller.profile"}, annotations...)},
		"a helper's":               {verdict + "helper\nhelper if input.caller.agent == \"x\"", []string{"caller.agent"}},
		"a function's":             {verdict + "f(1)\nf(_) if input.caller.agent == \"x\"", []string{"caller.agent"}},
		"in a comprehension":       {verdict + `count([p | some p in input.parsed.paths]) > 1`, []string{"parsed.paths"}},
		"in a negation":            {verdict + `not input.request.known`, []string{"request.known"}},
		"in a reason":              {`verdicts contains {"id": "t.x", "behavior": "ask", "reason": input.tool.name}`, []string{"tool.name"}},
		"another package's":        {verdict + `data.policies.baseline.result.verdicts`, []string{"phase", "result.findings"}},
		"below the arguments":      {verdict + `input.args.a.b == 1`, []string{"args.a.b"}},
		"an argument's element":    {verdict + `input.args.list[0] == 1`, []string{"args.list"}},
		"every argument":           {verdict + `{ some _, v in input.args; v == 1 }`, []string{"args"}},
		"an argument, and all":     {verdict + `{ input.args.a == 1; count(input.args) > 1 }`, []string{"args"}},
		"the whole document":       {verdict + `count(input) > 100`, nil},
		"a walk":                   {verdict + `{ some p, v; walk(input, [p, v]); v == "x" }`, nil},
		"a lookup":                 {verdict + `object.get(input, ["tool", "name"], "") == "x"`, nil},
		"an unknown package's":     {verdict + `{ some l; count(data.policies.baseline[l]) == 100 }`, []string{"phase"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadWith(t, c.rules).current.Load()
			got := s.readsOf("operator.t")
			if slices.Sort(c.want); name == "an unknown package's" {
				if len(got) < 15 || !slices.Contains(got, "provenance.args") {
					t.Errorf("got %q, want what all packages read", got)
				}
				return
			}
			if c.want == nil {
				if len(got) != len(document.Fields())+1 {
					t.Errorf("got %q, want everything", got)
				}
				return
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestEveryMemberOfTheInputHasAField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		s := &snapshot{fields: append(document.Fields(), document.Args())}
		all := make([]int, len(s.fields))
		for i := range all {
			all[i] = i
		}
		got, err := document.NewValues(&in, s.fields).Project(all)
		if err != nil {
			t.Fatal(err)
		}
		want, err := document.Whole(&in)
		if err != nil {
			t.Fatal(err)
		}
		for _, empty := range []string{"evidence", "result"} { // an object of which no member is there
			if o := want.(ast.Object).Get(ast.StringTerm(empty)); o != nil && o.Value.(ast.Object).Len() == 0 {
				t.Fatalf("%s has no members", empty)
			}
		}
		if got.Compare(want) != 0 {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestRememberedAnswersAreTheWholeEvaluations(t *testing.T) {
	e := loadWith(t, `verdicts contains {"id": "t.amount", "behavior": "deny", "reason": sprintf("%v is too much", [input.args.a])} if input.args.a > 2
verdicts contains {"id": "t.deep", "behavior": "ask", "reason": "deep"} if input.args.o.k == "v"
verdicts contains {"id": "t.night", "behavior": "ask", "reason": "night"} if not input.clock.work_hours`)
	whole := e.current.Load()
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		want, err := whole.evaluateWhole(context.Background(), &in)
		if err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"at first", "again"} {
			got, err := e.Decide(context.Background(), in)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got  %+v, %v\nwant %+v", when, got, err, want)
			}
		}
	})
	m := e.current.Load().memo
	if m.hits.Load() == 0 || m.partHits.Load() == 0 || m.off.Load() {
		t.Errorf("the memo was not used: %d, %d, off %v", m.hits.Load(), m.partHits.Load(), m.off.Load())
	}
}

// inputs draws input documents of few values, so that many are alike.
func inputs() *rapid.Generator[decision.Input] {
	return rapid.Custom(func(t *rapid.T) decision.Input {
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		word := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
		words := func(name string, of ...string) []string {
			return rapid.SliceOfN(rapid.SampledFrom(of), 0, 2).Draw(t, name)
		}
		in := decision.Input{
			Phase: decision.Phase(word("phase", "call", "result", "list", "conclusion")),
			Tool: decision.ToolFacts{Namespace: word("ns", "a", ""), Name: word("name", "t", "ü"), DefinitionDigest: word("digest", "", "d"), Drifted: flag("drifted"),
				AnnotationsSource: tool.Source(word("from", "operator", "none", "shipped")),
				Annotations:       tool.Risk{ReadOnly: flag("ro"), Idempotent: flag("id"), Destructive: flag("de"), OpenWorld: flag("ow"), SensitiveSink: flag("si")}},
			Args:    jsontext.Value(word("args", `{}`, `{"a":1}`, `{"a":3}`, `{"a":3.0}`, `{"a":9007199254740993,"b":[1]}`, `{"o":{"k":"v"},"a":null}`, `{"o":[{"k":"v"}]}`, ``)),
			Caller:  decision.Caller{Agent: word("agent", "x", "y"), Tenant: word("tenant", "default", "t2"), Profile: word("profile", "api", "hook"), Verdict: word("verdict", "", "uncertain"), ReportsConfidence: flag("reports")},
			Session: decision.SessionFacts{Tainted: flag("tainted"), ErrorStreak: rapid.IntRange(0, 4).Draw(t, "streak"), IterationOver: flag("over"), OverBudget: flag("budget"), Carried: flag("carried")},
			Request: decision.RequestFacts{Known: flag("known")},
			Parsed:  decision.Parsed{Paths: words("paths", "/a", "/home/u/.claude/settings.json"), Hosts: words("hosts", "h")},
			Clock:   decision.Clock{MinuteOfWeek: rapid.IntRange(0, 2).Draw(t, "minute"), WorkHours: flag("work")},
		}
		in.Parsed.Files, in.Parsed.Unparsable = words("files", "/a", "/w/.env"), flag("unparsable")
		in.Parsed.SQL = decision.SQL{Verbs: words("verbs", "drop", "select"), Multi: flag("multi"), Unbounded: flag("unbounded"), Unparsable: flag("no sql")}
		for _, name := range words("commands", "git", "", "rm") {
			in.Parsed.Commands = append(in.Parsed.Commands, decision.Command{Name: name, Args: words("words", "push", "--force", "-rf"), Dynamic: flag("dynamic"), Via: word("via", "plain", "pipe"),
				Redirects: []decision.Redirect{{Op: word("op", ">", ">>"), Path: word("redirect", "/a", "")}}[:len(in.Parsed.Files)/2]})
		}
		for _, l := range words("labels", "untrusted", "injection_suspected") {
			in.Session.Labels = append(in.Session.Labels, tool.Label(l))
		}
		if flag("confident") {
			c := rapid.SampledFrom([]float64{0, 0.5, 0.8, 1}).Draw(t, "confidence")
			in.Caller.Confidence = &c
		}
		if flag("evidence") {
			in.Evidence = &decision.Evidence{Status: word("status", "ok", "degraded"), Warnings: words("warnings", "text_only", "w")}
		}
		if flag("result") {
			in.Result = &decision.ResultFacts{Status: tool.OK, Findings: map[string]int{"pii": rapid.SampledFrom([]int{0, 50}).Draw(t, "pii")}}
		}
		for i, origin := range words("origins", "user", "untrusted", "model") {
			in.Provenance.Args = append(in.Provenance.Args, decision.ArgOrigin{Pointer: "/" + string(rune('a'+i)), Role: word("role", "url", "text"), Origin: decision.Origin(origin), Source: word("source", "", "inv")})
		}
		return in
	})
}
