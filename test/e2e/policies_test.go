package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ostiary/internal/testkit"
)

// A rule that is saved is in force; one that is broken changes nothing, and everybody who looks is told.
func TestPoliciesChangeWhileTheSidecarRuns(t *testing.T) {
	rules, data := t.TempDir(), t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(rules, "mail.rego"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "package policies.operator.mail\n\nimport rego.v2\n\n"
	s := testkit.Start(t, data, "--policies", rules)
	defer s.Kill()
	token := s.AgentToken(t)
	decide := func() testkit.Doc {
		t.Helper()
		_, d := testkit.Call(t, "POST", s.AgentURL+"/v1/decisions", token, testkit.Doc{"session_id": "s", "tool": testkit.Doc{"namespace": "mail", "name": "send"}, "input": testkit.Doc{}})
		return d
	}
	if d := decide(); d.Text("behavior") != "ask" {
		t.Fatal(d)
	}
	write(head + `verdicts contains {"id": "mail.never", "behavior": "deny", "reason": "no mail today"} if input.tool.namespace == "mail"`)
	s.AwaitLog(t, "policies are in force")
	denied := decide()
	if denied.Text("behavior") != "deny" {
		t.Errorf("the rule is not in force: %v", denied)
	}
	write(head + `verdicts contains {`)
	s.AwaitLog(t, "mail.rego:5")
	if d := decide(); d.Text("behavior") != "deny" || !slices.Equal(d["policy_refs"].([]any), denied["policy_refs"].([]any)) {
		t.Errorf("a broken file changed something: %v", d)
	}
	if _, d := testkit.Call(t, "GET", s.AgentURL+"/readyz", token, nil); d.Text("status") != "degraded" || !strings.Contains(fmt.Sprint(d["checks"]), "mail.rego:5") {
		t.Errorf("who looks is not told: %v", d)
	}
	write(head)
	s.AwaitLog(t, "policies are in force")
	if d := decide(); d.Text("behavior") != "ask" {
		t.Error(d)
	}
	if _, d := testkit.Call(t, "GET", s.AgentURL+"/readyz", token, nil); d.Text("status") != "ready" {
		t.Error(d)
	}
}
