package enforce

import (
	"context"
	"slices"
	"time"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/enforce/wire"
	"ostiary/internal/strictjson"
	"ostiary/queue"
	"ostiary/tool"
)

// MaxWait bounds how long one request may wait for a review.
const MaxWait = 10 * time.Minute

// Review returns the decision document of a review as it stands; with wait > 0 once it is ruled on, or when the time is up.
func (e *Enforcer) Review(ctx context.Context, who agent.Identity, id string, wait time.Duration) (wire.Decision, error) {
	item, err := e.cfg.Desk.Get(ctx, who.Tenant, id)
	if err != nil {
		return wire.Decision{}, err
	}
	if err := owns(who, item); err != nil {
		return wire.Decision{}, err
	}
	if wait > 0 && item.State == queue.Open {
		waiting, cancel := context.WithTimeout(ctx, min(wait, MaxWait))
		defer cancel()
		if item, err = e.cfg.Desk.Wait(waiting, who.Tenant, id); err != nil {
			return wire.Decision{}, err
		}
	}
	return e.ofItem(item)
}

// Cancel withdraws an open question of the caller's own.
func (e *Enforcer) Cancel(ctx context.Context, who agent.Identity, id string) (wire.Decision, error) {
	item, err := e.cfg.Desk.Get(ctx, who.Tenant, id)
	if err != nil {
		return wire.Decision{}, err
	}
	if err := owns(who, item); err != nil {
		return wire.Decision{}, err
	}
	if item, err = e.cfg.Desk.Cancel(ctx, who.Tenant, id); err != nil {
		return wire.Decision{}, err
	}
	return e.ofItem(item)
}

// recall rebuilds the call of an item with other arguments, or with its own, as the pipeline would see it now.
func (e *Enforcer) recall(ctx context.Context, item queue.Item, input []byte) (*call, error) {
	who := agent.Identity{Tenant: item.Tenant, Subject: item.Agent, Owner: item.Owner, Role: agent.RoleAgent, Profile: agent.Profile(item.Profile)}
	return e.reenter(ctx, who, wire.DecisionRequest{SessionID: item.Session, InvocationID: item.InvocationID, Tool: item.Tool, Input: input, Context: surroundings(item)})
}

// surroundings is what the caller told when the call was asked about.
func surroundings(item queue.Item) *wire.CallContext {
	return &wire.CallContext{CWD: item.CWD, Annotations: item.Hints}
}

