package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ostiary/decision/rego/bundle/bundletest"
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

// A server offers signed bundles; what it offers is in force at the next look, unless it is unsigned or old.
func TestPoliciesComeFromABundleServer(t *testing.T) {
	team := bundletest.New(t)
	const head = "package policies.operator.mail\n\nimport rego.v2\n\n"
	deny := head + `verdicts contains {"id": "mail.never", "behavior": "deny", "reason": "no mail today"} if input.tool.namespace == "mail"`
	var mu sync.Mutex
	packed := team.Bundle(t, head, 1, nil)
	offer := func(next []byte) {
		mu.Lock()
		defer mu.Unlock()
		packed = next
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Write(packed)
	}))
	defer server.Close()
	t.Setenv("OSTIARY_POLICIES__POLL", "1s")
	data := t.TempDir()
	args := []string{"--bundle", server.URL, "--bundle-key", team.Public}
	s := testkit.Start(t, data, args...)
	decide := func() string {
		t.Helper()
		_, d := testkit.Call(t, "POST", s.AgentURL+"/v1/decisions", s.AgentToken(t), testkit.Doc{"session_id": "s", "tool": testkit.Doc{"namespace": "mail", "name": "send"}, "input": testkit.Doc{}})
		return d.Text("behavior")
	}
	if got := decide(); got != "ask" {
		t.Fatal(got)
	}
	offer(team.Bundle(t, deny, 2, nil))
	s.AwaitLog(t, "policies are in force")
	if got := decide(); got != "deny" {
		t.Errorf("the new bundle: %s", got)
	}
	for name, bad := range map[string]struct {
		packed []byte
		log    string
	}{
		"another's":  {bundletest.New(t).Bundle(t, head, 3, nil), "not what the operator's key signed"},
		"an old one": {team.Bundle(t, head, 1, nil), "serial is 1, and 2"},
	} {
		offer(bad.packed)
		s.AwaitLog(t, bad.log)
		if got := decide(); got != "deny" {
			t.Errorf("%s: %s", name, got)
		}
	}
	// The old one is refused after a restart, too.
	offer(team.Bundle(t, head, 1, nil))
	s.Stop(t)
	if out, err := exec.Command(testkit.Binary(t), append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--console", ""}, args...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "serial is 1, and 2") {
		t.Errorf("%v: %s", err, out)
	}
}
