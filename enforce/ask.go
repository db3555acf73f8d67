package enforce

import (
	"context"

	"ostiary"
	"ostiary/decision"
	"ostiary/enforce/describe"
	"ostiary/queue"
)

// ask turns a decision to ask into what a person said before of the same call, or into a question on the desk.
func (e *Enforcer) ask(ctx context.Context, c *call) error {
	item, answered, err := e.cfg.Desk.Answer(ctx, c.who.Tenant, c.req.SessionID, c.digest)
	if err != nil {
		return ostiary.Wrap(ostiary.KindNotDurable, err, "the review queue cannot be read")
	}
	if !answered {
		if item, err = e.open(ctx, c); err != nil {
			return err
		}
	}
	c.item = &item
	c.decision = item.Decided(c.decision)
	return nil
}

// open records that the call asks, then puts the question on the desk.
func (e *Enforcer) open(ctx context.Context, c *call) (queue.Item, error) {
	c.decision = e.restamp(c, c.decision)
	item, err := e.question(ctx, c)
	if err != nil {
		return item, err
	}
	if err := e.intend(c); err != nil {
		return item, err
	}
	return e.cfg.Desk.Open(ctx, item)
}

// Ask puts a question that is no call on the desk, or returns what a person said before of the same one.
func (e *Enforcer) Ask(ctx context.Context, item queue.Item) (queue.Item, error) {
	known, answered, err := e.cfg.Desk.Answer(ctx, item.Tenant, item.Session, item.ActionDigest)
	if err != nil {
		return item, ostiary.Wrap(ostiary.KindNotDurable, err, "the review queue cannot be read")
	}
	if answered {
		return known, nil
	}
	if item, err = e.show(ctx, item); err != nil {
		return item, err
	}
	return e.cfg.Desk.Open(ctx, item)
}

// question builds the review item of a call: everything that a reviewer is shown is fixed here and covered by the view digest.
func (e *Enforcer) question(ctx context.Context, c *call) (queue.Item, error) {
	in, err := e.input(c)
	if err != nil {
		return queue.Item{}, err
	}
	item := queue.Item{
		Kind: queue.KindCall, Tenant: c.who.Tenant, Agent: c.who.Subject, Owner: c.who.Owner, Profile: string(c.who.Profile), Session: c.req.SessionID,
		InvocationID: c.req.InvocationID, DecisionID: c.decision.ID, Tool: c.req.Tool, Definition: c.tool.Digest, Input: c.req.Input,
		ActionDigest: c.digest, Tier: describe.Tier(in.Tool.Annotations, c.decision.Reasons), Reasons: c.decision.Reasons, Provenance: c.origins,
		Risk: in.Tool.Annotations, RiskSource: c.tool.Source, Obligations: c.decision.Obligations, PolicyRevision: c.decision.Revision,
		Badges: describe.Badges(in),
	}
	if c.req.Context != nil {
		item.Justification, item.CWD, item.Hints = c.req.Context.Justification, c.req.Context.CWD, c.req.Context.Annotations
	}
	item.Summary = describe.Summary(c.req.Tool, in.Tool.Annotations, describe.Target(c.args.Leaves, c.facts.Role, e.masked))
	return e.show(ctx, item)
}

// approvedEdit is what policy says of an edited call, with its digest.
func (e *Enforcer) approvedEdit(ctx context.Context, item queue.Item, edited []byte) (decision.Decision, string, error) {
	c, err := e.recall(ctx, item, edited)
	if err != nil {
		return decision.Decision{}, "", err
	}
	if len(c.facts.Faults) > 0 {
		return decision.Contract(c.facts.Faults), c.digest, nil
	}
	in, err := e.input(c)
	if err != nil {
		return decision.Decision{}, "", err
	}
	out, err := e.cfg.Decider.Decide(ctx, in)
	if err != nil {
		return decision.Failure(err), c.digest, nil
	}
	return decision.FromPolicy(out, c.who.DefaultBehavior()), c.digest, nil
}
