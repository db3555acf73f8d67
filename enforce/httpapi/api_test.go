package httpapi_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary/agent"
	"ostiary/agent/credential"
	"ostiary/agent/session"
	"ostiary/agent/session/localsession"
	"ostiary/audit"
	"ostiary/decision/permit"
	"ostiary/decision/rego"
	"ostiary/decision/shadow"
	"ostiary/decision/workbench/draft"
	"ostiary/enforce"
	"ostiary/enforce/httpapi"
	"ostiary/enforce/phases"
	"ostiary/enforce/wire"
	"ostiary/internal/localdb"
	"ostiary/policies"
	"ostiary/queue"
	"ostiary/queue/localqueue"
	"ostiary/sanitize"
	"ostiary/sanitize/shipped"
	"ostiary/tool/registry"
)

var (
	cleaner = sync.OnceValues(func() (*sanitize.Cleaner, error) {
		return shipped.New(sanitize.Config{Now: time.Now, Deadline: time.Minute})
	})
)

// server is the API on a real port with real parts; its log and its checks can be looked at and set.
type server struct {
	*httptest.Server
	api      *httpapi.Server
	enforcer *enforce.Enforcer
	log      *lockedBuffer
	issuer   *credential.Issuer
	mu       sync.Mutex
	checks   []httpapi.Check
	fail     error // what recording answers
	tokens   map[agent.Role]string
	dir      string // of the operator's rules
}

