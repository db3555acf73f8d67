package enforce

import (
	"context"
	"strings"

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
	c.decision = reviewed(c.decision, item)
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

// reviewed is a decision to ask, as the state of its review makes it.
func reviewed(asked decision.Decision, item queue.Item) decision.Decision {
	d := asked
	d.ExpiresAt = item.ExpiresAt
	switch item.State {
	case queue.Open:
		return d
	case queue.Approved:
		// What the asking obliged to, the reviewer has carried out.
		d.Behavior, d.Source, d.Reason, d.Obligations = decision.Allow, decision.SourceReview, "a reviewer approved the call", nil
		if len(item.EditedInput) > 0 {
			d.Reason, d.UpdatedInput = "a reviewer approved an edited form of the call; run exactly updated_input", item.EditedInput
		}
	case queue.Responded:
		d.Behavior, d.Source, d.Reason = decision.Deny, decision.SourceReview, "a reviewer answered instead of letting the call run"
	case queue.Denied:
		d.Behavior, d.Source, d.Reason = decision.Deny, decision.SourceReview, denial(item)
	default:
		d.Behavior, d.Source, d.Reason = decision.Deny, decision.SourceReview, "the review is "+string(item.State)+", so the call may not run"
	}
	return d
}

func denial(item queue.Item) string {
	last := item.Rulings[len(item.Rulings)-1]
	if text := strings.TrimSpace(last.Reason); text != "" {
		return "a reviewer denied the call (" + last.ReasonCode + "): " + text
	}
	return "a reviewer denied the call (" + last.ReasonCode + ")"
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
