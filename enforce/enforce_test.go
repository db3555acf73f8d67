package enforce_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/session"
	"ostiary/agent/session/localsession"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/decision/permit"
	"ostiary/decision/rego"
	"ostiary/enforce"
	"ostiary/enforce/wire"
	"ostiary/internal/localdb"
	"ostiary/policies"
	"ostiary/queue"
	"ostiary/queue/localqueue"
	"ostiary/sanitize"
	"ostiary/sanitize/shipped"
	"ostiary/tool"
	"ostiary/tool/registry"
)

// ownState is the directory that the tests' policies protect as the sidecar's own.
const ownState = "/srv/ostiary"

var (
	ann      = agent.Identity{Tenant: "t", Subject: "agent:ann", Name: "ann", Owner: "olga", Role: agent.RoleAgent, Profile: agent.ProfileAPI}
	eve      = agent.Identity{Tenant: "t", Subject: "agent:eve", Name: "eve", Role: agent.RoleAgent, Profile: agent.ProfileAPI}
	hooked   = agent.Identity{Tenant: "t", Subject: "agent:hook", Name: "hook", Role: agent.RoleAgent, Profile: agent.ProfileHook}
	reviewer = agent.Identity{Tenant: "t", Subject: "reviewer:bob", Name: "bob", Role: agent.RoleReviewer}
)

// Names of the tools that every house declares.
var (
	lookup = tool.Name{Namespace: "crm", Name: "lookup"}
	send   = tool.Name{Namespace: "mail", Name: "send"}
	fetch  = tool.Name{Namespace: "web", Name: "fetch"}
	note   = tool.Name{Namespace: "notes", Name: "append"}
	shell  = tool.Name{Namespace: "os", Name: "run"}
)

var declared = map[tool.Name]string{
	lookup: `{"description":"reads a customer","input_schema":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"additionalProperties":false},
		"annotations":{"read_only":true,"idempotent":true,"destructive":false,"open_world":false,"sensitive_sink":false}}`,
	send:  `{"annotations":{"read_only":false,"destructive":false,"open_world":true,"sensitive_sink":true}}`,
	fetch: `{"annotations":{"read_only":true,"open_world":true,"sensitive_sink":false}}`,
	note:  `{"annotations":{"read_only":false,"destructive":false,"open_world":false,"sensitive_sink":false}}`,
	shell: `{"annotations":{"read_only":true,"open_world":false,"sensitive_sink":false}}`,
}

// house is an enforcement point of real parts; only its clock is a fake.
type house struct {
	*enforce.Enforcer
	cfg     enforce.Config
	tools   *registry.Registry
	desk    *queue.Desk
	journal *faultyJournal
	policy  *policySwitch
	auditIn string
	db      *localdb.DB

	mu  sync.Mutex
	now time.Time
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// faultyJournal is the real log until it is told to fail.
type faultyJournal struct {
	*audit.Log
	mu   sync.Mutex
	fail func(audit.Event) error
}

func (j *faultyJournal) failing(fail func(audit.Event) error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fail = fail
}

func (j *faultyJournal) fault(e audit.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail == nil {
		return nil
	}
	return j.fail(e)
}

func (j *faultyJournal) Append(e audit.Event) error {
	if err := j.fault(e); err != nil {
		return err
	}
	return j.Log.Append(e)
}

func (j *faultyJournal) AppendDurable(e audit.Event) error {
	if err := j.fault(e); err != nil {
		return err
	}
	return j.Log.AppendDurable(e)
}

// policySwitch is an engine that can be exchanged between two calls.
type policySwitch struct {
	mu  sync.Mutex
	now enforce.Decider
}

func (p *policySwitch) set(d enforce.Decider) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = d
}

func (p *policySwitch) get() enforce.Decider {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *policySwitch) Decide(ctx context.Context, in decision.Input) (decision.Outcome, error) {
	return p.get().Decide(ctx, in)
}
func (p *policySwitch) Revision() string { return p.get().Revision() }