// rules makes the operator's directory.
func (s *server) rules(t testing.TB) string {
	s.dir = t.TempDir()
	return s.dir
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// slowEnforcer stands before the real one where a test must hold a request.
type slowEnforcer struct {
	*enforce.Enforcer
	decide func(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error)
}

func (s slowEnforcer) Decide(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error) {
	if s.decide == nil {
		return s.Enforcer.Decide(ctx, who, req)
	}
	return s.decide(ctx, who, req)
}

type decideFunc = func(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error)

func serve(t testing.TB) *server { return serveWith(t, nil) }

func serveWith(t testing.TB, decide func(real *enforce.Enforcer) decideFunc) *server {
	t.Helper()
	s := &server{log: &lockedBuffer{}, tokens: map[agent.Role]string{}, checks: []httpapi.Check{{Name: "audit log", Status: "ok"}}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := localdb.Open(context.Background(), filepath.Join(t.TempDir(), "o.db"))
	must(err)
	log, err := audit.Open(audit.Config{Dir: filepath.Join(t.TempDir(), "audit"), Now: time.Now})
	must(err)
	tools, err := registry.New(registry.NewLocalStore(db), "")
	must(err)
	sessions, err := session.NewBook(session.Config{Store: localsession.New(db), Now: time.Now, Epoch: "1"})
	must(err)
	desk, err := queue.NewDesk(queue.DeskConfig{Store: localqueue.New(db), Record: log.AppendDurable, Now: time.Now})
	must(err)
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	permits, err := permit.New(permit.Config{Key: key, Issuer: "here", Audience: "here", Now: time.Now})
	must(err)
	policy, err := rego.Load(context.Background(), rego.Config{Shipped: policies.FS, Timeout: 20 * time.Second, OperatorDir: s.rules(t)})
	must(err)
	authors, decider := shadow.Over(policy, time.Now)
	clean, err := cleaner()
	must(err)
	s.enforcer, err = enforce.New(enforce.Config{Registry: tools, Decider: decider, Sessions: sessions, Desk: desk, Permits: permits, Journal: log,
		Cleaner: clean, Masker: clean, Now: time.Now, MACKey: bytes.Repeat([]byte{7}, 32), Server: "here"})
	must(err)
	adviser, err := phases.New(phases.Config{Decide: decider.Decide, Resolve: tools.Resolve, Sessions: sessions, Ask: s.enforcer.Ask, CheckIDs: s.enforcer.CheckIDs, Record: log.Append,
		RecordDurable: log.AppendDurable, Now: time.Now, Server: "here"})
	must(err)
	s.issuer, err = credential.New(key, time.Now)
	must(err)
	face := slowEnforcer{Enforcer: s.enforcer}
	if decide != nil {
		face.decide = decide(s.enforcer)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s.api, err = httpapi.New(httpapi.Config{
		Enforcer: face, Adviser: adviser, Registry: tools, Policies: authors, Drafts: draft.New(policy.Config), Now: time.Now, JWKS: permits.JWKS(), Hosts: []string{listener.Addr().String()},
		Log:          slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Authenticate: func(token string) (agent.Identity, error) { return s.issuer.Check(token, credential.AudienceAgents) },
		Prove:        func(nonce string) string { return "proof of " + nonce },
		Ready:        func(context.Context) []httpapi.Check { return s.ready() },
		Record: func(e audit.Event) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			return errors.Join(s.fail, log.AppendDurable(e))
		},
	})
	must(err)
	s.Server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.api.Handler(), ReadHeaderTimeout: time.Minute}}
	s.Start()
	t.Cleanup(func() {
		s.Close()
		if err := errors.Join(db.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	for _, r := range []agent.Role{agent.RoleAgent, agent.RoleViewer, agent.RoleReviewer, agent.RoleSenior, agent.RoleAuthor, agent.RoleAdmin} {
		s.tokens[r], err = s.issuer.Mint(agent.Identity{Tenant: "t", Subject: string(r), Name: string(r), Role: r, Profile: agent.ProfileAPI}, time.Hour)
		must(err)
	}
	read := `{"namespace":"crm","name":"lookup","annotations":{"read_only":true,"open_world":false,"sensitive_sink":false}}`
	if got := s.send(t, agent.RoleAdmin, "PUT", "/v1/tools/crm/lookup", read, nil); got.status != 200 {
		t.Fatal(got.body)
	}
	return s
}

func (s *server) ready() []httpapi.Check {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checks
}

// reply is one answer, read whole.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
}

func (r reply) kind(t testing.TB) string {
	t.Helper()
	var p wire.Problem
	r.into(t, &p)
	return p.Kind
}

// send sends a request with the token of a role ("" sends none); change may bend it.
func (s *server) send(t testing.TB, role agent.Role, method, path, body string, change func(*http.Request)) reply {
	t.Helper()
	r, err := s.trySend(role, method, path, body, change)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *server) trySend(role agent.Role, method, path, body string, change func(*http.Request)) (reply, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if role != "" {
		req.Header.Set("Authorization", "Bearer "+s.tokens[role])
	}
	if change != nil {
		change(req)
	}
	return do(s.Client(), req)
}

func do(client *http.Client, req *http.Request) (reply, error) {
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}, err
}

func (s *server) decide(t testing.TB, body string) wire.Decision {
	t.Helper()
	got := s.send(t, agent.RoleAgent, "POST", "/v1/decisions", body, nil)
	if got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	var d wire.Decision
	got.into(t, &d)
	return d
}

func (s *server) approve(t testing.TB, id string) {
	t.Helper()
	bob := agent.Identity{Tenant: "t", Subject: "reviewer", Name: "bob", Role: agent.RoleReviewer}
	item, err := s.enforcer.Reviewers().Get(context.Background(), bob, id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.enforcer.Reviewers().Rule(context.Background(), bob, id, queue.Ruling{Kind: queue.Approve, Version: item.Version, ActionDigest: item.ActionDigest, ViewDigest: item.ViewDigest})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	read = `{"session_id":"s","tool":{"namespace":"crm","name":"lookup"},"input":{"id":1}}`
	asks = `{"session_id":"s","tool":{"namespace":"mail","name":"send"},"input":{"to":"x"}}`
)

// wrap is a decision request with these arguments.
func wrap(input string) string {
	return `{"session_id":"s","tool":{"namespace":"crm","name":"lookup"},"input":` + input + `}`
}
