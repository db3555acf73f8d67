package web_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/session"
	"ostiary/agent/session/localsession"
	"ostiary/audit"
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
	"ostiary/web"
)

const wantsReason = `package policies.operator.careful
import rego.v2
verdicts contains {"id": "careful.reason", "behavior": "ask", "reason": "say why", "obligations": ["reason"]} if input.tool.name == "send"
`

// house is a console before the real desk: policy, detectors, queue and audit log are the product's own.
type house struct {
	*bench
	enforcer *enforce.Enforcer
	audit    *audit.Log
}

// realDesk is the desk as the sidecar wires it.
type realDesk struct{ enforce.Reviewers }

func (realDesk) Health(context.Context) []web.Check { return nil }

func openHouse(t *testing.T) *house {
	t.Helper()
	h := &house{bench: &bench{log: &strings.Builder{}}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, dir, rules := t.Context(), t.TempDir(), t.TempDir()
	must(os.WriteFile(filepath.Join(rules, "careful.rego"), []byte(wantsReason), 0o600))
	db, err := localdb.Open(ctx, filepath.Join(dir, "o.db"))
	must(err)
	h.audit, err = audit.Open(audit.Config{Dir: filepath.Join(dir, "audit"), Now: h.now})
	must(err)
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), h.audit.Close()); err != nil {
			t.Error(err)
		}
	})
	tools, err := registry.New(registry.NewLocalStore(db), "")
	must(err)
	sessions, err := session.NewBook(session.Config{Store: localsession.New(db), Now: h.now, Epoch: "1"})
	must(err)
	desk, err := queue.NewDesk(queue.DeskConfig{Store: localqueue.New(db), Record: h.audit.AppendDurable, Now: h.now})
	must(err)
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	permits, err := permit.New(permit.Config{Key: key, Issuer: "here", Audience: "here", Now: h.now})
	must(err)
	policy, err := rego.Load(ctx, rego.Config{Shipped: policies.FS, OperatorDir: rules, Timeout: 20 * time.Second})
	must(err)
	clean, err := shipped.New(sanitize.Config{Now: time.Now, Deadline: time.Minute})
	must(err)
	h.enforcer, err = enforce.New(enforce.Config{Registry: tools, Decider: policy, Sessions: sessions, Desk: desk, Permits: permits, Journal: h.audit,
		Cleaner: clean, Masker: clean, Now: h.now, MACKey: bytes.Repeat([]byte{7}, 32), Server: "here"})
	must(err)
	h.serve(t, realDesk{h.enforcer.Reviewers()})
	return h
}

// ask has an agent ask for a call, and returns the item that a reviewer is shown.
func (h *house) ask(t *testing.T, input string) queue.Item {
	t.Helper()
	mailer := agent.Identity{Tenant: "acme", Subject: "mail-assistant", Name: "mail-assistant", Role: agent.RoleAgent, Profile: agent.ProfileAPI}
	d, err := h.enforcer.Decide(t.Context(), mailer, wire.DecisionRequest{SessionID: "s", Tool: tool.Name{Namespace: "mail", Name: "send"}, Input: jsontext.Value(input)})
	if err != nil || d.Review == nil {
		t.Fatalf("%v: %+v", err, d)
	}
	res, body := h.call(t, "GET", "/api/reviews/"+d.Review.ID, "", bearer("reviewer")...)
	want(t, res, body, 200, "")
	var it queue.Item
	var shown struct {
		ActionDigest string   `json:"action_digest"`
		ViewDigest   string   `json:"view_digest"`
		Version      int64    `json:"version"`
		Obligations  []string `json:"obligations"`
	}
	if err := json.Unmarshal([]byte(body), &shown); err != nil {
		t.Fatal(err)
	}
	it.ID, it.ActionDigest, it.ViewDigest, it.Version, it.Obligations = d.Review.ID, shown.ActionDigest, shown.ViewDigest, shown.Version, shown.Obligations
	return it
}

func TestASecretThatOnlyTheEditHoldsIsNeverSentBeforeItsReveal(t *testing.T) {
	h := openHouse(t)
	secret := "ghp_" + "a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5F6g7H8"
	it := h.ask(t, `{"to":"bob@example.com"}`)
	res, body := h.call(t, "POST", "/api/reviews/"+it.ID+"/rulings", ruling(it, `"kind":"edit","reason":"with the key `+secret+`","edited_input":{"to":"bob@example.com","key":"`+secret+`"}`), bearer("reviewer")...)
	if want(t, res, body, 200, ""); !strings.Contains(body, `"state":"approved"`) {
		t.Fatal(body)
	}
	_, second := h.call(t, "POST", "/api/reviews/"+it.ID+"/rulings", ruling(it, `"kind":"approve"`), bearer("reviewer")...)
	_, later := h.call(t, "GET", "/api/reviews/"+it.ID, "", bearer("owner")...)
	for name, sent := range map[string]string{"the ruling's answer": body, "the loser's answer": second, "the item": later} {
		if strings.Contains(sent, secret) || strings.Contains(sent, "approved_input") || !strings.Contains(sent, `"approved_view"`) {
			t.Errorf("%s: %s", name, sent)
		}
	}
	res, body = h.call(t, "POST", "/api/reviews/"+it.ID+"/reveal", `{"pointer":"/key","of":"approved_input"}`, bearer("reviewer")...)
	if want(t, res, body, 200, ""); !strings.Contains(body, `"approved_input":{"to":"bob@example.com","key":"`+secret+`"}`) {
		t.Error(body)
	}
	events, err := h.audit.Session("acme", "s")
	if err != nil || !slices.ContainsFunc(events, func(e audit.Event) bool {
		return e.Class == audit.ValueRevealed && e.Reason == "approved_input/key" && e.Person == "Rita"
	}) {
		t.Errorf("%v: the reveal is not in the log: %+v", err, events)
	}
}

func TestTheRealDeskRefusesAnEditWithoutTheReasonThatPolicyWants(t *testing.T) {
	h := openHouse(t)
	it := h.ask(t, `{"to":"bob@example.com"}`)
	if !slices.Equal(it.Obligations, []string{"reason"}) {
		t.Fatalf("obligations: %q", it.Obligations)
	}
	_, body := h.call(t, "POST", "/api/reviews/"+it.ID+"/try", `{"edited_input":{"to":"carol@example.com"}}`, bearer("reviewer")...)
	if !strings.Contains(body, `"obligations":["reason"]`) {
		t.Errorf("policy's word on the edit: %s", body)
	}
	edit := `"kind":"edit","edited_input":{"to":"carol@example.com"}`
	res, body := h.call(t, "POST", "/api/reviews/"+it.ID+"/rulings", ruling(it, edit), bearer("reviewer")...)
	if want(t, res, body, 428, ostiary.KindReasonRequired); !strings.Contains(body, "wants a reason") {
		t.Error(body)
	}
	res, body = h.call(t, "POST", "/api/reviews/"+it.ID+"/rulings", ruling(it, edit+`,"reason":"Carol took over"`), bearer("reviewer")...)
	want(t, res, body, 200, "")
}
