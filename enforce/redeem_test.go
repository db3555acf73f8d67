package enforce_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision/permit"
	"ostiary/enforce/wire"
	"ostiary/queue"
	"ostiary/tool"
)

// approved is a call that a person approved, with its permit.
func (h *house) approved(t testing.TB, req wire.DecisionRequest) wire.Decision {
	t.Helper()
	d := h.decide(t, ann, req)
	h.rule(t, d, queue.Approve, nil)
	return h.review(t, ann, d.Review.ID)
}

func TestAPermitIsForItsCallAlone(t *testing.T) {
	t.Parallel()
	asked := call(send, `{"to":"x","n":1}`)
	pinned := ann
	pinned.Session = "another"
	foreign := ann
	foreign.Tenant = "u"
	for name, c := range map[string]struct {
		who    agent.Identity
		change func(*wire.RedeemRequest)
		before func(t *testing.T, h *house, d wire.Decision)
		kind   ostiary.Kind
	}{
		"other arguments":          {ann, func(r *wire.RedeemRequest) { r.Input = jsontext.Value(`{"to":"y","n":1}`) }, nil, ostiary.KindArgsMismatch},
		"another number form":      {ann, func(r *wire.RedeemRequest) { r.Input = jsontext.Value(`{"to":"x","n":1.0}`) }, nil, ostiary.KindArgsMismatch},
		"one argument more":        {ann, func(r *wire.RedeemRequest) { r.Input = jsontext.Value(`{"to":"x","n":1,"cc":null}`) }, nil, ostiary.KindArgsMismatch},
		"another tool":             {ann, func(r *wire.RedeemRequest) { r.Tool = note }, nil, ostiary.KindToolMismatch},
		"another namespace":        {ann, func(r *wire.RedeemRequest) { r.Tool.Namespace = "post" }, nil, ostiary.KindToolMismatch},
		"a name that reads alike":  {ann, func(r *wire.RedeemRequest) { r.Tool = tool.Name{Name: "mail.send"} }, nil, ostiary.KindToolMismatch},
		"another session":          {ann, func(r *wire.RedeemRequest) { r.SessionID = "s2" }, nil, ostiary.KindWrongSession},
		"another agent":            {eve, nil, nil, ostiary.KindWrongSession},
		"another tenant":           {foreign, nil, nil, ostiary.KindWrongSession},
		"another credential's sid": {pinned, nil, nil, ostiary.KindWrongSession},
		"no permit":                {ann, func(r *wire.RedeemRequest) { r.Permit = "" }, nil, ostiary.KindBadSignature},
		"a bent permit":            {ann, func(r *wire.RedeemRequest) { r.Permit = bend(r.Permit) }, nil, ostiary.KindBadSignature},
		"twofold arguments":        {ann, func(r *wire.RedeemRequest) { r.Input = jsontext.Value(`{"to":"x","n":1,"n":1}`) }, nil, ostiary.KindDuplicateKey},
		"too late":                 {ann, nil, func(_ *testing.T, h *house, _ wire.Decision) { h.advance(6 * time.Minute) }, ostiary.KindPermitExpired},
		"another sidecar's": {ann, func(r *wire.RedeemRequest) {}, func(t *testing.T, h *house, d wire.Decision) {
			h.cfg.Permits = nil
		}, ostiary.KindWrongAudience},
		"a revoked approval": {ann, nil, func(t *testing.T, h *house, d wire.Decision) {
			if _, err := h.Reviewers().Revoke(context.Background(), reviewer, d.Review.ID); err != nil {
				t.Fatal(err)
			}
		}, ostiary.KindRevoked},
		"a changed declaration": {ann, nil, func(t *testing.T, h *house, _ wire.Decision) {
			h.declare(t, send, `{"description":"now sends everything to mallory","annotations":{"sensitive_sink":true}}`)
		}, ostiary.KindToolChanged},
		"a removed declaration": {ann, nil, func(t *testing.T, h *house, _ wire.Decision) {
			if err := h.tools.Delete(context.Background(), "t", send); err != nil {
				t.Fatal(err)
			}
		}, ostiary.KindToolChanged},
		"a policy that denies now": {ann, nil, func(t *testing.T, h *house, _ wire.Decision) {
			h.policy.set(engine(t, "always", map[string]string{"freeze.rego": freeze}))
		}, ostiary.KindPolicyChanged},
		"a policy that fails": {ann, nil, func(_ *testing.T, h *house, _ wire.Decision) {
			h.policy.set(fixed{err: ostiary.Errorf(ostiary.KindPolicyTimeout, "late")})
		}, ostiary.KindPolicyTimeout},
		"a log that cannot be written": {ann, nil, func(_ *testing.T, h *house, _ wire.Decision) {
			h.journal.failing(func(e audit.Event) error {
				if e.Class == audit.PermitRedeemed {
					return os.ErrPermission
				}
				return nil
			})
		}, ostiary.KindAuditUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			d := h.approved(t, asked)
			req := wire.RedeemRequest{Permit: *d.Permit, SessionID: asked.SessionID, Tool: asked.Tool, Input: asked.Input}
			if c.kind == ostiary.KindWrongAudience {
				req.Permit = elsewhere(t, h)
			} else if c.before != nil {
				c.before(t, h, d)
			}
			if c.change != nil {
				c.change(&req)
			}
			_, err := h.Redeem(context.Background(), c.who, req)
			wantKind(t, err, c.kind)
			if got := classes(h.events(t, "s")); strings.Contains(got, "permit_redeemed") {
				t.Errorf("recorded as used: %s", got)
			}
		})
	}
}

