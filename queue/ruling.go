package queue

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
)

// Settled is an edit that policy has judged.
type Settled struct {
	Digest        string   // action digest of the edited call
	Obligations   []string // what policy obliges to for the edited call
	Uninspectable bool     // the edited arguments cannot be shown completely
}

// Rule applies one person's ruling. For an edit, edit carries what policy settled about it; it is nil for every other kind.
//
// Refused with the kinds of wire.md §3. When somebody else was first, the returned item is the winner's and the kind is already_decided.
func (d *Desk) Rule(ctx context.Context, who agent.Identity, id string, r Ruling, edit *Settled) (Item, error) {
	if !who.CanRule() {
		return Item{}, roleError()
	}
	item, err := d.Get(ctx, who.Tenant, id) // closes the item first when its time is up
	if err != nil {
		return Item{}, err
	}
	if item.State == Expired {
		return item, ostiary.Errorf(ostiary.KindReviewExpired, "the review expired before it was ruled on").WithFix("the agent can ask again with the same call")
	}
	r.Person, r.At = who.Name, d.cfg.Now().UTC()
	return d.change(ctx, who.Tenant, id, func(i *Item) error {
		if err := d.admit(*i, who, r, edit); err != nil {
			return err
		}
		d.settle(i, r, edit)
		e := event(*i, audit.RulingRecorded)
		e.Ruling, e.Person, e.Reason = string(r.Kind), r.Person, r.ReasonCode
		return d.record(e)
	})
}

// admit checks every guard of a ruling against the item as it stands inside the atomic step.
func (d *Desk) admit(i Item, who agent.Identity, r Ruling, edit *Settled) error {
	switch {
	case i.State != Open:
		return decided(i)
	case !d.cfg.Now().Before(i.ExpiresAt):
		return ostiary.Errorf(ostiary.KindReviewExpired, "the review expired before it was ruled on")
	case i.Owner != "" && strings.EqualFold(i.Owner, who.Name):
		return ostiary.Errorf(ostiary.KindSelfApproval, "nobody rules on a call of their own agent").WithFix("ask another reviewer")
	case r.Version != i.Version || r.ActionDigest != i.ActionDigest:
		return ostiary.Errorf(ostiary.KindStaleVersion, "the review changed since it was shown").WithFix("look at it again, then rule")
	case r.ViewDigest != i.ViewDigest:
		return ostiary.Errorf(ostiary.KindViewIncomplete, "the ruling does not vouch for what the review shows").WithFix("look at every argument, then rule")
	}
	return admitKind(i, r, edit)
}

func admitKind(i Item, r Ruling, edit *Settled) error {
	switch r.Kind {
	case Approve:
		return admitReason(r, i.Uninspectable, i.Obligations)
	case Deny:
		if strings.TrimSpace(r.ReasonCode) == "" {
			return ostiary.Errorf(ostiary.KindReasonRequired, "a denial needs a reason code")
		}
	case Edit:
		if i.Kind != KindCall || edit == nil || len(r.EditedInput) == 0 {
			return ostiary.Errorf(ostiary.KindInvalidField, "an edit needs edited_input")
		}
		if edit.Digest == i.ActionDigest {
			return ostiary.Errorf(ostiary.KindInvalidField, "the edit changes nothing").WithFix("approve the call as it is")
		}
		return admitReason(r, edit.Uninspectable, slices.Concat(i.Obligations, edit.Obligations))
	case Respond:
		if strings.TrimSpace(r.Text) == "" {
			return ostiary.Errorf(ostiary.KindInvalidField, "a response needs a text")
		}
	default:
		return ostiary.Errorf(ostiary.KindInvalidField, "kind is %q, want approve, deny, edit or respond", string(r.Kind))
	}
	return nil
}

// admitReason wants a reason of whoever lets a call run that cannot be shown completely, or for which policy wants one.
func admitReason(r Ruling, uninspectable bool, obligations []string) error {
	switch {
	case strings.TrimSpace(r.Reason) != "":
		return nil
	case uninspectable:
		return ostiary.Errorf(ostiary.KindReasonRequired, "parts of this call cannot be shown, so letting it run needs a reason")
	case slices.Contains(obligations, decision.ObligationReason):
		return ostiary.Errorf(ostiary.KindReasonRequired, "policy wants a reason for letting this call run")
	}
	return nil
}

// settle moves the item; its guards have passed.
func (d *Desk) settle(i *Item, r Ruling, edit *Settled) {
	i.Rulings = append(slices.Clone(i.Rulings), r)
	i.ResolvedAt = r.At
	switch r.Kind {
	case Approve:
		i.State = Approved
	case Edit:
		i.State, i.EditedInput, i.EditedDigest = Approved, slices.Clone(r.EditedInput), edit.Digest
	case Deny:
		i.State = Denied
	case Respond:
		i.State = Responded
	}
	if i.State == Approved {
		i.ExpiresAt = r.At.Add(d.cfg.ApprovalTTL)
	}
}

// expire closes an item whose time is up and returns it as it then stands.
func (d *Desk) expire(ctx context.Context, item Item) (Item, error) {
	to, due := overdue(item, d)
	if !due {
		return item, nil
	}
	closed, err := d.change(ctx, item.Tenant, item.ID, func(i *Item) error {
		if to, due = overdue(*i, d); !due {
			return errNotDue
		}
		i.State, i.ClosedBy, i.ResolvedAt = to, "nobody acted in time", d.cfg.Now().UTC()
		return d.record(event(*i, audit.ReviewClosed))
	})
	if errors.Is(err, errNotDue) {
		return closed, nil
	}
	return closed, err
}

// errNotDue undoes a change that somebody else has made already.
var errNotDue = errors.New("queue: the item's time is not up")

// overdue says what an item whose time is up becomes.
func overdue(i Item, d *Desk) (State, bool) {
	if d.cfg.Now().Before(i.ExpiresAt) {
		return "", false
	}
	switch i.State {
	case Open:
		return Expired, true
	case Approved:
		return Lapsed, true
	default:
		return "", false
	}
}

// Sweep closes every item whose time is up, so that waiters hear of it. Call it about once a second.
func (d *Desk) Sweep(ctx context.Context) error {
	due, err := d.cfg.Store.Due(ctx, d.cfg.Now())
	if err != nil {
		return err
	}
	for _, item := range due {
		if _, err := d.expire(ctx, item); err != nil {
			return err
		}
	}
	return nil
}
