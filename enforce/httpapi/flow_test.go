package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ostiary/agent"
	"ostiary/enforce"
	"ostiary/enforce/httpapi"
	"ostiary/enforce/wire"
)

// Covers: B8
func TestADecisionHasEveryMemberAndNoNullList(t *testing.T) {
	t.Parallel()
	s := serve(t)
	got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, nil)
	for _, part := range []string{`"decision_id":"dec_`, `"invocation_id":"inv_`, `"behavior":"allow"`, `"mode":"enforce"`, `"source":"policy"`, `"reason":"`, `"rule_refs":["tools.read_only"]`,
		`"policy_refs":["sha256:`, `"updated_input":null`, `"user_modified":false`, `"suggested_updates":[]`, `"pending_classifier_check":false`, `"blocked_path":null`,
		`"content_blocks":[]`, `"accept_feedback":true`, `"decided_at":"`, `"expires_at":null`, `"obligations":[]`, `"review":null`, `"permit":null`, `"schema_version":"0.2.0"`} {
		if !strings.Contains(got.body, part) {
			t.Errorf("%s is missing in %s", part, got.body)
		}
	}
	if got.header.Get("Content-Type") != "application/json" {
		t.Error(got.header)
	}
}

func TestALongPollIsReleasedByTheRuling(t *testing.T) {
	t.Parallel()
	s := serve(t)
	id := s.decide(t, asks).Review.ID
	answers := make(chan reply, 2)
	for _, path := range []string{"/v1/reviews/" + id + "?wait=10m", "/v1/reviews/" + id + "?wait=600"} {
		go func() {
			got, err := s.trySend(agent.RoleAgent, "GET", path, "", nil)
			if err != nil {
				t.Error(err)
			}
			answers <- got
		}()
	}
	s.approve(t, id)
	for range 2 {
		var d wire.Decision
		if (<-answers).into(t, &d); d.Behavior != "allow" || d.Permit == nil || d.Review.State != "approved" {
			t.Errorf("%+v", d)
		}
	}
}

func TestARedeemedPermitIsSpent(t *testing.T) {
	t.Parallel()
	s := serve(t)
	d := s.decide(t, asks)
	s.approve(t, d.Review.ID)
	d = s.decide(t, asks)
	body := `{"permit":"` + *d.Permit + `",` + asks[1:]
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/permits/redeem", strings.Replace(body, `"x"`, `"y"`, 1), nil); got.status != 403 || got.kind(t) != "args_mismatch" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/permits/redeem", body, nil); got.status != 200 || !strings.Contains(got.body, `"ok":true,"jti":"pmt_`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/permits/redeem", body, nil); got.status != 409 || got.kind(t) != "consumed" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// stream opens the events of a review and returns its lines.
func (s *server) stream(t *testing.T, id, last string) *bufio.Scanner {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/v1/reviews/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[agent.RoleAgent])
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(resp.Status, resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

// event reads up to the next event and returns its id and data; "" when the stream has ended.
func event(lines *bufio.Scanner) (id, data string) {
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			return id, line[6:]
		}
	}
	return "", ""
}

// Covers: E4
func TestEventsResumeWithoutLossOrRepeat(t *testing.T) {
	t.Parallel()
	s := serve(t)
	id := s.decide(t, asks).Review.ID
	fresh, resumed := s.stream(t, id, ""), s.stream(t, id, "open")
	if got, data := event(fresh); got != "open" || !strings.Contains(data, `"behavior":"ask"`) {
		t.Errorf("first %s %s", got, data)
	}
	s.approve(t, id)
	for name, lines := range map[string]*bufio.Scanner{"fresh": fresh, "resumed": resumed, "late": s.stream(t, id, "open")} {
		if got, data := event(lines); got != "approved" || !strings.Contains(data, `"permit":"`) {
			t.Errorf("%s: %s %s", name, got, data)
		}
		if got, data := event(lines); got != "" {
			t.Errorf("%s goes on after the end: %s", name, data)
		}
	}
	if got, data := event(s.stream(t, id, "approved")); got != "" {
		t.Errorf("what was seen is repeated: %s", data)
	}
}

