package seen

import (
	"sync"

	"ostiary/agent"
	"ostiary/enforce/wire"
)

// maxCalls bounds how many decided calls are remembered; the oldest are forgotten first.
const maxCalls = 20_000

// Call is a decided call, remembered so that the same id gets the same answer and a result can be held against what was decided.
type Call struct {
	Digest   string
	Tool     string
	Answer   wire.Decision
	Accepted string // digest of the canonical arguments that may run; empty when none may yet
}

// Calls remembers decided calls by session and invocation id. It is safe for concurrent use.
type Calls struct {
	mu    sync.Mutex
	known map[string]Call
	order []string // ring of keys, oldest at next
	next  int
}

// New returns an empty memory.
func New() *Calls { return &Calls{known: map[string]Call{}} }

// Key names an invocation. It holds the agent too: an answer is for nobody else, whatever ids they send.
func Key(who agent.Identity, session, id string) string {
	return who.Tenant + "\x00" + who.Subject + "\x00" + session + "\x00" + id
}

// Get returns the call of a key, when it is remembered.
func (v *Calls) Get(key string) (Call, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	inv, ok := v.known[key]
	return inv, ok
}

// Put remembers a call, in place of one of the same key.
func (v *Calls) Put(key string, inv Call) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.known[key]; !known {
		if len(v.order) < maxCalls {
			v.order = append(v.order, key)
		} else {
			delete(v.known, v.order[v.next])
			v.order[v.next] = key
			v.next = (v.next + 1) % maxCalls
		}
	}
	v.known[key] = inv
}