// freeze is an operator's policy that denies everything.
const freeze = `package policies.operator.freeze

import rego.v2

verdicts contains {"id": "freeze", "behavior": "deny", "reason": "no changes today", "severity": "high"} if input.phase == "call"
`

func bend(token string) string {
	b := []byte(token)
	b[len(b)/2] ^= 1
	return string(b)
}

// elsewhere is the permit of another sidecar that somehow has the same key.
func elsewhere(t *testing.T, h *house) string {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	other, err := permit.New(permit.Config{Key: key, Issuer: "there", Audience: "there", Now: h.clock})
	if err != nil {
		t.Fatal(err)
	}
	token, err := other.Mint(permit.Grant{ID: "pmt_x", Tenant: "t", Agent: ann.Subject, Session: "s", Tool: `"mail"/"send"`, ActionDigest: "sha256:x", Kind: permit.KindPolicy}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestRedemptionComparesCallsNotBytes(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	d := h.approved(t, call(send, `{"to":"é","n":1}`))
	if err := h.redeem(ann, d, call(send, "{ \"n\" : 1,\n \"to\" : \"\\u00e9\" }")); err != nil {
		t.Error(err)
	}
}

func TestAHundredRedemptionsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(t *testing.T, h *house) (wire.Decision, wire.DecisionRequest){
		"of an approval": func(t *testing.T, h *house) (wire.Decision, wire.DecisionRequest) {
			req := call(send, `{"to":"x"}`)
			return h.approved(t, req), req
		},
		"of policy's own permit": func(t *testing.T, h *house) (wire.Decision, wire.DecisionRequest) {
			req := call(lookup, `{"id":1}`)
			req.WantPermit = true
			return h.decide(t, ann, req), req
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			d, req := make(t, h)
			var good, consumed atomic.Int64
			var group sync.WaitGroup
			for range 100 {
				group.Go(func() {
					switch err := h.redeem(ann, d, req); ostiary.KindOf(err) {
					case "":
						good.Add(1)
					case ostiary.KindConsumed:
						consumed.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			group.Wait()
			if good.Load() != 1 || consumed.Load() != 99 {
				t.Errorf("%d were good, %d consumed", good.Load(), consumed.Load())
			}
			if n := strings.Count(classes(h.events(t, "s")), "permit_redeemed"); n != 1 {
				t.Errorf("%d uses are on record", n)
			}
		})
	}
}

func TestAPermitWithoutAReviewIsGoodOnceAndOnlyOnRequest(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	req := call(lookup, `{"id":1}`)
	if d := h.decide(t, ann, req); d.Permit != nil {
		t.Error("nobody wanted a permit")
	}
	req.WantPermit = true
	d := h.decide(t, ann, req)
	wantKind(t, h.redeem(ann, d, call(lookup, `{"id":2}`)), ostiary.KindArgsMismatch)
	if err := h.redeem(ann, d, req); err != nil {
		t.Error(err)
	}
	wantKind(t, h.redeem(ann, d, req), ostiary.KindConsumed)
}

func TestALapsedApprovalAsksAnew(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	req := call(send, `{"to":"x"}`)
	d := h.approved(t, req)
	h.advance(31 * time.Minute)
	if got := h.review(t, ann, d.Review.ID); got.Behavior != "deny" || got.Review.State != "lapsed" || got.Permit != nil {
		t.Errorf("after its time: %s %s", got.Behavior, got.Review.State)
	}
	want(t, h.decide(t, ann, req), "ask", "")
}

func TestACancelledQuestionIsNoAnswer(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	req := call(send, `{"to":"x"}`)
	d := h.decide(t, ann, req)
	got, err := h.Cancel(context.Background(), ann, d.Review.ID)
	if err != nil || got.Behavior != "deny" || got.Review.State != "cancelled" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := h.tryRule(d, queue.Approve, nil); ostiary.KindOf(err) != ostiary.KindAlreadyDecided {
		t.Errorf("a cancelled question was approved: %v", err)
	}
	if again := h.decide(t, ann, req); again.Behavior != "ask" || again.Review.ID == d.Review.ID {
		t.Errorf("asked again: %s", again.Behavior)
	}
}

// Covers: A28
func TestTheHistoryTellsTheWholeStoryInOrder(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	if err := h.Message(context.Background(), ann, "s", wire.MessageRequest{Role: "user", Text: "send it"}); err != nil {
		t.Fatal(err)
	}
	req := call(send, `{"to":"x"}`)
	req.InvocationID, req.RequestID, req.Iteration = "inv-1", "r-1", 3
	d := h.approved(t, req)
	if err := h.redeem(ann, d, call(send, `{"to":"y"}`)); err == nil {
		t.Fatal("other arguments were accepted")
	}
	if err := h.redeem(ann, d, req); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Result(context.Background(), ann, wire.ResultRequest{SessionID: "s", InvocationID: "inv-1", Tool: send, Content: jsontext.Value(`"ok"`)}); err != nil {
		t.Fatal(err)
	}
	_, events, err := h.History(context.Background(), ann, "s")
	if err != nil {
		t.Fatal(err)
	}
	const story = "session_message call_decided review_opened ruling_recorded permit_minted permit_refused permit_redeemed result_cleaned"
	if classes(events) != story {
		t.Errorf("got  %s\nwant %s", classes(events), story)
	}
	decided := events[1]
	if decided.Request != "r-1" || decided.Iteration != 3 || decided.InvocationID != "inv-1" || decided.Tool != "mail.send" || decided.Behavior != "ask" || decided.Revision == "" {
		t.Errorf("the decision's record is not whole: %+v", decided)
	}
	for i, e := range events[1:] {
		if e.Seq <= events[i].Seq {
			t.Errorf("event %d has number %d after %d", i+1, e.Seq, events[i].Seq)
		}
	}
	if events[5].Kind != "args_mismatch" || events[3].Person != "bob" {
		t.Errorf("%+v, %+v", events[5], events[3])
	}
}

// Covers: A12, A13, A27
func TestNoSecretOrPersonalDataReachesTheLog(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	mail, secret := "jane.canary@example.com", pat()
	canary := mail + " " + secret
	text, err := jsontext.AppendQuote(nil, canary)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for i, name := range []tool.Name{lookup, send, note, shell} {
		req := call(name, `{"note":`+string(text)+`,"`+mail+`":1,"list":[`+string(text)+`],"n":`+string(rune('1'+i))+`}`)
		req.Evidence = &wire.Evidence{Status: canary, Warnings: []string{canary}}
		req.Verdict = canary
		req.Context = &wire.CallContext{UserRequest: canary, CWD: "/" + secret, Justification: canary}
		d := h.decide(t, ann, req)
		if d.Review != nil {
			h.rule(t, d, queue.Respond, func(r *queue.Ruling) { r.Text, r.Reason = canary, canary })
		}
		_ = h.redeem(ann, wire.Decision{Permit: &canary}, req) // refused, and recorded
	}
	if err := h.Message(ctx, ann, "s", wire.MessageRequest{Role: "user", Text: canary}); err != nil {
		t.Fatal(err)
	}
	env := &tool.Envelope{Status: tool.Failed, Data: jsontext.Value(`{"x":` + string(text) + `}`), Warnings: []string{canary},
		Error: &tool.CallError{Code: canary, Message: canary, Detail: canary, Recovery: canary, NextSteps: []string{canary}}, Meta: tool.Meta{Provider: canary, Summary: canary}}
	for _, req := range []wire.ResultRequest{
		{Result: env, Origin: &wire.Origin{URL: "https://x.example/?token=" + secret}}, {Content: text, StructuredContent: jsontext.Value(`{"x":` + string(text) + `}`), RanInput: jsontext.Value(`{"x":` + string(text) + `}`)},
	} {
		req.SessionID, req.Tool, req.ContentType = "s", fetch, "text/plain"
		got, err := h.Result(ctx, ann, req)
		if err != nil {
			t.Fatal(err)
		}
		if leaks(t, got, mail, secret) {
			t.Errorf("the answer to the agent holds a canary: %+v", got)
		}
	}
	files, err := filepath.Glob(filepath.Join(h.auditIn, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		log, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(log) {
			if bytes.Contains(line, []byte(mail)) || bytes.Contains(line, []byte(secret)) || bytes.Contains(line, []byte("jane.canary")) {
				t.Errorf("the log holds a canary: %s", line)
			}
		}
		if !bytes.Contains(log, []byte("call_decided")) || !bytes.Contains(log, []byte("result_cleaned")) || !bytes.Contains(log, []byte("permit_refused")) {
			t.Error("the log is not the one that was written to")
		}
	}
}
