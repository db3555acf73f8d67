package phases

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/enforce/wire"
	"ostiary/internal/strictjson"
	"ostiary/queue"
	"ostiary/tool"
)

// conclusionTool is what reviewers see in place of a tool's name.
var conclusionTool = tool.Name{Namespace: "ostiary", Name: "conclusion"}

// conclusion is one request on its way.
type conclusion struct {
	who      agent.Identity
	req      wire.ConclusionRequest
	content  []byte // what policies and reviewers see of it, as arguments
	digest   string
	origins  []decision.ArgOrigin
	decision decision.Decision
	item     *queue.Item
}

// Conclude answers whether an agent may state a conclusion, and what it must say with it (A18–A21). An error means that the request cannot
// be read or may not be made; what goes wrong on our side is an answer that denies.
func (a *Adviser) Conclude(ctx context.Context, who agent.Identity, req wire.ConclusionRequest) (wire.Decision, error) {
	c, err := a.take(who, req)
	if err != nil {
		return wire.Decision{}, err
	}
	s, err := a.cfg.Sessions.Enter(ctx, who, req.SessionID, "")
	if err != nil {
		return wire.Decision{}, err
	}
	leaves, err := strictjson.Leaves(c.content)
	if err != nil {
		return wire.Decision{}, err
	}
	c.origins = s.Trace(leaves, conclusionTool.String(), tool.RoleOf)
	if c.decision, err = a.judge(ctx, c, s.Facts(req.Iteration)); err != nil {
		c.item, c.decision = nil, decision.Failure(err)
	}
	a.stamp(c)
	if err := a.record(c); err != nil {
		c.item, c.decision = nil, decision.Failure(err)
		a.stamp(c)
	}
	return c.answer(), nil
}

// take checks a request.
func (a *Adviser) take(who agent.Identity, req wire.ConclusionRequest) (*conclusion, error) {
	if strings.TrimSpace(req.Text) == "" {
		return nil, &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/text", Msg: "text is missing: it is what the agent concludes"}
	}
	if req.Confidence != nil && (*req.Confidence < 0 || *req.Confidence > 1) {
		return nil, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/confidence", Msg: "confidence must lie between 0 and 1"}
	}
	content, err := json.Marshal(struct {
		Text       string   `json:"text"`
		Verdict    string   `json:"verdict,omitempty"`
		Confidence *float64 `json:"confidence,omitempty"`
	}{req.Text, req.Verdict, req.Confidence})
	if err != nil {
		return nil, fmt.Errorf("phases: conclusion: %w", err)
	}
	canonical, err := strictjson.Canonical(content)
	if err != nil {
		return nil, err
	}
	c := &conclusion{who: who, req: req, content: content}
	c.digest = tool.Action{Tenant: who.Tenant, Agent: who.Subject, Session: req.SessionID, Server: a.cfg.Server, Tool: conclusionTool, Definition: "conclusion", Arguments: string(canonical)}.Digest()
	return c, nil
}

// judge asks policy, and where policy asks, a person.
func (a *Adviser) judge(ctx context.Context, c *conclusion, facts decision.SessionFacts) (decision.Decision, error) {
	in := a.input(decision.PhaseConclusion, c.who)
	in.Args, in.Session, in.Provenance = c.content, facts, decision.Provenance{Args: c.origins}
	in.Caller.Confidence, in.Caller.Verdict = c.req.Confidence, c.req.Verdict
	if e := c.req.Evidence; e != nil {
		in.Evidence = &decision.Evidence{Status: e.Status, Warnings: e.Warnings}
	}
	out, err := a.cfg.Decide(ctx, in)
	if err != nil {
		return decision.Decision{}, err
	}
	d := decision.FromPolicy(out, decision.Allow)
	if d.Behavior != decision.Ask {
		return d, nil
	}
	d.ID = newID()
	item, err := a.cfg.Ask(ctx, queue.Item{
		Kind: queue.KindResult, Tenant: c.who.Tenant, Agent: c.who.Subject, Owner: c.who.Owner, Profile: string(c.who.Profile), Session: c.req.SessionID, DecisionID: d.ID,
		Tool: conclusionTool, Input: c.content, ActionDigest: c.digest, Tier: queue.TierMedium, Summary: "Let the agent state its conclusion", Reasons: d.Reasons,
		Provenance: c.origins, Obligations: onlyReviewers(d.Obligations), PolicyRevision: d.Revision, Badges: []string{"conclusion"},
	})
	if err != nil {
		return decision.Decision{}, err
	}
	c.item = &item
	switch item.State {
	case queue.Open:
		d.ExpiresAt = item.ExpiresAt
	case queue.Approved, queue.Consumed:
		d.Behavior, d.Source, d.Reason, d.Obligations = decision.Allow, decision.SourceReview, "a reviewer approved the conclusion", nil
	default:
		d.Behavior, d.Source, d.Reason, d.Obligations = decision.Deny, decision.SourceReview, "the review is "+string(item.State)+", so the conclusion may not be stated", nil
	}
	return d, nil
}

// onlyReviewers are the obligations of whoever approves.
func onlyReviewers(obligations []string) []string {
	return slices.DeleteFunc(slices.Clone(obligations), func(o string) bool { return o != decision.ObligationReason })
}

func newID() string { return "dec_" + uuid.Must(uuid.NewV7()).String() }

// stamp gives the decision its ids and the time.
func (a *Adviser) stamp(c *conclusion) {
	d := &c.decision
	if d.ID == "" {
		d.ID = newID()
	}
	d.ActionDigest, d.DecidedAt = c.digest, a.cfg.Now().UTC()
	if c.marked() {
		d.Obligations = slices.DeleteFunc(d.Obligations, func(o string) bool { return o == decision.ObligationCite })
	}
}

// marked reports whether the text says already that it was inferred.
func (c *conclusion) marked() bool {
	return strings.Contains(strings.ToLower(c.req.Text), decision.Inferred)
}

// record tells of the decision before it is answered; the text is not part of it.
func (a *Adviser) record(c *conclusion) error {
	ev := audit.Event{
		Class: audit.ConclusionDecided, Tenant: c.who.Tenant, Agent: c.who.Subject, Session: c.req.SessionID, Request: c.req.RequestID, Iteration: c.req.Iteration,
		DecisionID: c.decision.ID, Behavior: c.decision.Behavior.String(), Source: c.decision.Source, Rules: c.decision.RuleRefs(), Revision: c.decision.Revision,
	}
	write := a.cfg.Record
	if c.item != nil {
		ev.ReviewID, ev.State = c.item.ID, string(c.item.State)
		write = a.cfg.RecordDurable
	}
	if err := write(ev); err != nil {
		return ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be written, and nothing is stated unrecorded")
	}
	return nil
}

// answer writes the decision for the wire. What must be marked comes back marked, so that the agent need not word it.
func (c *conclusion) answer() wire.Decision {
	doc := wire.DecisionOf(c.decision)
	if slices.Contains(doc.Obligations, decision.ObligationCite) {
		doc.ContentBlocks = append(doc.ContentBlocks, wire.ContentBlock{Type: "text", Text: c.req.Text + "\n\n(" + decision.Inferred + ")"})
	}
	if c.item != nil {
		doc.Review = &wire.Review{ID: c.item.ID, State: string(c.item.State), URL: "/v1/reviews/" + c.item.ID, ExpiresAt: c.item.ExpiresAt}
	}
	return doc
}
