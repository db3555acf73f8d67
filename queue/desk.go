package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
)

// DeskConfig says how a Desk works.
type DeskConfig struct {
	// Store keeps the items; required.
	Store Store
	// Record appends an event and returns when it is on disk; required. It is called inside the atomic step that it tells of, so a
	// ruling is recorded before it has an effect.
	Record func(audit.Event) error
	// Now is the clock; required.
	Now func() time.Time
	// Caps bound the open items.
	Caps Caps
	// ReviewTTL is how long a question stays open. Default 1h.
	ReviewTTL time.Duration
	// ApprovalTTL is how long an approval can be used. Default 30m.
	ApprovalTTL time.Duration
	// VetoTTL is how long a denial answers the same call again. Default 30m.
	VetoTTL time.Duration
}

// Desk applies the review protocol to the items of a Store. It is safe for concurrent use.
type Desk struct {
	cfg DeskConfig
	hub *hub
}

// NewDesk returns a Desk; missing parts are all named in the error.
func NewDesk(cfg DeskConfig) (*Desk, error) {
	var errs []error
	if cfg.Store == nil {
		errs = append(errs, errors.New("Store is required"))
	}
	if cfg.Record == nil {
		errs = append(errs, errors.New("Record is required"))
	}
	if cfg.Now == nil {
		errs = append(errs, errors.New("Now is required"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("queue: %w", errors.Join(errs...))
	}
	cfg.Caps.PerSession = orInt(cfg.Caps.PerSession, 32)
	cfg.Caps.PerAgent = orInt(cfg.Caps.PerAgent, 64)
	cfg.Caps.PerTenant = orInt(cfg.Caps.PerTenant, 500)
	cfg.ReviewTTL = orDuration(cfg.ReviewTTL, time.Hour)
	cfg.ApprovalTTL = orDuration(cfg.ApprovalTTL, 30*time.Minute)
	cfg.VetoTTL = orDuration(cfg.VetoTTL, 30*time.Minute)
	return &Desk{cfg: cfg, hub: newHub()}, nil
}

func orInt(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}

func orDuration(v, otherwise time.Duration) time.Duration {
	if v == 0 {
		return otherwise
	}
	return v
}

// Answer returns the item that already answers a call: live, or a denial within its veto. It reports false when a person must be asked.
func (d *Desk) Answer(ctx context.Context, tenant, session, digest string) (Item, bool, error) {
	item, err := d.cfg.Store.Latest(ctx, tenant, session, digest)
	if errors.Is(err, ErrNotFound) {
		return Item{}, false, nil
	}
	if err != nil {
		return Item{}, false, err
	}
	if item, err = d.expire(ctx, item); err != nil {
		return Item{}, false, err
	}
	switch item.State {
	case Open, Approved:
		return item, true, nil
	case Denied, Responded:
		return item, d.cfg.Now().Before(item.ResolvedAt.Add(d.cfg.VetoTTL)), nil
	default:
		return item, false, nil
	}
}

// Open puts an item on the desk, or returns the live one of the same call. The item is on disk when Open returns.
func (d *Desk) Open(ctx context.Context, item Item) (Item, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Item{}, fmt.Errorf("queue: item id: %w", err)
	}
	jti, err := uuid.NewRandom()
	if err != nil {
		return Item{}, fmt.Errorf("queue: permit id: %w", err)
	}
	now := d.cfg.Now().UTC()
	item.ID, item.State, item.PermitID = "rev_"+id.String(), Open, "pmt_"+jti.String()
	item.OpenedAt, item.ExpiresAt = now, now.Add(d.cfg.ReviewTTL)
	// Recorded first: an event without an item tells of a question that was never acknowledged, an item without an event would be a hole.
	if err := d.cfg.Record(event(item, audit.ReviewOpened)); err != nil {
		return Item{}, ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be written, so nobody can be asked")
	}
	stored, created, err := d.cfg.Store.Open(ctx, item, d.cfg.Caps)
	switch {
	case errors.Is(err, ErrFull):
		return Item{}, ostiary.Wrap(ostiary.KindQueueFull, err, "too many calls wait for a person already").WithFix("wait for reviews to be ruled on, then try again")
	case err != nil:
		return Item{}, ostiary.Wrap(ostiary.KindNotDurable, err, "the question could not be stored")
	}
	if created {
		d.hub.announce(stored.ID)
	}
	return stored, nil
}

// Get returns one item as it stands now.
func (d *Desk) Get(ctx context.Context, tenant, id string) (Item, error) {
	item, err := d.cfg.Store.Get(ctx, tenant, id)
	if err != nil {
		return Item{}, said(err)
	}
	return d.expire(ctx, item)
}

// List returns a page of items.
func (d *Desk) List(ctx context.Context, f Filter) (Page, error) {
	page, err := d.cfg.Store.List(ctx, f)
	if errors.Is(err, ErrCursor) {
		return page, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/cursor", Msg: "the cursor is not one of this list", Err: err}
	}
	return page, err
}

// Wait returns the item once it is no longer open, or as it is when ctx ends.
func (d *Desk) Wait(ctx context.Context, tenant, id string) (Item, error) {
	changed, cancel := d.hub.follow(id)
	defer cancel()
	for {
		// What is read is the truth; the wake-up itself decides nothing. The read outlives the wait, which may have just ended.
		item, err := d.Get(context.WithoutCancel(ctx), tenant, id)
		if err != nil || item.State != Open || ctx.Err() != nil {
			return item, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Watch sends the ids of items that change until ctx ends. A watcher that does not keep up misses ids and should read the list again.
func (d *Desk) Watch(ctx context.Context) <-chan string { return d.hub.watch(ctx) }

// Cancel withdraws an open question: the agent no longer wants the call.
func (d *Desk) Cancel(ctx context.Context, tenant, id string) (Item, error) {
	return d.close(ctx, tenant, id, Cancelled, "the agent withdrew the call", "")
}

// Revoke withdraws an approval that was not used yet.
func (d *Desk) Revoke(ctx context.Context, who agent.Identity, id string) (Item, error) {
	if !who.CanRule() {
		return Item{}, roleError()
	}
	return d.close(ctx, who.Tenant, id, Revoked, "a reviewer withdrew the approval", who.Name)
}

// Invalidate closes an item because what it was asked about no longer holds.
func (d *Desk) Invalidate(ctx context.Context, tenant, id, why string) (Item, error) {
	return d.close(ctx, tenant, id, Invalidated, why, "")
}

func (d *Desk) close(ctx context.Context, tenant, id string, to State, why, person string) (Item, error) {
	return d.change(ctx, tenant, id, func(i *Item) error {
		if !i.State.CanBecome(to) {
			return decided(*i)
		}
		i.State, i.ClosedBy, i.ResolvedAt = to, why, d.cfg.Now().UTC()
		e := event(*i, audit.ReviewClosed)
		e.Reason, e.Person = why, person
		return d.record(e)
	})
}

// Consume uses up an approval: exactly one caller succeeds. check runs inside the atomic step, before the use is recorded.
func (d *Desk) Consume(ctx context.Context, tenant, id string, check func(Item) error) (Item, error) {
	return d.change(ctx, tenant, id, func(i *Item) error {
		if err := usable(*i, d.cfg.Now()); err != nil {
			return err
		}
		if err := check(*i); err != nil {
			return err
		}
		i.State, i.ResolvedAt = Consumed, d.cfg.Now().UTC()
		e := event(*i, audit.PermitRedeemed)
		e.PermitID = i.PermitID
		return d.record(e)
	})
}

// UsePermit uses up a permit that no review stands behind.
func (d *Desk) UsePermit(ctx context.Context, jti string, e audit.Event) error {
	err := d.cfg.Store.UsePermit(ctx, jti, d.cfg.Now(), func() error { return d.record(e) })
	if errors.Is(err, ErrUsed) {
		return ostiary.Wrap(ostiary.KindConsumed, err, "the permit was used before")
	}
	return err
}

// usable says why an approval cannot be used now.
func usable(i Item, now time.Time) error {
	switch {
	case i.State == Consumed:
		return ostiary.Errorf(ostiary.KindConsumed, "the permit was used before")
	case i.State == Revoked:
		return ostiary.Errorf(ostiary.KindRevoked, "the approval was withdrawn")
	case i.State == Lapsed, i.State == Expired, i.State == Approved && !now.Before(i.ExpiresAt):
		return ostiary.Errorf(ostiary.KindPermitExpired, "the approval is past its time").WithFix("ask again with the same call")
	case i.State != Approved:
		return ostiary.Errorf(ostiary.KindRevoked, "the call is not approved")
	}
	return nil
}

// change applies one transition and wakes who waits for it.
func (d *Desk) change(ctx context.Context, tenant, id string, fn func(*Item) error) (Item, error) {
	item, err := d.cfg.Store.Update(ctx, tenant, id, fn)
	if err != nil {
		return item, said(err)
	}
	d.hub.announce(id)
	return item, nil
}

func (d *Desk) record(e audit.Event) error {
	if err := d.cfg.Record(e); err != nil {
		return ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be written, so nothing was changed")
	}
	return nil
}

// said gives the store's errors a kind.
func said(err error) error {
	var e *ostiary.Error
	switch {
	case errors.As(err, &e), errors.Is(err, errNotDue):
		return err
	case errors.Is(err, ErrNotFound):
		return ostiary.Wrap(ostiary.KindNotFound, err, "there is no such review")
	default:
		return ostiary.Wrap(ostiary.KindNotDurable, err, "the change could not be stored")
	}
}

func decided(i Item) error {
	return ostiary.Errorf(ostiary.KindAlreadyDecided, "the review is %s already", i.State)
}

func roleError() error {
	return ostiary.Errorf(ostiary.KindRole, "this credential may not rule on reviews").WithFix("sign in as a reviewer")
}

// event tells of an item.
func event(i Item, class audit.Class) audit.Event {
	return audit.Event{
		Class: class, Tenant: i.Tenant, Agent: i.Agent, Session: i.Session, InvocationID: i.InvocationID, DecisionID: i.DecisionID,
		ReviewID: i.ID, Tool: i.Tool.String(), State: string(i.State), Revision: i.PolicyRevision,
	}
}
