package httpapi_test

import (
	"net/http"
	"testing"

	"ostiary/agent"
)

// A credential that may rule could otherwise approve its own call.
func TestOnlyAgentsMakeCalls(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, role := range []agent.Role{agent.RoleAdmin, agent.RoleAuthor} {
		for _, route := range [][2]string{
			{"POST", "/v1/decisions"}, {"GET", "/v1/reviews/rev_x"}, {"GET", "/v1/reviews/rev_x/events"}, {"POST", "/v1/reviews/rev_x/cancel"},
			{"POST", "/v1/permits/redeem"}, {"POST", "/v1/results"}, {"POST", "/v1/sessions/s/messages"},
		} {
			if got := s.send(t, role, route[0], route[1], `{}`, nil); got.status != http.StatusForbidden || got.kind(t) != "role" {
				t.Errorf("%s %s %s: %d %s", role, route[0], route[1], got.status, got.body)
			}
		}
	}
}

func TestASessionIDMayHoldASolidus(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/sessions/suite/task_0/messages", `{"role":"user","text":"hi"}`, nil); got.status != http.StatusOK {
		t.Errorf("message: %d %s", got.status, got.body)
	}
	for _, path := range []string{"/v1/sessions/suite/task_0/history", "/v1/sessions/suite%2Ftask_0/history"} {
		if got := s.send(t, agent.RoleAgent, "GET", path, "", nil); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/sessions/history", "/v1/sessions//history", "/v1/sessions/s/other"} {
		if got := s.send(t, agent.RoleAgent, "GET", path, "", nil); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}
