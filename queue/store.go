package queue

import (
	"context"
	"errors"
	"time"
)

// Errors of a Store.
var (
	ErrNotFound = errors.New("queue: no such item")
	ErrFull     = errors.New("queue: too many open items")
	ErrUsed     = errors.New("queue: the permit was used before")
	ErrCursor   = errors.New("queue: not a cursor of this list")
)

// Caps bound how many items may be open at once.
type Caps struct {
	PerSession int // default 32
	PerAgent   int // default 64
	PerTenant  int // default 500
}

// Store keeps items durably: what a method has returned without error survives kill −9 and power loss. Implementations are safe for
// concurrent use and must pass queuetest.Run.
type Store interface {
	// Open stores a new item, or returns the live one (open or approved) of the same tenant, session and action digest and false.
	// It returns ErrFull when a cap is reached.
	Open(ctx context.Context, item Item, caps Caps) (Item, bool, error)
	// Get returns one item; ErrNotFound when the tenant has none of that id.
	Get(ctx context.Context, tenant, id string) (Item, error)
	// Latest returns the newest item of a session whose asked or edited action digest is digest; ErrNotFound when there is none.
	Latest(ctx context.Context, tenant, session, digest string) (Item, error)
	// Update applies change to the item in one atomic step and counts its version up. When change returns an error nothing is
	// stored, and Update returns the item as it stands with that error.
	Update(ctx context.Context, tenant, id string, change func(*Item) error) (Item, error)
	// List returns the newest items that fit the filter; ErrCursor for a cursor that the store did not write.
	List(ctx context.Context, f Filter) (Page, error)
	// Due returns the open and approved items whose time is up at now.
	Due(ctx context.Context, now time.Time) ([]Item, error)
	// UsePermit records that a permit without an item was used; ErrUsed when it was before. before may veto by an error, and runs
	// inside the same atomic step.
	UsePermit(ctx context.Context, jti string, at time.Time, before func() error) error
}
