package enforce

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/session"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/enforce/clean"
	"ostiary/enforce/seen"
	"ostiary/enforce/wire"
	"ostiary/internal/strictjson"
	"ostiary/queue"
	"ostiary/sanitize"
	"ostiary/tool"
)

// result is one tool result on its way through cleaning.
type result struct {
	who     agent.Identity
	req     wire.ResultRequest
	cleaned clean.Result
	labels  []tool.Label
	tool    tool.Resolved
	fault   string // why the content could not be cleaned; empty when it was
	answer  wire.ResultResponse
}

// Result cleans what a tool returned, lets its labels join the session, and asks policy whether it may be released.
func (e *Enforcer) Result(ctx context.Context, who agent.Identity, req wire.ResultRequest) (wire.ResultResponse, error) {
	if err := req.Tool.Check(); err != nil {
		return wire.ResultResponse{}, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/tool", Msg: err.Error()}
	}
	if err := clean.Check(req); err != nil {
		return wire.ResultResponse{}, err
	}
	if err := e.CheckIDs(req.SessionID, req.InvocationID, req.Tool.String()); err != nil {
		return wire.ResultResponse{}, err
	}
	s, err := e.cfg.Sessions.Enter(ctx, who, req.SessionID, "")
	if err != nil {
		return wire.ResultResponse{}, err
	}
	r := &result{who: who, req: req}
	if r.tool, err = e.cfg.Registry.Resolve(ctx, who.Tenant, req.Tool); err != nil {
		return wire.ResultResponse{}, err
	}
	s.Outcome(req.Result != nil && req.Result.Status == tool.Failed)
	r.cleaned, err = e.clean.Clean(ctx, s.Scope(), req)
	if err != nil {
		return e.withhold(ctx, s, r, err)
	}
	announced := e.compare(ctx, r)
	r.labels = r.labelsOf(announced)
	if err := s.Learn(ctx, clean.RawText(req), req.InvocationID, r.labels); err != nil {
		return wire.ResultResponse{}, ostiary.Wrap(ostiary.KindTaintUnknown, err, "the session's labels cannot be stored, so the result is withheld")
	}
	r.fill()
	e.release(ctx, s, r)
	if err := e.recordResult(r, audit.ResultCleaned); err != nil {
		return wire.ResultResponse{}, err
	}
	return r.answer, nil
}

// Sanitize cleans without a session: nothing is remembered, labelled or recorded.
func (e *Enforcer) Sanitize(ctx context.Context, req wire.ResultRequest) (wire.ResultResponse, error) {
	if err := clean.Check(req); err != nil {
		return wire.ResultResponse{}, err
	}
	out, err := e.clean.Clean(ctx, sanitize.NewScope(), req)
	if err != nil {
		return wire.ResultResponse{}, ostiary.Wrap(ostiary.KindSanitizer, err, "the content could not be cleaned, so it is withheld")
	}
	r := &result{req: req, cleaned: out, tool: tool.Resolved{Declaration: tool.Declaration{OutputTrust: tool.Trusted}}}
	r.labels = r.labelsOf(true)
	r.fill()
	r.answer.Behavior = decision.Allow.String()
	return r.answer, nil
}

// labelsOf joins what cleaning found with what the tool's output is worth.
func (r *result) labelsOf(announced bool) []tool.Label {
	var labels []tool.Label
	for _, l := range r.cleaned.Labels {
		labels = append(labels, tool.Label(l))
	}
	if r.tool.Output() == tool.Untrusted || !announced || r.cleaned.Tainted {
		labels = append(labels, tool.LabelUntrusted)
	}
	return tool.Join(labels, nil)
}

// compare holds the result against the decision of its invocation. It reports false when no such call of this tool was allowed.
func (e *Enforcer) compare(ctx context.Context, r *result) bool {
	inv, known := e.seen.Get(seen.Key(r.who, r.req.SessionID, r.req.InvocationID))
	if !known || inv.Tool != toolClaim(r.req.Tool) {
		return false
	}
	accepted := e.runnable(ctx, r.who, inv)
	if accepted == "" { // it ran although nothing might
		r.answer.ExecutedMismatch = true
		return false
	}
	if len(r.req.RanInput) > 0 {
		ran, err := strictjson.Canonical(r.req.RanInput)
		r.answer.ExecutedMismatch = err != nil || tool.BytesDigest(ran) != accepted
	}
	return true
}

// runnable is the digest of the canonical arguments that may run, or "": what was decided, or what a person approved since.
func (e *Enforcer) runnable(ctx context.Context, who agent.Identity, inv seen.Call) string {
	if inv.Accepted != "" || inv.Answer.Review == nil {
		return inv.Accepted
	}
	item, err := e.cfg.Desk.Get(ctx, who.Tenant, inv.Answer.Review.ID)
	if err != nil || item.State != queue.Approved && item.State != queue.Consumed {
		return ""
	}
	input, _ := item.Approvable()
	canonical, err := strictjson.Canonical(input)
	if err != nil {
		return ""
	}
	return tool.BytesDigest(canonical)
}

// fill writes what was found into the answer.
func (r *result) fill() {
	a := &r.answer
	a.InvocationID, a.Result, a.Content, a.StructuredContent = r.req.InvocationID, r.cleaned.Envelope, r.cleaned.Content, r.cleaned.Structured
	a.Labels, a.Findings, a.Checked, a.NotChecked = r.labels, r.cleaned.Findings, r.cleaned.Checked, r.cleaned.NotChecked
	a.Injection = wire.Injection{Flagged: r.cleaned.Flagged, Score: r.cleaned.Score}
	a.Tainted = slices.Contains(r.labels, tool.LabelUntrusted)
}

