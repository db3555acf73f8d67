package httpapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ostiary/agent"
	"ostiary/enforce/wire"
)

// Covers: A18
func TestAnAgentIsToldHowToStateAConclusion(t *testing.T) {
	t.Parallel()
	s := serve(t)
	state := func() (d wire.Decision) {
		s.send(t, agent.RoleAgent, "POST", "/v1/conclusions", `{"session_id":"c-1","text":"tea is cheaper"}`, nil).into(t, &d)
		return d
	}
	if d := state(); d.Behavior != "allow" || len(d.Obligations) != 0 {
		t.Errorf("%+v", d)
	}
	s.send(t, agent.RoleAgent, "POST", "/v1/results", `{"session_id":"c-1","tool":{"namespace":"web","name":"fetch"},"content":"a page"}`, nil)
	if d := state(); d.Behavior != "allow" || len(d.Obligations) != 1 || d.Obligations[0] != "cite_as_inferred" || !strings.Contains(d.ContentBlocks[0].Text, "inferred from text, needs review") {
		t.Errorf("%+v", d)
	}
	var asked, ruled wire.Decision
	unsure := `{"session_id":"c-1","text":"tea is cheaper","verdict":"uncertain"}`
	s.send(t, agent.RoleAgent, "POST", "/v1/conclusions", unsure, nil).into(t, &asked)
	if asked.Behavior != "ask" || asked.Review == nil {
		t.Fatalf("%+v", asked)
	}
	s.approve(t, asked.Review.ID)
	s.send(t, agent.RoleAgent, "POST", "/v1/conclusions", unsure, nil).into(t, &ruled)
	var fetched wire.Decision
	s.send(t, agent.RoleAgent, "GET", "/v1/reviews/"+asked.Review.ID, "", nil).into(t, &fetched)
	for _, d := range []wire.Decision{ruled, fetched} {
		if d.Behavior != "allow" || d.Review.ID != asked.Review.ID || d.Source != "review" || d.Reason != "a reviewer approved the conclusion" || d.Permit != nil {
			t.Errorf("%+v", d)
		}
		if len(d.ContentBlocks) != 1 || d.ContentBlocks[0].Text != "tea is cheaper\n\n(inferred from text, needs review)" || len(d.Obligations) != 1 {
			t.Errorf("its mark: %+v", d)
		}
	}
	for body, kind := range map[string]string{`{"session_id":"c-1"}`: "missing_field", `{"text":"x"}`: "missing_field", `{"session_id":"c-1","text":"x","colour":1}`: "unknown_field"} {
		if got := s.send(t, agent.RoleAgent, "POST", "/v1/conclusions", body, nil); got.status != 400 || got.kind(t) != kind {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
}

// Covers: B23
func TestAToolThatPolicyHidesIsNotShownToAgents(t *testing.T) {
	t.Parallel()
	s := serve(t)
	rule := "package policies.operator.hides\nimport rego.v2\nverdicts contains {\"id\": \"hides.it\", \"behavior\": \"deny\", \"reason\": \"hidden\"} if {\n\tinput.phase == \"list\"\n\tinput.tool.namespace == \"crm\"\n}\n"
	if err := os.WriteFile(filepath.Join(s.dir, "hides.rego"), []byte(rule), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.send(t, agent.RoleAuthor, "POST", "/v1/policies/reload", "{}", nil); got.status != 200 {
		t.Fatal(got.body)
	}
	if got := s.send(t, agent.RoleAgent, "GET", "/v1/tools", "", nil); strings.Contains(got.body, "lookup") {
		t.Errorf("an agent sees %s", got.body)
	}
	if got := s.send(t, agent.RoleAuthor, "GET", "/v1/tools", "", nil); !strings.Contains(got.body, "lookup") {
		t.Errorf("an author sees %s", got.body)
	}
	got := s.send(t, agent.RoleAgent, "POST", "/v1/tools:visible", `{"tools":[{"namespace":"crm","name":"lookup"},{"namespace":"web","name":"fetch"}]}`, nil)
	if want := `{"visible":[{"namespace":"web","name":"fetch"}],"hidden":[{"tool":{"namespace":"crm","name":"lookup"},"reason":"hidden","rule_refs":["hides.it"]}]}`; got.body != want {
		t.Errorf("got  %s\nwant %s", got.body, want)
	}
	if got := s.send(t, agent.RoleReviewer, "POST", "/v1/tools:visible", `{"tools":[]}`, nil); got.status != 403 {
		t.Errorf("a reviewer: %d", got.status)
	}
}
