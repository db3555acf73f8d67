package queue

import "slices"

// State is where a review item stands.
type State string

// States of review.md §1.
const (
	Open        State = "open"
	Approved    State = "approved"
	Denied      State = "denied"
	Responded   State = "responded"
	Expired     State = "expired"
	Cancelled   State = "cancelled"
	Invalidated State = "invalidated"
	Consumed    State = "consumed"
	Lapsed      State = "lapsed"
	Revoked     State = "revoked"
)

// next is the one table of transitions; code, diagram and tests derive from it.
var next = map[State][]State{
	Open:     {Approved, Denied, Responded, Expired, Cancelled, Invalidated},
	Approved: {Consumed, Lapsed, Revoked, Invalidated},
}

// States lists every state, in the order of an item's life.
func States() []State {
	return []State{Open, Approved, Denied, Responded, Expired, Cancelled, Invalidated, Consumed, Lapsed, Revoked}
}

// CanBecome reports whether the table lets s become t.
func (s State) CanBecome(t State) bool { return slices.Contains(next[s], t) }

// Ended reports whether the item can never change again.
func (s State) Ended() bool { return len(next[s]) == 0 }

// Known reports whether s is one of the states.
func (s State) Known() bool { return slices.Contains(States(), s) }
