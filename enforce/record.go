package enforce

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"ostiary"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/internal/strictjson"
	"ostiary/sanitize"
)

// intend records the decision, once, before it is answered. An ask is on disk before its question is asked.
func (e *Enforcer) intend(c *call) error {
	if c.recorded {
		return nil
	}
	c.recorded = true
	c.decision = e.restamp(c, c.decision)
	ev := audit.Event{
		Class: audit.CallDecided, Tenant: c.who.Tenant, Agent: c.who.Subject, Session: c.req.SessionID, Request: c.req.RequestID,
		Iteration: c.req.Iteration, InvocationID: c.req.InvocationID, DecisionID: c.decision.ID, Tool: c.req.Tool.String(),
		Behavior: c.decision.Behavior.String(), Source: c.decision.Source, Rules: c.decision.RuleRefs(), Revision: c.decision.Revision,
		ArgsMAC: c.args.MAC, Args: c.args.Logged, DurationMS: e.cfg.Now().Sub(c.started).Milliseconds(),
	}
	if c.item != nil {
		ev.ReviewID, ev.State = c.item.ID, string(c.item.State)
	}
	if c.decision.Behavior == decision.Ask {
		return e.recordDurable(ev)
	}
	return e.record(ev)
}

func (e *Enforcer) record(ev audit.Event) error { return auditError(e.cfg.Journal.Append(ev)) }
func (e *Enforcer) recordDurable(ev audit.Event) error {
	return auditError(e.cfg.Journal.AppendDurable(ev))
}

func auditError(err error) error {
	if err == nil {
		return nil
	}
	return ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be written, and nothing runs unrecorded").
		WithFix("free space in the data directory and restart the sidecar")
}

// CheckIDs refuses identifiers that look like a credential: they are logged as they are, since the log is found by them.
func (e *Enforcer) CheckIDs(ids ...string) error {
	if ids = slices.DeleteFunc(ids, harmless); len(ids) == 0 {
		return nil
	}
	out, err := e.cfg.Masker.Text(context.Background(), sanitize.NewScope(), strings.Join(ids, "\n"), sanitize.Options{})
	if err != nil {
		return ostiary.Wrap(ostiary.KindInvalidField, err, "the identifiers of the request cannot be checked")
	}
	if slices.ContainsFunc(out.Findings, func(f sanitize.Finding) bool { return f.Family == sanitize.Secret }) {
		return ostiary.Errorf(ostiary.KindInvalidField, "an identifier of the request looks like a credential, and identifiers are logged").WithFix("use random ids")
	}
	return nil
}

// harmless reports whether an identifier is too short for a credential, or a UUID, with a word before it or without.
func harmless(id string) bool {
	const shortest, uuidLength = 16, 36
	_, tail, found := strings.Cut(id, "_")
	if !found {
		tail = id
	}
	return len(id) < shortest || len(tail) == uuidLength && uuid.Validate(tail) == nil
}

// masked returns one string for a reviewer: as it is, unless it holds a secret; what cannot be checked is not shown.
func (e *Enforcer) masked(leaf strictjson.Leaf) string { return e.maskedText(leaf.Text) }

func (e *Enforcer) maskedText(text string) string {
	out, err := e.cfg.Masker.Text(context.Background(), sanitize.NewScope(), text, sanitize.Options{})
	if err != nil {
		return "[not shown]"
	}
	if slices.ContainsFunc(out.Findings, func(f sanitize.Finding) bool { return f.Family == sanitize.Secret }) {
		return out.Text
	}
	return text
}