// reenter takes a call through intake, session, declaration and facts, without counting or recording it.
func (e *Enforcer) reenter(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (*call, error) {
	c, err := e.intake(who, req)
	if err != nil {
		return nil, err
	}
	if c.session, err = e.cfg.Sessions.Enter(ctx, who, req.SessionID, ""); err != nil {
		return nil, err
	}
	if err := e.identify(ctx, c); err != nil {
		return nil, err
	}
	c.origins = c.session.Trace(c.args.Leaves, toolClaim(req.Tool), c.facts.Role)
	return c, nil
}

// Redeem uses up a permit: it succeeds exactly once, for exactly the call it was minted for, while policy still does not deny it.
func (e *Enforcer) Redeem(ctx context.Context, who agent.Identity, req wire.RedeemRequest) (wire.RedeemResponse, error) {
	grant, err := e.cfg.Permits.Verify(req.Permit)
	if err != nil {
		return wire.RedeemResponse{}, e.refused(who, req, "", err)
	}
	if grant.Tenant != who.Tenant || grant.Agent != who.Subject || grant.Session != req.SessionID {
		return wire.RedeemResponse{}, e.refused(who, req, grant.ID, ostiary.Errorf(ostiary.KindWrongSession, "the permit is for another session"))
	}
	if grant.Tool != toolClaim(req.Tool) {
		return wire.RedeemResponse{}, e.refused(who, req, grant.ID, ostiary.Errorf(ostiary.KindToolMismatch, "the permit is for another tool"))
	}
	call := wire.DecisionRequest{SessionID: req.SessionID, Tool: req.Tool, Input: req.Input}
	if grant.Review != "" {
		item, err := e.cfg.Desk.Get(ctx, who.Tenant, grant.Review)
		if err != nil {
			return wire.RedeemResponse{}, e.refused(who, req, grant.ID, err)
		}
		call.Context = surroundings(item)
	}
	c, err := e.reenter(ctx, who, call)
	if err != nil {
		return wire.RedeemResponse{}, err
	}
	if err := e.stillHolds(ctx, c, grant.Definition, grant.ActionDigest); err != nil {
		if err := e.invalidate(ctx, who.Tenant, grant.Review, err); err != nil {
			return wire.RedeemResponse{}, err
		}
		return wire.RedeemResponse{}, e.refused(who, req, grant.ID, err)
	}
	if err := e.use(ctx, c, grant.Review, grant.ID, grant.ActionDigest); err != nil {
		return wire.RedeemResponse{}, e.refused(who, req, grant.ID, err)
	}
	return wire.RedeemResponse{OK: true, JTI: grant.ID}, nil
}

// stillHolds compares the call with the grant, and asks policy again: a deny wins over any approval.
func (e *Enforcer) stillHolds(ctx context.Context, c *call, definition, digest string) error {
	if c.tool.Digest != definition {
		return ostiary.Errorf(ostiary.KindToolChanged, "the tool's declaration changed since the permit was minted").WithFix("ask again with the same call")
	}
	if c.digest != digest {
		return ostiary.Errorf(ostiary.KindArgsMismatch, "the arguments are not the ones that were approved").WithFix("run exactly the approved arguments")
	}
	in, err := e.input(c)
	if err != nil {
		return err
	}
	out, err := e.cfg.Decider.Decide(ctx, in)
	if err != nil {
		return err
	}
	if out.Spoke && out.Behavior == decision.Deny {
		return ostiary.Errorf(ostiary.KindPolicyChanged, "policy denies the call now").WithFix("ask again with the same call to see why")
	}
	return nil
}

// invalidate closes the approval that no longer holds, so that it cannot be used should things change back.
func (e *Enforcer) invalidate(ctx context.Context, tenant, review string, why error) error {
	kind := ostiary.KindOf(why)
	if review == "" || kind != ostiary.KindToolChanged && kind != ostiary.KindPolicyChanged {
		return nil
	}
	_, err := e.cfg.Desk.Invalidate(ctx, tenant, review, ostiary.Public(why).Msg)
	if ostiary.KindOf(err) == ostiary.KindAlreadyDecided {
		return nil
	}
	return err
}

// use records and counts the one use, in one atomic step.
func (e *Enforcer) use(ctx context.Context, c *call, review, jti, digest string) error {
	if review == "" {
		return e.cfg.Desk.UsePermit(ctx, jti, audit.Event{
			Class: audit.PermitRedeemed, Tenant: c.who.Tenant, Agent: c.who.Subject, Session: c.req.SessionID, Tool: c.req.Tool.String(), PermitID: jti, ArgsMAC: c.args.MAC,
		})
	}
	_, err := e.cfg.Desk.Consume(ctx, c.who.Tenant, review, func(item queue.Item) error {
		if _, approved := item.Approvable(); approved != digest || item.PermitID != jti {
			return ostiary.Errorf(ostiary.KindArgsMismatch, "the approval is for other arguments")
		}
		return nil
	})
	return err
}

// refused records that a permit was not accepted, and returns why.
func (e *Enforcer) refused(who agent.Identity, req wire.RedeemRequest, jti string, why error) error {
	err := e.record(audit.Event{
		Class: audit.PermitRefused, Tenant: who.Tenant, Agent: who.Subject, Session: req.SessionID, Tool: req.Tool.String(), PermitID: jti, Kind: string(ostiary.KindOf(why)),
	})
	if err != nil {
		return err
	}
	return why
}

// Message takes in what was said in a session; only the user's own words count as a request.
func (e *Enforcer) Message(ctx context.Context, who agent.Identity, id string, m wire.MessageRequest) error {
	if m.Role != "user" {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/role", Msg: `role must be "user": only the user's own words are a source of intent`}
	}
	if err := e.CheckIDs(id); err != nil {
		return err
	}
	s, err := e.cfg.Sessions.Enter(ctx, who, id, "")
	if err != nil {
		return err
	}
	if err := e.record(audit.Event{Class: audit.SessionMessage, Tenant: who.Tenant, Agent: who.Subject, Session: id, Source: "user"}); err != nil {
		return err
	}
	return s.Say(ctx, m.Text, m.UntrustedSpans)
}

// History returns a session's events in order. The log holds no secret, so neither does the history.
func (e *Enforcer) History(ctx context.Context, who agent.Identity, id string) ([]tool.Label, []audit.Event, error) {
	s, err := e.cfg.Sessions.Peek(ctx, who.Tenant, id)
	if err != nil || who.Role == agent.RoleAgent && s.Agent() != who.Subject || pinnedElsewhere(who, id) {
		return nil, nil, ostiary.Wrap(ostiary.KindNotFound, err, "there is no such session")
	}
	events, err := e.cfg.Journal.Session(who.Tenant, id)
	if err != nil {
		return nil, nil, ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be read")
	}
	return s.Labels(), events, nil
}

// endorse takes the tool's declaration as accepted, and marks the untrusted values of an approved item as seen by a person, for this
// session, role and tool. A value that the reviewer edited away was not approved, so it is not endorsed.
func (e *Enforcer) endorse(ctx context.Context, item queue.Item) error {
	s, err := e.cfg.Sessions.Peek(ctx, item.Tenant, item.Session)
	if err != nil {
		return err
	}
	s.Accept(toolClaim(item.Tool), item.Definition)
	asked, err := strictjson.Leaves(item.Input)
	if err != nil {
		return err
	}
	input, _ := item.Approvable()
	approved, err := strictjson.Leaves(input)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(approved, func(l strictjson.Leaf) bool { return !slices.Contains(asked, l) })
	if !slices.ContainsFunc(item.Provenance, decision.ArgOrigin.Untrusted) || len(kept) == 0 {
		return nil
	}
	err = e.record(audit.Event{
		Class: audit.ValueEndorsed, Tenant: item.Tenant, Agent: item.Agent, Session: item.Session, ReviewID: item.ID, Tool: item.Tool.String(),
	})
	if err != nil {
		return err
	}
	s.Endorse(kept, toolClaim(item.Tool), item.Provenance)
	return nil
}
