package decision

import "fmt"

// Behavior is what happens to a call. The order is the order of strictness, so the smaller of two is the stricter one, and the zero value
// denies.
type Behavior int

const (
	Deny        Behavior = iota // the call must not run
	Ask                         // a person must rule first
	Allow                       // the call may run
	Passthrough                 // no opinion; the host's own prompt applies
)

var behaviorNames = [...]string{"deny", "ask", "allow", "passthrough"}

func (b Behavior) String() string {
	if b < Deny || b > Passthrough {
		return "deny"
	}
	return behaviorNames[b]
}

// ParseBehavior reads a behavior's exact word.
func ParseBehavior(s string) (Behavior, error) {
	for b, name := range behaviorNames {
		if s == name {
			return Behavior(b), nil
		}
	}
	return Deny, fmt.Errorf("behavior %q: want allow, ask, deny or passthrough", s)
}

// MarshalText writes the word of the wire.
func (b Behavior) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads the word of the wire; an unknown word is an error and leaves Deny.
func (b *Behavior) UnmarshalText(text []byte) error {
	v, err := ParseBehavior(string(text))
	*b = v
	return err
}
