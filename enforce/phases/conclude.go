package phases

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

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
	who       agent.Identity
	req       wire.ConclusionRequest
	content   []byte // what policies see of it, as arguments
	canonical string
	digest    string
	origins   []decision.ArgOrigin
	decision  decision.Decision
	marked    string // the text with the mark, where it needs one; otherwise empty
	item      *queue.Item
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
	if err := a.cfg.CheckIDs(req.SessionID, req.RequestID); err != nil {
		return nil, err
	}
	if err := wire.CheckConfidence(req.Confidence); err != nil {
		return nil, err
	}
	content, err := contentOf(req, req.Text)
	if err != nil {
		return nil, err
	}
	canonical, err := strictjson.Canonical(content)
	if err != nil {
		return nil, err
	}
	c := &conclusion{who: who, req: req, content: content, canonical: string(canonical)}
	a.name(c, "conclusion")
	return c, nil
}

// name gives the conclusion its digest. One that must be marked is another than the same text that need not be.
func (a *Adviser) name(c *conclusion, kind string) {
	c.digest = tool.Action{
		Tenant: c.who.Tenant, Agent: c.who.Subject, Session: c.req.SessionID, Server: a.cfg.Server, Tool: conclusionTool, Definition: kind, Arguments: c.canonical,
	}.Digest()
}

// contentOf is a conclusion as a document, with this text.
func contentOf(req wire.ConclusionRequest, text string) ([]byte, error) {
	content, err := json.Marshal(struct {
		Text       string   `json:"text"`
		Verdict    string   `json:"verdict,omitempty"`
		Confidence *float64 `json:"confidence,omitempty"`
	}{text, req.Verdict, req.Confidence})
	if err != nil {
		return nil, fmt.Errorf("phases: conclusion: %w", err)
	}
	return content, nil
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
	if c.mark(&d, out.Verdicts); c.marked != "" {
		a.name(c, "marked conclusion")
	}
	if d.Behavior != decision.Ask {
		return d, nil
	}
	d.ID = decision.NewID()
	item, err := a.ask(ctx, c, d)
	if err != nil {
		return decision.Decision{}, err
	}
	c.item = &item
	return item.Decided(d), nil
}

// ask puts the conclusion on the desk in the form that the agent may state once a person approves.
func (a *Adviser) ask(ctx context.Context, c *conclusion, d decision.Decision) (queue.Item, error) {
	content, err := contentOf(c.req, cmp.Or(c.marked, c.req.Text))
	if err != nil {
		return queue.Item{}, err
	}
	return a.cfg.Ask(ctx, queue.Item{
		Kind: queue.KindConclusion, Tenant: c.who.Tenant, Agent: c.who.Subject, Owner: c.who.Owner, Profile: string(c.who.Profile), Session: c.req.SessionID, DecisionID: d.ID,
		Tool: conclusionTool, Input: content, ActionDigest: c.digest, Tier: queue.TierMedium, Summary: "Let the agent state its conclusion", Reasons: d.Reasons,
		Provenance: c.origins, Obligations: d.Obligations, PolicyRevision: d.Revision, Badges: []string{"conclusion"},
	})
}

// mark adds the obligation to mark the text when any verdict has it, for that holds whatever else the verdicts come to, unless the text ends
// in the mark already.
func (c *conclusion) mark(d *decision.Decision, verdicts []decision.Verdict) {
	const mark = "(" + decision.Inferred + ")"
	d.Obligations = slices.DeleteFunc(d.Obligations, func(o string) bool { return o == decision.ObligationCite })
	cite := slices.ContainsFunc(verdicts, func(v decision.Verdict) bool { return slices.Contains(v.Obligations, decision.ObligationCite) })
	if !cite || d.Behavior == decision.Deny || strings.HasSuffix(strings.TrimSpace(c.req.Text), mark) {
		return
	}
	d.Obligations = append(d.Obligations, decision.ObligationCite)
	c.marked = c.req.Text + "\n\n" + mark
}

// stamp gives the decision its ids and the time.
func (a *Adviser) stamp(c *conclusion) {
	d := &c.decision
	if d.ID == "" {
		d.ID = decision.NewID()
	}
	d.ActionDigest, d.DecidedAt = c.digest, a.cfg.Now().UTC()
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
	if c.item != nil {
		doc.Attach(*c.item)
	}
	if c.marked != "" && c.decision.Behavior >= decision.Allow {
		doc.ContentBlocks = append(doc.ContentBlocks, wire.ContentBlock{Type: "text", Text: c.marked})
	}
	return doc
}
