package enforce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/session"
	"ostiary/decision"
	"ostiary/enforce/arguments"
	"ostiary/enforce/seen"
	"ostiary/enforce/wire"
	"ostiary/queue"
	"ostiary/tool"
)

// call is one request on its way through the pipeline.
type call struct {
	who      agent.Identity
	req      wire.DecisionRequest
	session  *session.Session
	tool     tool.Resolved
	args     *arguments.Arguments
	facts    *arguments.Call // what args are for this tool
	digest   string
	origins  []decision.ArgOrigin
	outcome  decision.Outcome
	decision decision.Decision
	item     *queue.Item // the review behind the decision, when there is one
	recorded bool        // the decision is in the log
	started  time.Time
}

// Decide answers whether a call may run. An error means that the request cannot be read or may not be made; everything that goes wrong on
// our side is an answer that denies and names its kind.
func (e *Enforcer) Decide(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error) {
	c, err := e.intake(who, req)
	if err != nil {
		return wire.Decision{}, err
	}
	if again, found, err := e.repeated(c); found || err != nil {
		return again, err
	}
	if err := e.judge(ctx, c); err != nil {
		if refusesRequest(err) {
			return wire.Decision{}, err
		}
		c.item, c.recorded, c.decision = nil, false, e.restamp(c, decision.Failure(err))
	}
	if err := e.intend(c); err != nil {
		c.item, c.decision = nil, e.restamp(c, decision.Failure(err))
	}
	answer, err := e.answer(c)
	if err != nil {
		c.item, c.decision = nil, e.restamp(c, decision.Failure(err))
		answer = wire.DecisionOf(c.decision)
	}
	e.remember(c, answer)
	if req.WaitMS > 0 && c.item != nil && c.item.State == queue.Open {
		return e.hold(ctx, c, answer, time.Duration(req.WaitMS)*time.Millisecond)
	}
	return answer, nil
}

// intake checks the request and takes the arguments apart. The bytes of the arguments are never rewritten (B5).
func (e *Enforcer) intake(who agent.Identity, req wire.DecisionRequest) (*call, error) {
	if err := req.Tool.Check(); err != nil {
		return nil, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/tool", Msg: err.Error()}
	}
	if len(req.Input) == 0 {
		return nil, &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/input", Msg: "input is missing; a tool without arguments takes {}"}
	}
	if jsontext.Value(req.Input).Kind() != '{' {
		return nil, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/input", Msg: "input must be a JSON object"}
	}
	if err := wire.CheckConfidence(req.Confidence); err != nil {
		return nil, err
	}
	if req.Context != nil && len(req.Context.CWD) > maxCWD {
		return nil, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/context/cwd", Msg: "cwd is longer than any path can be"}
	}
	if err := e.CheckIDs(req.SessionID, req.ParentSessionID, req.RequestID, req.InvocationID, req.Tool.String()); err != nil {
		return nil, err
	}
	args, err := e.args.Read(req.Input)
	if err != nil {
		return nil, err
	}
	if req.InvocationID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("enforce: invocation id: %w", err)
		}
		req.InvocationID = "inv_" + id.String()
	}
	return &call{who: who, req: req, args: args, started: e.cfg.Now()}, nil
}

// repeated answers an invocation that was decided before: the same arguments get the same answer, other arguments are a conflict. An ask
// is not repeated but looked up again, since a person may have ruled meanwhile.
func (e *Enforcer) repeated(c *call) (wire.Decision, bool, error) {
	known, found := e.seen.Get(seen.Key(c.who, c.req.SessionID, c.req.InvocationID))
	if !found || pinnedElsewhere(c.who, c.req.SessionID) {
		return wire.Decision{}, false, nil
	}
	if known.Tool != toolClaim(c.req.Tool) || known.Digest != c.args.Digest {
		return wire.Decision{}, false, ostiary.Errorf(ostiary.KindConflict, "this invocation_id was used for another call").WithFix("use a new invocation_id for every call")
	}
	settled := known.Answer.Behavior != decision.Ask.String() && known.Answer.Review == nil && known.Answer.Source != decision.SourceError
	return known.Answer, settled, nil
}

