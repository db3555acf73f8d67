package workbench_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/rego"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/decision/workbench"
	"ostiary/tool"
)

// found lists the ids and lines of lint's findings, but those of a missing test or title unless these are asked for.
func found(t *testing.T, text string, also ...string) []string {
	t.Helper()
	r, err := open(t, map[string]string{"t.rego": text}).Lint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range r.Findings {
		if quiet := f.ID == "untested" || f.ID == "no-title"; !quiet || slices.Contains(also, f.ID) {
			out = append(out, f.ID+" "+itoa(f.Line))
		}
		if f.Message == "" || f.Fix == "" || f.Line == 0 {
			t.Errorf("%+v says too little", f)
		}
	}
	return out
}

func verdict(behavior, body string) string {
	return head + `verdicts contains {"id": "t.x", "behavior": "` + behavior + "\", \"reason\": \"r\"} if {\n\tinput.phase == \"call\"\n\t" + body + "\n}\n"
}

func TestEachLintFindsItsTrapAndNothingElse(t *testing.T) {
	vouched := "\n\tinput.tool.annotations_source in {\"operator\", \"shipped\"}"
	cases := map[string]struct {
		text string
		want string // empty: nothing
	}{
		"no import":                      {"package policies.operator.t\n\nverdicts contains {\"id\": \"t.x\", \"behavior\": \"ask\", \"reason\": \"r\"} if input.phase == \"call\"\n", "import-v2 1"},
		"another layer":                  {strings.Replace(verdict("ask", "true"), "policies.operator.t", "policies.operator.t.eu", 1), "id-prefix 5,layer 1"},
		"a bare number":                  {verdict("deny", "input.args.amount > 100"), "args-number 7"},
		"a bare number by another name":  {verdict("deny", "n := input.args.amount\n\t100 < n"), "args-number 8"},
		"each of a list":                 {verdict("deny", "some n in input.args.list\n\tn >= 3"), "args-number 8"},
		"a guarded number":               {verdict("deny", "is_number(input.args.amount)\n\tinput.args.amount > 100"), ""},
		"a guarded name":                 {verdict("deny", "n := input.args.amount\n\tis_number(n)\n\tn > 100"), ""},
		"a number of the schema":         {verdict("ask", "input.session.error_streak > 1"), ""},
		"a count":                        {verdict("ask", "count(input.args.list) > 1"), ""},
		"a conversion":                   {verdict("deny", "to_number(input.args.n) == 1"), "builtin-may-fail 7"},
		"a conversion inside":            {verdict("deny", "json.unmarshal(input.args.n).a == 1"), "builtin-may-fail 7"},
		"a conversion of a name":         {verdict("deny", "s := input.args.n\n\tto_number(s) == 1"), "builtin-may-fail 8"},
		"a guarded conversion":           {verdict("deny", "json.is_valid(input.args.n)\n\tjson.unmarshal(input.args.n) == 1"), ""},
		"a matched conversion":           {verdict("deny", "regex.match(`^[0-9]+$`, input.args.n)\n\tto_number(input.args.n) == 1"), ""},
		"the clock":                      {verdict("ask", "time.now_ns() > 1"), "impure-builtin 7"},
		"the network":                    {verdict("ask", "http.send({\"method\": \"get\", \"url\": \"http://x\"}).status_code == 200"), "impure-builtin 7"},
		"a schema of its own":            {"# METADATA\n# schemas:\n#   - input: {type: object}\n" + verdict("ask", "true"), "schema-annotation 1"},
		"an allow":                       {verdict("allow", "input.tool.name == \"x\""), "allow-unvouched 5"},
		"an allow of a server's":         {verdict("allow", "input.tool.annotations_source != \"none\""), "allow-unvouched 5"},
		"an allow of too many":           {verdict("allow", "input.tool.annotations_source in {\"operator\", \"server\"}"), "allow-unvouched 5"},
		"a vouched allow":                {verdict("allow", "true"+vouched), ""},
		"an allow of conclusions":        {verdict("allow", "input.phase == \"conclusion\""), ""},
		"an allow of all but those":      {verdict("allow", "not input.phase == \"conclusion\""), "allow-unvouched 5"},
		"a negated body":                 {verdict("allow", "not { input.phase == \"conclusion\" }"), "allow-unvouched 5"},
		"a comparison that is negated":   {verdict("allow", "x := input.phase == \"conclusion\"\n\tnot x"), "allow-unvouched 5"},
		"one within a comprehension":     {verdict("allow", "x := [1 | input.phase == \"conclusion\"]\n\tcount(x) == 0"), "allow-unvouched 5"},
		"a source that is negated":       {verdict("allow", "not input.tool.annotations_source == \"operator\""), "allow-unvouched 5"},
		"an allow that a helper vouches": {verdict("allow", "ours") + "\nours if input.tool.annotations_source == \"operator\"\n", ""},
		"a path":                         {verdict("deny", "startswith(input.args.file_path, \"/etc\")"), "args-path 7"},
		"a parsed path":                  {verdict("deny", "some p in input.parsed.paths\n\tstartswith(p, \"/etc\")"), ""},
		"another id":                     {strings.Replace(verdict("ask", "true"), "t.x", "mail.x", 1), "id-prefix 5"},
		"an id by custom":                {"# METADATA\n# custom:\n#   id_prefix: mail.\n" + strings.Replace(verdict("ask", "true"), "t.x", "mail.x", 1), ""},
		"an id twice":                    {verdict("ask", "true") + "\nverdicts contains {\"id\": \"t.x\", \"behavior\": \"deny\", \"reason\": \"r\"} if input.phase == \"result\"\n", "id-unique 10,id-unique 5"},
		"an id of the baseline":          {strings.NewReplacer("operator.t", "operator.tools", "t.x", "tools.undeclared").Replace(verdict("ask", "true")), "id-unique 5"},
		"no phase":                       {strings.Replace(verdict("ask", "true"), "input.phase == \"call\"", "true", 1), "no-phase 5"},
		"a phase in a helper":            {strings.Replace(verdict("ask", "true"), "input.phase == \"call\"", "calls", 1) + "\ncalls if input.phase == \"call\"\n", ""},
		"another set":                    {strings.Replace(verdict("ask", "true"), "verdicts contains", "verdict contains", 1), "unheard 1"},
		"all of the input":               {verdict("ask", "count(input) > 3"), "whole-input 7"},
		"a step at run time":             {verdict("ask", "some k\n\tinput[k] == 3"), "whole-input 8"},
		"a walk":                         {verdict("ask", "walk(input, [_, \"x\"])"), "whole-input 7"},
		"no Rego":                        {head + "verdicts contains {", "parse 5"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := found(t, c.text)
			slices.Sort(got)
			if strings.Join(got, ",") != c.want {
				t.Errorf("got %q, want %q\n%s", got, c.want, c.text)
			}
		})
	}
}