func TestADrainEndsEveryWaitAndKeepsTheQuestion(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{}, 1)
	s := serveWith(t, func(real *enforce.Enforcer) decideFunc {
		return func(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error) {
			if req.WaitMS > 0 {
				waiting <- struct{}{}
			}
			return real.Decide(ctx, who, req)
		}
	})
	id := s.decide(t, asks).Review.ID
	events := s.stream(t, id, "open")
	answers := make(chan reply, 2)
	ask := func(method, path, body string) {
		got, err := s.trySend(agent.RoleAgent, method, path, body, nil)
		if err != nil {
			t.Error(err)
		}
		answers <- got
	}
	go ask("POST", "/v1/decisions", `{"wait_ms":600000,`+asks[1:])
	<-waiting
	go ask("GET", "/v1/reviews/"+id+"?wait=10m", "")
	s.api.Drain()
	for range 2 {
		got := <-answers
		if got.status != 503 || got.kind(t) != "shutting_down" || got.header.Get("Retry-After") == "" {
			t.Errorf("%d %s %v", got.status, got.body, got.header)
		}
	}
	if got, data := event(events); got != "" {
		t.Errorf("the stream says %s", data)
	}
	var d wire.Decision
	if s.send(t, agent.RoleAgent, "GET", "/v1/reviews/"+id, "", nil).into(t, &d); d.Review == nil || d.Review.State != "open" {
		t.Errorf("the question is gone: %+v", d)
	}
	// A call during the shutdown is decided, or told to come again; a failure that the shutdown itself caused is no verdict on it.
	got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", strings.Replace(read, `"s"`, `"new"`, 1), nil)
	decided := got.status == 200 && strings.Contains(got.body, `"behavior":"allow"`)
	if !decided && (got.status != 503 || got.kind(t) != "shutting_down") {
		t.Errorf("a call during the shutdown: %d %s", got.status, got.body)
	}
}

