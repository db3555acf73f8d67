package phases_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/session"
	"ostiary/agent/session/localsession"
	"ostiary/audit"
	"ostiary/decision/rego"
	"ostiary/enforce/phases"
	"ostiary/enforce/wire"
	"ostiary/internal/localdb"
	"ostiary/policies"
	"ostiary/queue"
	"ostiary/tool"
)

var ann = agent.Identity{Tenant: "t", Subject: "agent:ann", Name: "ann", Role: agent.RoleAgent, Profile: agent.ProfileAPI}

// rules of an operator: one for lists, one for conclusions.
const rules = `package policies.operator.t
import rego.v2
verdicts contains {"id": "t.hidden", "behavior": "deny", "reason": "nobody needs it"} if {
	input.phase == "list"
	input.tool.name == "wipe"
}
verdicts contains {"id": "t.shy", "behavior": "ask", "reason": "shy"} if {
	input.phase == "list"
	input.tool.name == "shy"
}
verdicts contains {"id": "t.fails", "behavior": "ask", "reason": "fails"} if {
	input.phase == "list"
	input.tool.name == "odd"
	to_number(input.tool.name) == 1
}
verdicts contains {"id": "t.libel", "behavior": "deny", "reason": "not said here"} if {
	input.phase == "conclusion"
	contains(input.args.text, "crook")
}
`

// desk is a desk on which somebody has ruled already, or not.
type desk struct {
	mu       sync.Mutex
	state    queue.State
	asked    []queue.Item
	events   []audit.Event
	sessions *session.Book
	broken   error
}

func (d *desk) ask(_ context.Context, item queue.Item) (queue.Item, error) {
	d.asked = append(d.asked, item)
	item.ID, item.State = "rev_1", d.state
	item.Rulings = []queue.Ruling{{ReasonCode: "other", Text: "ask the clerk"}}
	return item, d.broken
}

func (d *desk) record(e audit.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
	return d.broken
}

func adviser(t *testing.T) (*phases.Adviser, *desk) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.rego"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := rego.Load(t.Context(), rego.Config{Shipped: policies.FS, OperatorDir: dir, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	db, err := localdb.Open(t.Context(), filepath.Join(t.TempDir(), "o.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{state: queue.Open}
	if d.sessions, err = session.NewBook(session.Config{Store: localsession.New(db), Now: time.Now, Epoch: "1"}); err != nil {
		t.Fatal(err)
	}
	a, err := phases.New(phases.Config{
		Decide: engine.Decide, Sessions: d.sessions, Ask: d.ask, CheckIDs: checkIDs, Record: d.record, RecordDurable: d.record, Now: time.Now, Server: "here",
		Resolve: func(_ context.Context, _ string, n tool.Name) (tool.Resolved, error) {
			if n.Name == "lost" {
				return tool.Resolved{}, errors.New("the registry is down")
			}
			return tool.UndeclaredTool(n), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, d
}

func checkIDs(ids ...string) error {
	if slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "ghp_") }) {
		return ostiary.Errorf(ostiary.KindInvalidField, "a credential")
	}
	return nil
}