// judge fills in the decision: session, declaration, contract, facts, policy, and the person whom policy asks for.
func (e *Enforcer) judge(ctx context.Context, c *call) error {
	var err error
	if c.session, err = e.cfg.Sessions.Enter(ctx, c.who, c.req.SessionID, c.req.ParentSessionID); err != nil {
		return err
	}
	if c.req.Context != nil && c.req.Context.UserRequest != "" && !c.session.KnowsRequest() {
		if err := c.session.Say(ctx, c.req.Context.UserRequest, nil); err != nil {
			return ostiary.Wrap(ostiary.KindTaintUnknown, err, "the session cannot be stored")
		}
	}
	c.session.CountCall()
	if err := e.identify(ctx, c); err != nil {
		return err
	}
	if len(c.facts.Faults) > 0 {
		c.decision = decision.Contract(c.facts.Faults)
		return nil
	}
	c.origins = c.session.Trace(c.args.Leaves, toolClaim(c.req.Tool), c.facts.Role)
	in, err := e.input(c)
	if err != nil {
		return err
	}
	if c.outcome, err = e.cfg.Decider.Decide(ctx, in); err != nil {
		return err
	}
	c.decision = decision.FromPolicy(c.outcome, c.who.DefaultBehavior())
	if c.decision.Behavior != decision.Ask {
		return nil
	}
	return e.ask(ctx, c)
}

// identify fills in the declaration, what the arguments are under it, and the digest that names the call.
func (e *Enforcer) identify(ctx context.Context, c *call) (err error) {
	if c.tool, err = e.cfg.Registry.Resolve(ctx, c.who.Tenant, c.req.Tool); err != nil {
		return fmt.Errorf("resolve %s: %w", c.req.Tool, err)
	}
	if c.facts, err = c.args.For(c.tool, cwd(c)); err != nil {
		return fmt.Errorf("check arguments of %s: %w", c.req.Tool, err)
	}
	c.digest = tool.Action{
		Tenant: c.who.Tenant, Agent: c.who.Subject, Session: c.req.SessionID, Server: e.cfg.Server, Tool: c.req.Tool,
		Definition: c.tool.Digest, Arguments: c.args.Canonical,
	}.Digest()
	return nil
}

// restamp gives a decision the call's ids and the time.
func (e *Enforcer) restamp(c *call, d decision.Decision) decision.Decision {
	if d.ID = c.decision.ID; d.ID == "" {
		d.ID = decision.NewID()
	}
	d.InvocationID, d.ActionDigest, d.DecidedAt = c.req.InvocationID, c.digest, e.cfg.Now().UTC()
	if d.Revision == "" {
		d.Revision = e.cfg.Decider.Revision()
	}
	return d
}

// remember keeps the answer for repeats of the invocation, and what may run for the check of its result.
func (e *Enforcer) remember(c *call, answer wire.Decision) {
	inv := seen.Call{Digest: c.args.Digest, Tool: toolClaim(c.req.Tool), Answer: answer}
	if c.decision.Behavior >= decision.Allow && c.item == nil {
		inv.Accepted = inv.Digest
	}
	// What a review approved is asked of the desk; a copy of its arguments would only take room.
	inv.Answer.UpdatedInput = nil
	e.seen.Put(seen.Key(c.who, c.req.SessionID, c.req.InvocationID), inv)
}

// hold waits for the review and answers as it then stands; when the time is up the ask itself is the answer.
func (e *Enforcer) hold(ctx context.Context, c *call, ask wire.Decision, wait time.Duration) (wire.Decision, error) {
	settled, err := e.Review(ctx, c.who, c.item.ID, wait)
	if err != nil {
		return ask, err
	}
	return settled, nil
}

// refusesRequest tells errors that answer the request itself (4xx) from those on our side, which become a denying decision.
func refusesRequest(err error) bool {
	var e *ostiary.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case ostiary.KindWrongSession, ostiary.KindMissingField, ostiary.KindInvalidField, ostiary.KindMalformedJSON:
		return true
	default:
		return false
	}
}