func TestHealthProvesWhoWeAreAndTellsNothingElse(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if got := s.send(t, "", "GET", "/healthz", "", nil); got.status != 200 || got.header.Get("Ostiary-Proof") != "" || !strings.Contains(got.body, `"status":"ok"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	challenge := func(nonce string) reply {
		return s.send(t, "", "GET", "/healthz", "", func(r *http.Request) { r.Header.Set("Ostiary-Challenge", nonce) })
	}
	if got := challenge("n-1"); got.header.Get("Ostiary-Proof") != "proof of n-1" {
		t.Errorf("%v", got.header)
	}
	if got := challenge(strings.Repeat("n", 129)); got.status != 400 || got.header.Get("Ostiary-Proof") != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := s.send(t, "", "GET", "/.well-known/jwks.json", "", nil); got.status != 200 || !strings.Contains(got.body, `"crv":"Ed25519"`) || strings.Contains(got.body, `"d":`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestReadinessTellsItsDetailsOnlyToThoseInside(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for word, c := range map[string]struct {
		check  string
		status int
	}{"ready": {"ok", 200}, "degraded": {"degraded", 200}, "not_ready": {"failed", 503}} {
		s.mu.Lock()
		s.checks = []httpapi.Check{{Name: "audit log", Status: c.check, Detail: "disk /data full", Fix: "free space"}, {Name: "other", Status: "ok"}}
		s.mu.Unlock()
		outside, inside := s.send(t, "", "GET", "/readyz", "", nil), s.send(t, agent.RoleAgent, "GET", "/readyz", "", nil)
		if outside.status != c.status || outside.body != `{"status":"`+word+`"}` || outside.header.Get("WWW-Authenticate") != "" {
			t.Errorf("outside: %d %s", outside.status, outside.body)
		}
		if inside.status != c.status || !strings.Contains(inside.body, "free space") || !strings.Contains(inside.body, `"`+word+`"`) {
			t.Errorf("inside: %d %s", inside.status, inside.body)
		}
	}
}

func TestDeclarationsAreKeptReadListedAndRemoved(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const doc = `{"namespace":"fs","name":"read/file","annotations":{"read_only":true},"x_custom":9007199254740993}`
	if got := s.send(t, agent.RoleAuthor, "PUT", "/v1/tools/fs/read%2Ffile", doc, nil); got.status != 200 || !strings.Contains(got.body, `"definition_digest":"sha256:`) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	got := s.send(t, agent.RoleAgent, "GET", "/v1/tools/fs/read%2Ffile", "", nil)
	for _, part := range []string{`"x_custom":9007199254740993`, `"source":"operator"`, `"read_only":true`} {
		if got.status != 200 || !strings.Contains(got.body, part) {
			t.Errorf("%s: %d %s", part, got.status, got.body)
		}
	}
	var page struct {
		Items []struct {
			Name string `json:"name"`
		} `json:"items"`
		Next string `json:"next_cursor"`
	}
	s.send(t, agent.RoleAgent, "GET", "/v1/tools?limit=1", "", nil).into(t, &page)
	if len(page.Items) != 1 || page.Items[0].Name != "lookup" || page.Next == "" {
		t.Fatalf("%+v", page)
	}
	s.send(t, agent.RoleAgent, "GET", "/v1/tools?limit=1&cursor="+page.Next, "", nil).into(t, &page)
	if len(page.Items) != 1 || page.Items[0].Name != "read/file" || page.Next != "" {
		t.Errorf("%+v", page)
	}
	if got := s.send(t, agent.RoleAuthor, "PUT", "/v1/tools/fs/a", `{"namespace":"fs","name":"b"}`, nil); got.status != 400 {
		t.Errorf("another name than the path's: %d", got.status)
	}
	if got := s.send(t, agent.RoleAuthor, "DELETE", "/v1/tools/fs/read%2Ffile", "", nil); got.status != 204 || got.body != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.send(t, agent.RoleAuthor, "DELETE", "/v1/tools/fs/read%2Ffile", "", nil); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestWhatTheUserSaidReachesTheHistoryWithoutItsWords(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/sessions/s/messages", `{"role":"user","text":"my words"}`, nil); got.status != 200 {
		t.Fatal(got.body)
	}
	s.decide(t, read)
	got := s.send(t, agent.RoleAgent, "GET", "/v1/sessions/s/history", "", nil)
	if got.status != 200 || strings.Contains(got.body, "my words") || !strings.Contains(got.body, "call_decided") || !strings.Contains(got.body, `"labels":[]`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func keyed(k string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Idempotency-Key", k) }
}

func TestAKeyedRequestHasOneAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t)
	first := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", asks, keyed(`"k1"`))
	again := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", asks, keyed(`"k1"`))
	if first.status != 200 || again.status != 200 || first.body != again.body || again.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s\n%d %s", first.status, first.body, again.status, again.body)
	}
	if other := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", asks, keyed(`"k2"`)); other.body == first.body {
		t.Error("another key got the same answer")
	}
	refused := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, keyed(`"k1"`))
	if refused.status != 422 || refused.kind(t) != "idempotency_key_reused" {
		t.Errorf("%d %s", refused.status, refused.body)
	}
	// The key is judged before the invocation id.
	known := `{"invocation_id":"inv-1",` + read[1:]
	s.decide(t, known)
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", strings.Replace(known, `"id":1`, `"id":2`, 1), keyed(`"k1"`)); got.kind(t) != "idempotency_key_reused" {
		t.Errorf("%d %s", got.status, got.body)
	}
	// An answer that refuses the request is the answer, too.
	bad := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", `{"x":1}`, keyed(`"k3"`))
	if again := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", `{"x":1}`, keyed(`"k3"`)); bad.status != 400 || again.body != bad.body || again.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s", again.status, again.body)
	}
}

