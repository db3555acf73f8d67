package enforce

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/enforce/clean"
	"ostiary/queue"
	"ostiary/queue/view"
	"ostiary/sanitize"
)

// Reviewers is the reviewers' side of an Enforcer: what the console of this machine works on.
type Reviewers struct{ e *Enforcer }

// Reviewers returns the reviewers' side.
func (e *Enforcer) Reviewers() Reviewers { return Reviewers{e} }

// List returns a page of the reviewer's tenant.
func (r Reviewers) List(ctx context.Context, who agent.Identity, f queue.Filter) (queue.Page, error) {
	f.Tenant = who.Tenant
	return r.e.cfg.Desk.List(ctx, f)
}

// Get returns one item, rendered.
func (r Reviewers) Get(ctx context.Context, who agent.Identity, id string) (queue.Item, error) {
	item, err := r.e.cfg.Desk.Get(ctx, who.Tenant, id)
	if err != nil {
		return item, err
	}
	return r.e.show(ctx, item)
}

// Rule applies a ruling. An edit is a new call: it is held against the tool's schema and policy before it counts, and a deny refuses it.
func (r Reviewers) Rule(ctx context.Context, who agent.Identity, id string, ruling queue.Ruling) (queue.Item, error) {
	var edit *queue.Settled
	if ruling.Kind == queue.Edit {
		settled, err := r.settleEdit(ctx, who, id, ruling.EditedInput)
		if err != nil {
			return queue.Item{}, err
		}
		edit = &settled
	}
	if ruling.Kind == queue.Respond {
		text, err := r.cleanText(ctx, ruling.Text)
		if err != nil {
			return queue.Item{}, err
		}
		ruling.Text = text
	}
	item, err := r.e.cfg.Desk.Rule(ctx, who, id, ruling, edit)
	if err != nil {
		shown, showErr := r.e.show(ctx, item)
		if showErr != nil {
			return queue.Item{}, err // unmasked, it is for nobody's eyes
		}
		return shown, err
	}
	if item.State == queue.Approved && item.Kind == queue.KindCall {
		// The ruling stands whatever becomes of this; without an endorsement the next call just asks again.
		_ = r.e.endorse(ctx, item)
	}
	return r.e.show(ctx, item)
}

// settleEdit says what the desk must know of an edited call; one that policy denies is refused.
func (r Reviewers) settleEdit(ctx context.Context, who agent.Identity, id string, edited jsontext.Value) (queue.Settled, error) {
	d, digest, err := r.judgeEdit(ctx, who, id, edited)
	if err != nil {
		return queue.Settled{}, err
	}
	if d.Behavior == decision.Deny {
		return queue.Settled{}, ostiary.Errorf(ostiary.KindEditDenied, "policy denies the edited call: %s", d.Reason)
	}
	if _, err := clean.Secrets(ctx, r.e.cfg.Masker, edited); err != nil {
		return queue.Settled{}, err
	}
	args, err := view.Arguments(edited, func(string) (role, origin string) { return "", "" })
	if err != nil {
		return queue.Settled{}, err
	}
	return queue.Settled{Digest: digest, Obligations: d.Obligations, Uninspectable: view.Uninspectable(args)}, nil
}

func (r Reviewers) cleanText(ctx context.Context, text string) (string, error) {
	out, err := r.e.cfg.Masker.Text(ctx, sanitize.NewScope(), text, sanitize.Options{})
	if err != nil {
		return "", ostiary.Wrap(ostiary.KindSanitizer, err, "the response could not be cleaned, so it was not sent")
	}
	return out.Text, nil
}

// TryEdit says what policy thinks of an edited call, without any effect.
func (r Reviewers) TryEdit(ctx context.Context, who agent.Identity, id string, edited jsontext.Value) (decision.Decision, error) {
	d, _, err := r.judgeEdit(ctx, who, id, edited)
	return d, err
}

func (r Reviewers) judgeEdit(ctx context.Context, who agent.Identity, id string, edited jsontext.Value) (decision.Decision, string, error) {
	item, err := r.e.cfg.Desk.Get(ctx, who.Tenant, id)
	if err != nil {
		return decision.Decision{}, "", err
	}
	if item.Kind != queue.KindCall {
		return decision.Decision{}, "", ostiary.Errorf(ostiary.KindInvalidField, "only a call can be edited")
	}
	return r.e.approvedEdit(ctx, item, edited)
}

// Revoke withdraws an approval that was not used yet.
func (r Reviewers) Revoke(ctx context.Context, who agent.Identity, id string) (queue.Item, error) {
	item, err := r.e.cfg.Desk.Revoke(ctx, who, id)
	if err != nil {
		return item, err
	}
	return r.e.show(ctx, item)
}

// Reveal records that a person looked at a masked value, before it is shown.
func (r Reviewers) Reveal(ctx context.Context, who agent.Identity, id, pointer string) error {
	item, err := r.e.cfg.Desk.Get(ctx, who.Tenant, id)
	if err != nil {
		return err
	}
	if !who.CanRule() {
		return ostiary.Errorf(ostiary.KindRole, "this credential may not see masked values")
	}
	return r.e.recordDurable(audit.Event{
		Class: audit.ValueRevealed, Tenant: item.Tenant, Agent: item.Agent, Session: item.Session, ReviewID: item.ID, Tool: item.Tool.String(),
		Person: who.Name, Reason: pointer,
	})
}

// Timeline returns the events of the item's session.
func (r Reviewers) Timeline(ctx context.Context, who agent.Identity, id string) ([]audit.Event, error) {
	item, err := r.e.cfg.Desk.Get(ctx, who.Tenant, id)
	if err != nil {
		return nil, err
	}
	events, err := r.e.cfg.Journal.Session(item.Tenant, item.Session)
	if err != nil {
		return nil, ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be read")
	}
	return slices.Clip(events), nil
}

// Watch sends the ids of items that change until ctx ends.
func (r Reviewers) Watch(ctx context.Context) <-chan string { return r.e.cfg.Desk.Watch(ctx) }
