package draft_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/decision/rego"
	"ostiary/decision/workbench/draft"
	"ostiary/policies"
)

const rule = `package policies.operator.mail

import rego.v2

verdicts contains {"id": "mail.never", "behavior": "deny", "reason": "no mail today"} if input.tool.namespace == "mail"
`

const ruleTest = `package policies.operator.mail_test

import data.policies.operator.mail
import rego.v2

test_mail if count(mail.verdicts) == 1 with input as {"tool": {"namespace": "mail"}}
`

func of(cfg rego.Config) func(context.Context) (rego.Config, error) {
	return func(context.Context) (rego.Config, error) { return cfg, nil }
}

func files(t testing.TB, more string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"mail.rego": rule, "mail_test.rego": ruleTest})
	if err != nil {
		t.Fatal(err)
	}
	return `{"files":` + string(body) + more + `}`
}

func ask(t *testing.T, d *draft.Desk, question, body string) string {
	t.Helper()
	report, err := d.Ask(t.Context(), question, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	text, err := json.Marshal(report, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryQuestionIsAnsweredAboutADraft(t *testing.T) {
	d := draft.New(of(rego.Config{Shipped: policies.FS}))
	call := `{"phase":"call","tool":{"namespace":"mail","name":"send","annotations_source":"operator","annotations":{"read_only":true}},"caller":{"profile":"api","tenant":"default"}}`
	for question, c := range map[string]struct{ more, want string }{
		"check":    {"", `{"ok":true,"files":2,`},
		"lint":     {"", `"files":2,`},
		"test":     {`,"run":"mail"`, `"ok":true`},
		"coverage": {`,"min":50`, `mail.rego`},
		"explain":  {`,"input":` + call, `mail.never`},
		"verify":   {`,"invariants":[{"name":"mail is never sent","when":{"tool.namespace":"mail"},"never":"allow"}],"budget":2000`, `mail is never sent`},
		"replay":   {`,"recorded":"{\"input\":` + strings.ReplaceAll(call, `"`, `\"`) + `,\"behavior\":\"allow\"}\n"`, `"flipped":1`},
	} {
		if got := ask(t, d, question, files(t, c.more)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", question, got)
		}
	}
	if got := d.Questions(); len(got) != 7 || !slices.IsSorted(got) {
		t.Errorf("questions: %v", got)
	}
}

func TestWithoutFilesTheDirectoryIsAskedAbout(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.rego"), []byte(rule), 0o600); err != nil {
		t.Fatal(err)
	}
	d := draft.New(of(rego.Config{Shipped: policies.FS, OperatorDir: dir}))
	if got := ask(t, d, "check", `{}`); !strings.Contains(got, `"files":1,`) {
		t.Error(got)
	}
	if got := ask(t, d, "explain", `{"input":{"phase":"call","tool":{"namespace":"mail"},"caller":{"profile":"api"}}}`); !strings.Contains(got, "mail.never") {
		t.Error(got)
	}
	if got := ask(t, d, "explain", `{"files":{},"input":{"phase":"call","tool":{"namespace":"mail"},"caller":{"profile":"api"}}}`); strings.Contains(got, "mail.never") {
		t.Errorf("no files at all: %s", got)
	}
}

func TestAFaultOfADraftIsAnAnswerOrHasAKind(t *testing.T) {
	d := draft.New(of(rego.Config{Shipped: policies.FS}))
	if got := ask(t, d, "check", `{"files":{"a.rego":"package policies.operator.a\nimport rego.v2\nverdicts contains {"}}`); !strings.Contains(got, `"ok":false`) || !strings.Contains(got, `"file":"a.rego","line":3`) {
		t.Error(got)
	}
	for _, name := range []string{"is_number", "count", "glob.match", "regex.match", "sprintf", "startswith", "to_number", "http.send", "eq", "in", "walk"} {
		body := `{"files":{"a.rego":"package policies.operator.a\nimport rego.v2\nverdicts contains {\"id\":\"a.x\",\"behavior\":\"ask\",\"reason\":\"r\"} if { ` + name + `() }"}}`
		if got := ask(t, d, "lint", body); !strings.Contains(got, `"ok":false`) {
			t.Errorf("%s without operands: %s", name, got)
		}
	}
	for name, c := range map[string]struct {
		question, body string
		kind           ostiary.Kind
	}{
		"an unknown member":      {"check", `{"file":{}}`, ostiary.KindUnknownField},
		"an unknown question":    {"guess", `{}`, ostiary.KindNotFound},
		"a name of ours":         {"check", `{"files":{"ostiary:policies/main/main.rego":""}}`, ostiary.KindInvalidField},
		"no Rego":                {"check", `{"files":{"a.txt":""}}`, ostiary.KindInvalidField},
		"no input":               {"explain", `{}`, ostiary.KindMissingField},
		"an input with a typo":   {"explain", `{"input":{"phase":"call","tol":{}}}`, ostiary.KindUnknownField},
		"no invariants":          {"verify", `{}`, ostiary.KindMissingField},
		"a negative budget":      {"verify", `{"invariants":[],"budget":-1}`, ostiary.KindInvalidField},
		"nothing recorded":       {"replay", `{}`, ostiary.KindMissingField},
		"a draft that is broken": {"explain", `{"files":{"a.rego":"package x"},"input":{"phase":"call","caller":{"profile":"api"}}}`, ostiary.KindPolicyBroken},
	} {
		if _, err := d.Ask(t.Context(), c.question, []byte(c.body)); ostiary.KindOf(err) != c.kind {
			t.Errorf("%s: %v, want %s", name, err, c.kind)
		}
	}
}

// A panic in a goroutine would end the sidecar.
func TestAQuestionThatPanicsIsAnError(t *testing.T) {
	d := draft.New(func(context.Context) (rego.Config, error) { panic("here") })
	for range 2 { // the second one shows that the desk is free again
		if _, err := d.Ask(t.Context(), "check", []byte(`{}`)); ostiary.KindOf(err) != ostiary.KindInternal || !strings.Contains(err.Error(), "here") {
			t.Errorf("got %v", err)
		}
	}
}

func TestNobodyWaitsLongerThanAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		d := draft.New(func(context.Context) (rego.Config, error) {
			<-stuck
			return rego.Config{Shipped: policies.FS}, nil
		})
		began := time.Now()
		for range 2 { // the second one waits for the first, which does not end
			if _, err := d.Ask(t.Context(), "check", []byte(`{}`)); ostiary.KindOf(err) != ostiary.KindPolicyTimeout {
				t.Errorf("got %v", err)
			}
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("waited %s", took)
		}
		close(stuck)
		if got := ask(t, d, "check", `{}`); !strings.Contains(got, `"ok":true`) {
			t.Errorf("once it has ended: %s", got)
		}
	})
}