func TestAKeyBelongsToItsCallerAndRoute(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, keyed(`"k"`))
	result := `{"session_id":"s","tool":{"namespace":"crm","name":"lookup"},"content":"x"}`
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/results", result, keyed(`"k"`)); got.status != 200 {
		t.Errorf("another route: %d %s", got.status, got.body)
	}
	mine := strings.Replace(read, `"s"`, `"mine"`, 1)
	other, err := s.issuer.Mint(agent.Identity{Tenant: "t", Subject: "other", Name: "other", Role: agent.RoleAgent}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	asOther := func(r *http.Request) {
		keyed(`"k"`)(r)
		r.Header.Set("Authorization", "Bearer "+other)
	}
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", mine, asOther); got.status != 200 {
		t.Errorf("another caller: %d %s", got.status, got.body)
	}
	if got := s.send(t, "", "POST", "/v1/decisions", read, keyed(`"k"`)); got.status != 401 {
		t.Errorf("nobody: %d", got.status)
	}
}

func TestAKeyThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, k := range []string{`k`, `""`, `"`, `"a`, `a"`, `"a"b"`, `"a\b"`, `"a\"`, "\"\u00e9\"", `"` + strings.Repeat("a", 256) + `"`, `"a", "b"`} {
		if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, keyed(k)); got.status != 400 || got.kind(t) != "invalid_field" {
			t.Errorf("%s: %d %s", k, got.status, got.body)
		}
	}
	twice := func(r *http.Request) { r.Header["Idempotency-Key"] = []string{`"a"`, `"b"`} }
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, twice); got.status != 400 {
		t.Errorf("two keys: %d", got.status)
	}
	for _, k := range []string{`"a"`, `"a b"`, `"a\"b"`, `"a\\"`, ` "x" `} {
		if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, keyed(k)); got.status != 200 {
			t.Errorf("%s: %d %s", k, got.status, got.body)
		}
	}
	if got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", wrap(`{"a":"`+strings.Repeat("a", 1<<20)+`"}`), keyed(`"big"`)); got.status != 413 {
		t.Errorf("a key does not lift the limit: %d", got.status)
	}
}

func TestRequestsOfOneKeyAtOnceRunOnce(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	entered, release := make(chan struct{}, 8), make(chan struct{})
	s := serveWith(t, func(real *enforce.Enforcer) decideFunc {
		return func(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error) {
			runs.Add(1)
			entered <- struct{}{}
			<-release
			return real.Decide(ctx, who, req)
		}
	})
	var group sync.WaitGroup
	bodies := make([]string, 8)
	for i := range bodies {
		group.Go(func() {
			got, err := s.trySend(agent.RoleAgent, "POST", "/v1/decisions", read, keyed(`"k"`))
			if err != nil || got.status != 200 {
				t.Error(got, err)
			}
			bodies[i] = got.body
		})
	}
	<-entered
	close(release)
	group.Wait()
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("%s\n%s", b, bodies[0])
		}
	}
	if runs.Load() != 1 {
		t.Errorf("%d requests ran", runs.Load())
	}
}

func TestAFailureOfOursIsTriedAnew(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	s := serveWith(t, func(real *enforce.Enforcer) decideFunc {
		return func(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error) {
			switch runs.Add(1) {
			case 1:
				return wire.Decision{}, fmt.Errorf("broken")
			case 2:
				return wire.Decision{Behavior: "deny", Source: "error"}, nil
			default:
				return real.Decide(ctx, who, req)
			}
		}
	})
	var said []string
	for range 4 {
		got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", read, keyed(`"k"`))
		said = append(said, fmt.Sprint(got.status, strings.Contains(got.body, `"behavior":"allow"`)))
	}
	if strings.Join(said, ", ") != "500 false, 200 false, 200 true, 200 true" || runs.Load() != 3 {
		t.Errorf("%v in %d runs", said, runs.Load())
	}
}