func conclude(t *testing.T, a *phases.Adviser, change func(*wire.ConclusionRequest)) wire.Decision {
	t.Helper()
	req := wire.ConclusionRequest{SessionID: "s", Text: "the invoice is due on Friday"}
	if change != nil {
		change(&req)
	}
	got, err := a.Conclude(t.Context(), ann, req)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (d *desk) taint(t *testing.T) {
	t.Helper()
	s, err := d.sessions.Enter(t.Context(), ann, "s", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Learn(t.Context(), "a page of the web", "inv", []tool.Label{tool.LabelUntrusted}); err != nil {
		t.Fatal(err)
	}
}

// Covers: A18
func TestAConclusionFromUntrustedTextIsMarkedAsInferred(t *testing.T) {
	a, d := adviser(t)
	if got := conclude(t, a, nil); got.Behavior != "allow" || len(got.Obligations) != 0 || len(got.ContentBlocks) != 0 {
		t.Errorf("in a clean session: %+v", got)
	}
	d.taint(t)
	got := conclude(t, a, nil)
	if got.Behavior != "allow" || !slices.Equal(got.Obligations, []string{"cite_as_inferred"}) || !slices.Equal(got.RuleRefs, []string{"conclusion.inferred"}) {
		t.Errorf("in a tainted session: %+v", got)
	}
	if len(got.ContentBlocks) != 1 || got.ContentBlocks[0].Text != "the invoice is due on Friday\n\n(inferred from text, needs review)" {
		t.Errorf("the marked form: %+v", got.ContentBlocks)
	}
	again := conclude(t, a, func(r *wire.ConclusionRequest) { r.Text = got.ContentBlocks[0].Text })
	if again.Behavior != "allow" || len(again.Obligations) != 0 {
		t.Errorf("what is marked already: %+v", again)
	}
	denying := conclude(t, a, func(r *wire.ConclusionRequest) {
		r.Text = "It is not merely inferred from text, needs review by nobody."
	})
	if len(denying.Obligations) != 1 || len(denying.ContentBlocks) != 1 {
		t.Errorf("the words of the mark in another sense: %+v", denying)
	}
}

// Covers: A19, A20, A21
func TestAnUnsureConclusionWaitsForAPerson(t *testing.T) {
	low := 0.5
	for rule, change := range map[string]func(*wire.ConclusionRequest){
		"confidence.uncertain":        func(r *wire.ConclusionRequest) { r.Verdict = "uncertain" },
		"confidence.low":              func(r *wire.ConclusionRequest) { r.Confidence = &low },
		"confidence.evidence_missing": func(r *wire.ConclusionRequest) { r.Evidence = &wire.Evidence{Status: "degraded"} },
	} {
		a, d := adviser(t)
		d.taint(t)
		got := conclude(t, a, change)
		if got.Behavior != "ask" || got.Review == nil || !slices.Equal(got.RuleRefs, []string{rule}) {
			t.Errorf("%s: %+v", rule, got)
		}
		item := d.asked[0]
		if item.Kind != queue.KindConclusion || !strings.Contains(string(item.Input), "needs review)") || item.ActionDigest != got.ActionDigest || len(item.Provenance) == 0 {
			t.Errorf("%s: asked %+v", rule, item)
		}
		if !slices.Equal(got.Obligations, []string{"cite_as_inferred"}) || len(got.ContentBlocks) != 0 {
			t.Errorf("%s: before anybody ruled: %+v", rule, got)
		}
		for _, state := range []queue.State{queue.Denied, queue.Expired, queue.Responded, queue.Approved} {
			behavior := "deny"
			if d.state = state; state == queue.Approved {
				behavior = "allow"
			}
			if got = conclude(t, a, change); got.Behavior != behavior || got.Source != "review" {
				t.Errorf("%s, %s: %+v", rule, state, got)
			}
			if state == queue.Responded && (len(got.ContentBlocks) != 1 || got.ContentBlocks[0].Text != "ask the clerk") {
				t.Errorf("%s: what the reviewer answered: %+v", rule, got)
			}
		}
		if !slices.Equal(got.Obligations, []string{"cite_as_inferred"}) || len(got.ContentBlocks) != 1 || !strings.HasSuffix(got.ContentBlocks[0].Text, "(inferred from text, needs review)") {
			t.Errorf("%s: an approved conclusion lost its mark: %+v", rule, got)
		}
	}
}

func TestAConclusionThatPolicyDeniesIsNotStated(t *testing.T) {
	a, d := adviser(t)
	got := conclude(t, a, func(r *wire.ConclusionRequest) { r.Text = "the seller is a crook" })
	if got.Behavior != "deny" || got.Reason != "not said here" {
		t.Errorf("%+v", got)
	}
	last := d.events[len(d.events)-1]
	if last.Class != audit.ConclusionDecided || last.Behavior != "deny" || last.DecisionID != got.DecisionID || len(last.Args) > 0 {
		t.Errorf("recorded %+v", last)
	}
}

func TestWithoutARecordOrADeskNothingIsConcluded(t *testing.T) {
	a, d := adviser(t)
	d.broken = errors.New("the disk is full")
	for _, verdict := range []string{"", "uncertain"} {
		got := conclude(t, a, func(r *wire.ConclusionRequest) { r.Verdict = verdict })
		if got.Behavior != "deny" || got.Source != "error" || got.Review != nil {
			t.Errorf("%q: %+v", verdict, got)
		}
	}
}

func TestAConclusionThatCannotBeReadIsRefused(t *testing.T) {
	a, _ := adviser(t)
	much := 1.5
	for name, c := range map[string]struct {
		req  wire.ConclusionRequest
		kind ostiary.Kind
	}{
		"no text":            {wire.ConclusionRequest{SessionID: "s", Text: " "}, ostiary.KindMissingField},
		"no session":         {wire.ConclusionRequest{Text: "x"}, ostiary.KindMissingField},
		"a credential":       {wire.ConclusionRequest{SessionID: "ghp_x", Text: "x"}, ostiary.KindInvalidField},
		"one as request id":  {wire.ConclusionRequest{SessionID: "s", RequestID: "ghp_x", Text: "x"}, ostiary.KindInvalidField},
		"confidence above 1": {wire.ConclusionRequest{SessionID: "s", Text: "x", Confidence: &much}, ostiary.KindInvalidField},
	} {
		if _, err := a.Conclude(t.Context(), ann, c.req); ostiary.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	conclude(t, a, nil)
	eve := ann
	eve.Subject = "agent:eve"
	if _, err := a.Conclude(t.Context(), eve, wire.ConclusionRequest{SessionID: "s", Text: "x"}); ostiary.KindOf(err) != ostiary.KindWrongSession {
		t.Errorf("another agent's session: %v", err)
	}
}

// Covers: B23
func TestOnlyADenyHidesAToolFromTheList(t *testing.T) {
	a, _ := adviser(t)
	name := func(n string) tool.Name { return tool.Name{Namespace: "fs", Name: n} }
	got, err := a.Visible(t.Context(), ann, []tool.Name{name("read"), name("wipe"), name("shy"), name("odd"), name("lost")})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Visible, []tool.Name{name("read"), name("shy")}) || len(got.Hidden) != 3 {
		t.Fatalf("%+v", got)
	}
	if h := got.Hidden[0]; h.Tool != name("wipe") || h.Reason != "nobody needs it" || !slices.Equal(h.RuleRefs, []string{"t.hidden"}) {
		t.Errorf("%+v", h)
	}
	if h := got.Hidden[1]; h.Tool != name("odd") || h.RuleRefs[0] != string(ostiary.KindPolicyError) {
		t.Errorf("what policy fails on: %+v", h)
	}
	if _, err := a.Visible(t.Context(), ann, []tool.Name{{Name: ""}}); ostiary.KindOf(err) != ostiary.KindInvalidField {
		t.Errorf("no name: %v", err)
	}
	if _, err := a.Visible(t.Context(), ann, make([]tool.Name, 1001)); ostiary.KindOf(err) != ostiary.KindInvalidField {
		t.Errorf("too many: %v", err)
	}
}

func TestEveryPartIsRequired(t *testing.T) {
	_, err := phases.New(phases.Config{})
	for _, part := range []string{"Decide", "Resolve", "Sessions", "Ask", "CheckIDs", "Record", "RecordDurable", "Now", "Server"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
}
