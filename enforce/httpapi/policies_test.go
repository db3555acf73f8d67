package httpapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary/agent"
	"ostiary/decision"
)

type policyState struct {
	decision.PolicyStatus `json:",embed"`
	Shadow                *decision.ShadowReport `json:"shadow"`
}

const ruleHead = "package policies.operator.mail\n\nimport rego.v2\n\n"

// never denies all mail.
const never = ruleHead + `verdicts contains {"id": "mail.never", "behavior": "deny", "reason": "no mail today"} if input.tool.namespace == "mail"`

func (s *server) state(t *testing.T, method, path, body string) policyState {
	t.Helper()
	got := s.send(t, agent.RoleAuthor, method, path, body, nil)
	if got.status != 200 {
		t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	var p policyState
	got.into(t, &p)
	return p
}

func TestAuthorsReloadAndGoBack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.dir, "mail.rego"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := s.state(t, "GET", "/v1/policies", "")
	if !strings.HasPrefix(first.Revision, "sha256:") || len(first.Earlier) != 0 || first.Shadow != nil {
		t.Errorf("%+v", first)
	}
	write(never)
	second := s.state(t, "POST", "/v1/policies/reload", "")
	if second.Revision == first.Revision || len(second.Earlier) != 1 || s.decide(t, asks).Behavior != "deny" {
		t.Errorf("%+v", second)
	}
	write(ruleHead + "verdicts contains {")
	got := s.send(t, agent.RoleAuthor, "POST", "/v1/policies/reload", "", nil)
	if got.status < 400 || got.kind(t) != "policy_broken" || !strings.Contains(got.body, "mail.rego:5") {
		t.Errorf("a broken file: %d %s", got.status, got.body)
	}
	if now := s.state(t, "GET", "/v1/policies", ""); now.Revision != second.Revision || !strings.Contains(now.Refused, "mail.rego:5") {
		t.Errorf("%+v", now)
	}
	if back := s.state(t, "POST", "/v1/policies/rollback", ""); back.Revision != first.Revision || s.decide(t, strings.Replace(asks, `"x"`, `"y"`, 1)).Behavior != "ask" {
		t.Errorf("%+v", back)
	}
	if got := s.send(t, agent.RoleAuthor, "POST", "/v1/policies/rollback", "", nil); got.status != 404 {
		t.Errorf("further back: %d %s", got.status, got.body)
	}
}

func TestACandidateRunsBesideThePoliciesInForce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	body, err := json.Marshal(map[string]any{"files": map[string]string{"mail.rego": never}, "ttl": "10m"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.state(t, "PUT", "/v1/policies/shadow", string(body)); got.Shadow == nil || got.Shadow.Revision == got.Revision || got.Shadow.Until.Sub(got.Shadow.Since).Minutes() < 9 {
		t.Fatalf("%+v", got)
	}
	if d := s.decide(t, asks); d.Behavior != "ask" {
		t.Errorf("the candidate decided: %s", d.Behavior)
	}
	report := s.state(t, "GET", "/v1/policies", "").Shadow
	for report.Calls == 0 { // it sees the call a moment later
		report = s.state(t, "GET", "/v1/policies", "").Shadow
	}
	if len(report.Flips) != 1 || report.Flips[0].From != "ask" || report.Flips[0].To != "deny" || report.Flips[0].Widens || report.Flips[0].Rules[0] != "mail.never" {
		t.Errorf("%+v", report)
	}
	if got := s.send(t, agent.RoleAuthor, "DELETE", "/v1/policies/shadow", "", nil); got.status != 204 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.send(t, agent.RoleAuthor, "DELETE", "/v1/policies/shadow", "", nil); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestACandidateThatCannotRunIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for body, kind := range map[string]string{
		`{}`: "missing_field", `{"files":{}}`: "missing_field", `{"files":{"a.rego":"package x"}}`: "policy_broken", `{"files":{"a.rego":""}}`: "policy_broken",
		`{"files":{"a.rego":"package policies.operator.a"}}`: "policy_broken", `{"files":{"a":"b"},"ttl":"soon"}`: "invalid_field", `{"files":{"a":"b"},"ttl":"-1h"}`: "invalid_field",
		`{"files":{"a":"b"},"ttl":"999h"}`: "invalid_field", `{"file":{}}`: "unknown_field",
	} {
		if got := s.send(t, agent.RoleAuthor, "PUT", "/v1/policies/shadow", body, nil); got.status < 400 || got.status >= 500 || got.kind(t) != kind {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}

func TestOnlyAuthorsSeeAndChangePolicies(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, role := range []agent.Role{agent.RoleAgent, agent.RoleViewer, agent.RoleReviewer, agent.RoleSenior} {
		for _, route := range [][2]string{{"GET", "/v1/policies"}, {"POST", "/v1/policies/reload"}, {"POST", "/v1/policies/rollback"}, {"PUT", "/v1/policies/shadow"}, {"DELETE", "/v1/policies/shadow"}} {
			if got := s.send(t, role, route[0], route[1], "{}", nil); got.status != 403 {
				t.Errorf("%s %s %s: %d", role, route[0], route[1], got.status)
			}
		}
	}
}

func TestAuthorsAskAboutADraftBeforeAnybodyIsJudgedByIt(t *testing.T) {
	t.Parallel()
	s := serve(t)
	files, err := json.Marshal(map[string]string{"mail.rego": never})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"files":` + string(files) + `,"input":{"phase":"call","tool":{"namespace":"mail","name":"send"},"caller":{"profile":"api"}}}`
	got := s.send(t, agent.RoleAuthor, "POST", "/v1/policies/explain", body, nil)
	if got.status != 200 || !strings.Contains(got.body, `"behavior":"deny"`) || !strings.Contains(got.body, "mail.never") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if d := s.decide(t, asks); d.Behavior != "ask" {
		t.Errorf("the draft decides: %+v", d)
	}
	for role, status := range map[agent.Role]int{agent.RoleAgent: 403, agent.RoleReviewer: 403, agent.RoleAdmin: 200} {
		if got := s.send(t, role, "POST", "/v1/policies/check", `{}`, nil); got.status != status {
			t.Errorf("%s: %d %s", role, got.status, got.body)
		}
	}
	if got := s.send(t, agent.RoleAuthor, "POST", "/v1/policies/lint", `{"files":{},"files":{}}`, nil); got.status != 400 || got.kind(t) != "malformed_duplicate_key" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