func TestAVerdictWantsATitleAndATest(t *testing.T) {
	text := verdict("ask", "true")
	if got := found(t, text, "untested", "no-title"); !slices.Equal(got, []string{"no-title 5", "untested 5"}) {
		t.Errorf("%q", got)
	}
	r, err := open(t, map[string]string{"t.rego": "# METADATA\n# title: T\n" + text,
		"t_test.rego": head + "test_x if count(verdicts) == 1 with input as {\"phase\": \"call\"}\n"}).Lint(t.Context())
	if err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
	// A test that hears nothing is none.
	r, err = open(t, map[string]string{"t.rego": "# METADATA\n# title: T\n" + text,
		"t_test.rego": head + "test_x if count(verdicts) == 0 with input as {\"phase\": \"result\"}\n"}).Lint(t.Context())
	if err != nil || !slices.Equal(said(r), []string{"t.rego:7 untested"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAFindingIsSilencedByAReasonAlone(t *testing.T) {
	with := func(comment string) string {
		return strings.Replace(verdict("deny", "input.args.amount > 100"), "\tinput.args", "\t"+comment+"\n\tinput.args", 1)
	}
	for comment, want := range map[string]string{
		"# ostiary:ignore args-number the schema wants a number":                      "",
		"# ostiary:ignore args-number the schema wants a number\n\t# and says so":     "",
		"# ostiary:ignore args-number":                                                "args-number 8,ignore 7",
		"# ostiary:ignore args-path wrong id":                                         "args-number 8,ignore 7",
		"# ostiary:ignore":                                                            "args-number 8,ignore 7",
		"# ostiary:ignore args-number the schema wants a number\n\tinput.args.b == 1": "args-number 9,ignore 7",
	} {
		got := found(t, with(comment))
		slices.Sort(got)
		if strings.Join(got, ",") != want {
			t.Errorf("%q: got %q, want %q", comment, got, want)
		}
	}
}

func TestEveryLintIsListedOnce(t *testing.T) {
	ids := map[string]bool{}
	for _, l := range workbench.Lints() {
		if ids[l.ID] || l.About == "" {
			t.Errorf("%+v", l)
		}
		ids[l.ID] = true
	}
	if len(ids) < 15 {
		t.Errorf("%d lints", len(ids))
	}
}

// decide asks the engine with the rules of t.rego, and says what they do to a call.
func decide(t *testing.T, text, args string) (decision.Outcome, error) {
	t.Helper()
	cfg := config(t, map[string]string{"t.rego": text})
	cfg.Timeout = 10 * time.Second
	e, err := rego.Load(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e.Decide(t.Context(), decision.Input{Phase: decision.PhaseCall, Args: []byte(args),
		Tool:   decision.ToolFacts{Namespace: "n", Name: "x", AnnotationsSource: tool.FromServer, Annotations: tool.Risk{ReadOnly: true}},
		Caller: decision.Caller{Agent: "a", Tenant: "default", Profile: "hook"}})
}

// The traps are real: without the lint, each of these does what its author did not mean.
func TestWhatTheTrapsDo(t *testing.T) {
	t.Run("import-v2", func(t *testing.T) {
		eval := func(imports string) int {
			rs, err := opa.New(opa.Query("count(data.t.deny)"), opa.SetRegoVersion(ast.RegoV1), opa.Module("t.rego", "package t\n"+imports+"\ndeny contains 1 if not is_number(input.amount)\n"), opa.Input(map[string]any{})).Eval(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n, _ := rs[0].Expressions[0].Value.(interface{ Int64() (int64, error) }).Int64()
			return int(n)
		}
		if eval("") != 0 || eval("import rego.v2") != 1 {
			t.Errorf("without the import %d denials, with it %d", eval(""), eval("import rego.v2"))
		}
	})
	t.Run("args-number", func(t *testing.T) {
		for args, want := range map[string]bool{`{"amount":101}`: true, `{"amount":true}`: false, `{"amount":null}`: false} {
			if out, err := decide(t, verdict("deny", "input.args.amount > 100"), args); err != nil || out.Spoke != want {
				t.Errorf("%s: %v, %v", args, out.Behavior, err)
			}
		}
	})
	t.Run("builtin-may-fail", func(t *testing.T) {
		if out, err := decide(t, verdict("ask", "to_number(input.args.n) == 1"), `{"n":"abc"}`); ostiary.KindOf(err) != ostiary.KindPolicyError || out.Behavior != decision.Deny {
			t.Errorf("%v, %v", out.Behavior, err)
		}
	})
	t.Run("impure-builtin", func(t *testing.T) {
		if _, err := rego.Load(t.Context(), config(t, map[string]string{"t.rego": verdict("ask", "time.now_ns() > 1")})); ostiary.KindOf(err) != ostiary.KindPolicyBroken {
			t.Errorf("%v", err)
		}
	})
	t.Run("schema-annotation", func(t *testing.T) {
		text := strings.Replace(verdict("ask", "input.tool.nmae"), "verdicts contains", "# METADATA\n# schemas:\n#   - input: {type: object}\nverdicts contains", 1)
		if _, err := rego.Load(t.Context(), config(t, map[string]string{"t.rego": text})); err == nil {
			t.Error("a schema of the rule's own opened the closed one")
		}
	})
	t.Run("allow-unvouched", func(t *testing.T) {
		if out, err := decide(t, verdict("allow", "input.tool.annotations.read_only"), `{}`); err != nil || out.Behavior != decision.Allow {
			t.Errorf("%v, %v", out.Behavior, err)
		}
	})
	t.Run("args-path", func(t *testing.T) {
		if out, err := decide(t, verdict("deny", "startswith(input.args.path, \"/etc/\")"), `{"path":"/tmp/../etc/shadow"}`); err != nil || out.Spoke {
			t.Errorf("%v, %v", out.Behavior, err)
		}
	})
	t.Run("unheard", func(t *testing.T) {
		if out, err := decide(t, strings.Replace(verdict("deny", "true"), "verdicts contains", "verdict contains", 1), `{}`); err != nil || out.Spoke {
			t.Errorf("%v, %v", out, err)
		}
	})
}