// release asks policy; without a verdict the cleaned result may go out.
func (e *Enforcer) release(ctx context.Context, s interface{ Labels() []tool.Label }, r *result) {
	in := decision.Input{
		Phase: decision.PhaseResult, Tool: decision.FactsOf(r.tool),
		Caller:  decision.Caller{Agent: r.who.Subject, Tenant: r.who.Tenant, Profile: string(r.who.Profile)},
		Session: decision.SessionFacts{Labels: s.Labels(), Tainted: slices.Contains(s.Labels(), tool.LabelUntrusted)},
		Result:  &decision.ResultFacts{Status: statusOf(r.req), Labels: r.labels, Findings: r.cleaned.Counts()},
		Parsed:  decision.Parsed{Paths: []string{}, Hosts: []string{}}, Clock: decision.ClockAt(e.cfg.Now().In(e.cfg.Location)),
	}
	out, err := e.cfg.Decider.Decide(ctx, in)
	if err != nil {
		r.hide(decision.Deny, decision.Failure(err).Reason)
		return
	}
	switch {
	case !out.Spoke || out.Behavior >= decision.Allow:
		r.answer.Behavior = decision.Allow.String()
	case out.Behavior == decision.Ask:
		if err := e.askResult(ctx, r, out); err != nil {
			// Nobody can be asked, so nothing is released; the agent is told why.
			r.hide(decision.Deny, ostiary.Public(err).Msg)
		}
	default:
		r.hide(decision.Deny, decision.Reasons(out.Verdicts, out.Behavior)[0].Reason)
	}
}

func statusOf(req wire.ResultRequest) tool.Status {
	if req.Result != nil {
		return req.Result.Status
	}
	return tool.OK
}

// hide takes the content out of the answer; what was found stays.
func (r *result) hide(b decision.Behavior, why string) {
	r.answer.Behavior, r.answer.Reason = b.String(), why
	r.answer.Result, r.answer.Content, r.answer.StructuredContent = nil, nil, nil
}

// askResult puts the cleaned result on the desk; it is delivered with the review once a person approves.
func (e *Enforcer) askResult(ctx context.Context, r *result, out decision.Outcome) error {
	content, err := json.Marshal(map[string]any{"result": r.answer.Result, "content": r.answer.Content, "structured_content": r.answer.StructuredContent}, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("enforce: cleaned result: %w", err)
	}
	canonical, err := strictjson.Canonical(content)
	if err != nil {
		return err
	}
	digest := tool.Action{Tenant: r.who.Tenant, Agent: r.who.Subject, Session: r.req.SessionID, Server: e.cfg.Server, Tool: r.req.Tool,
		Definition: "result", Arguments: string(canonical)}.Digest()
	reasons := decision.Reasons(out.Verdicts, out.Behavior)
	item, err := e.Ask(ctx, queue.Item{
		Kind: queue.KindResult, Tenant: r.who.Tenant, Agent: r.who.Subject, Owner: r.who.Owner, Profile: string(r.who.Profile), Session: r.req.SessionID,
		InvocationID: r.req.InvocationID, Tool: r.req.Tool, Definition: r.tool.Digest, Input: content, ActionDigest: digest, Tier: queue.TierMedium,
		Summary: "Release the cleaned result of " + r.req.Tool.String() + " to the agent", Reasons: reasons, Risk: r.tool.Risk, RiskSource: r.tool.Source,
		PolicyRevision: out.Revision, Badges: []string{"result"},
	})
	if err != nil {
		return err
	}
	if item.State == queue.Approved {
		r.answer.Behavior = decision.Allow.String()
		return nil
	}
	b := decision.Ask
	if item.State != queue.Open {
		b = decision.Deny
	}
	r.hide(b, reasons[0].Reason)
	r.answer.Review = wire.ReviewOf(item)
	return nil
}

// withhold answers for content that could not be cleaned. It counts as untrusted all the same.
func (e *Enforcer) withhold(ctx context.Context, s *session.Session, r *result, why error) (wire.ResultResponse, error) {
	r.labels = []tool.Label{tool.LabelUntrusted}
	if err := s.Learn(ctx, clean.RawText(r.req), r.req.InvocationID, r.labels); err != nil {
		return wire.ResultResponse{}, ostiary.Wrap(ostiary.KindTaintUnknown, err, "the session's labels cannot be stored, so the result is withheld")
	}
	r.fill()
	r.answer.NotChecked = []string{"secret", "pii", "injection", "markup", "hidden_text", "url", "size"}
	r.fault = clean.Fault(why)
	r.hide(decision.Deny, "the content could not be cleaned ("+r.fault+"), so it is withheld")
	if err := e.recordResult(r, audit.ResultWithheld); err != nil {
		return wire.ResultResponse{}, err
	}
	return r.answer, nil
}

func (e *Enforcer) recordResult(r *result, class audit.Class) error {
	ev := audit.Event{
		Class: class, Tenant: r.who.Tenant, Agent: r.who.Subject, Session: r.req.SessionID, InvocationID: r.req.InvocationID, Tool: r.req.Tool.String(),
		Behavior: r.answer.Behavior, Status: string(statusOf(r.req)), Findings: r.cleaned.Counts(), Kind: r.fault,
	}
	for _, l := range r.labels {
		ev.Labels = append(ev.Labels, string(l))
	}
	if r.req.Result != nil {
		ev.DurationMS, ev.WarningsCount = r.req.Result.Meta.DurationMS, len(r.req.Result.Warnings)
		if told := r.cleaned.Envelope; told != nil && told.Error != nil {
			ev.ErrorCode = told.Error.Code
		}
	}
	if r.answer.Review != nil {
		ev.ReviewID = r.answer.Review.ID
	}
	return e.record(ev)
}