// engine compiles the shipped policies and the operator's files with a sink mode.
func engine(t testing.TB, sinkMode string, files map[string]string) *rego.Engine {
	t.Helper()
	dir := ""
	if len(files) > 0 {
		dir = t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	e, err := load(sinkMode, dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func load(sinkMode, dir string) (*rego.Engine, error) {
	return rego.Load(context.Background(), rego.Config{
		Shipped: policies.FS, OperatorDir: dir, Timeout: 20 * time.Second, // a loaded machine must not fail a test of something else
		Settings: map[string]map[string]any{"baseline": {"sink_mode": sinkMode, "much_pii": 25, "own_paths": []string{ownState + "/"}}},
	})
}

// The shipped snapshots and the detectors never change, so tests share them.
var (
	strict   = sync.OnceValues(func() (*rego.Engine, error) { return load("always", "") })
	balanced = sync.OnceValues(func() (*rego.Engine, error) { return load("provenance", "") })
	cleaner  = sync.OnceValues(func() (*sanitize.Cleaner, error) {
		return shipped.New(sanitize.Config{Now: time.Now, Deadline: time.Minute})
	})
	masker = sync.OnceValues(func() (*sanitize.Cleaner, error) {
		return shipped.NewMasker(sanitize.Config{Now: time.Now, Deadline: time.Minute})
	})
)

// open builds a house with the strict posture; change may exchange a part before it stands.
func open(t testing.TB, change func(*house, *queue.DeskConfig)) *house {
	t.Helper()
	ctx := context.Background()
	h := &house{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), policy: &policySwitch{}, auditIn: filepath.Join(t.TempDir(), "audit")}
	var err error
	if h.db, err = localdb.Open(ctx, filepath.Join(t.TempDir(), "o.db")); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(audit.Config{Dir: h.auditIn, Now: h.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.db.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	h.journal = &faultyJournal{Log: log}
	if h.tools, err = registry.New(registry.NewLocalStore(h.db), ""); err != nil {
		t.Fatal(err)
	}
	for name, doc := range declared {
		h.declare(t, name, doc)
	}
	e, err := strict()
	if err != nil {
		t.Fatal(err)
	}
	h.policy.set(e)
	desk := queue.DeskConfig{Store: localqueue.New(h.db), Record: h.journal.AppendDurable, Now: h.clock}
	h.cfg = enforce.Config{Registry: h.tools, Decider: h.policy, Journal: h.journal, Now: h.clock, MACKey: bytes.Repeat([]byte{7}, 32), Server: "here"}
	if h.cfg.Cleaner, err = cleaner(); err != nil {
		t.Fatal(err)
	}
	if h.cfg.Masker, err = masker(); err != nil {
		t.Fatal(err)
	}
	h.cfg.Sessions = h.book(t, "1")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	if h.cfg.Permits, err = permit.New(permit.Config{Key: key, Issuer: "here", Audience: "here", Now: h.clock}); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(h, &desk)
	}
	if h.desk, err = queue.NewDesk(desk); err != nil {
		t.Fatal(err)
	}
	h.cfg.Desk = h.desk
	if h.Enforcer, err = enforce.New(h.cfg); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) book(t testing.TB, epoch string) *session.Book {
	t.Helper()
	b, err := session.NewBook(session.Config{Store: localsession.New(h.db), Now: h.clock, Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// openBalanced is a house whose sinks are judged by provenance.
func openBalanced(t testing.TB) *house {
	t.Helper()
	e, err := balanced()
	if err != nil {
		t.Fatal(err)
	}
	return open(t, func(h *house, _ *queue.DeskConfig) { h.policy.set(e) })
}

func (h *house) declare(t testing.TB, name tool.Name, doc string) {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(doc), &members); err != nil {
		t.Fatal(err)
	}
	members["namespace"], members["name"] = jsontext.Value(`"`+name.Namespace+`"`), jsontext.Value(`"`+name.Name+`"`)
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.tools.Put(context.Background(), "t", name, raw); err != nil {
		t.Fatal(err)
	}
}

func call(name tool.Name, input string) wire.DecisionRequest {
	return wire.DecisionRequest{SessionID: "s", Tool: name, Input: jsontext.Value(input)}
}

// decide wants an answer, of whatever behavior.
func (h *house) decide(t testing.TB, who agent.Identity, req wire.DecisionRequest) wire.Decision {
	t.Helper()
	d, err := h.Decide(context.Background(), who, req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// want checks an answer's behavior and that one of its reasons has this id.
func want(t testing.TB, d wire.Decision, behavior, reason string) {
	t.Helper()
	if d.Behavior != behavior || reason != "" && !slices.Contains(d.RuleRefs, reason) {
		t.Errorf("got %s %v (%s), want %s by %s", d.Behavior, d.RuleRefs, d.Reason, behavior, reason)
	}
}

func wantKind(t testing.TB, err error, kind ostiary.Kind) {
	t.Helper()
	if ostiary.KindOf(err) != kind {
		t.Errorf("got %v, want %q", err, kind)
	}
}

// rule is a reviewer's word on the review behind d.
func (h *house) rule(t testing.TB, d wire.Decision, kind queue.RulingKind, change func(*queue.Ruling)) queue.Item {
	t.Helper()
	item, err := h.tryRule(d, kind, change)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func (h *house) tryRule(d wire.Decision, kind queue.RulingKind, change func(*queue.Ruling)) (queue.Item, error) {
	if d.Review == nil {
		return queue.Item{}, errors.New("there is no review")
	}
	item, err := h.Reviewers().Get(context.Background(), reviewer, d.Review.ID)
	if err != nil {
		return item, err
	}
	r := queue.Ruling{Kind: kind, Version: item.Version, ActionDigest: item.ActionDigest, ViewDigest: item.ViewDigest, ReasonCode: "other"}
	if change != nil {
		change(&r)
	}
	return h.Reviewers().Rule(context.Background(), reviewer, item.ID, r)
}

func (h *house) review(t testing.TB, who agent.Identity, id string) wire.Decision {
	t.Helper()
	d, err := h.Review(context.Background(), who, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (h *house) redeem(who agent.Identity, d wire.Decision, req wire.DecisionRequest) error {
	r := wire.RedeemRequest{SessionID: req.SessionID, Tool: req.Tool, Input: req.Input}
	if d.Permit != nil {
		r.Permit = *d.Permit
	}
	_, err := h.Redeem(context.Background(), who, r)
	return err
}

func (h *house) openItems(t testing.TB) int {
	t.Helper()
	page, err := h.desk.List(context.Background(), queue.Filter{Tenant: "t", State: queue.Open})
	if err != nil {
		t.Fatal(err)
	}
	return page.Total
}

func (h *house) events(t testing.TB, id string) []audit.Event {
	t.Helper()
	events, err := h.journal.Session("t", id)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func classes(events []audit.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Class))
	}
	return strings.Join(out, " ")
}

// pat is made at run time so that scanners do not trip over this file.
func pat() string { return "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" }
