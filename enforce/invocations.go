package enforce

import (
	"sync"

	"ostiary/agent"
	"ostiary/enforce/wire"
)

// maxInvocations bounds how many decided calls are remembered; the oldest are forgotten first.
const maxInvocations = 50_000

// invocation is a decided call, remembered so that the same id gets the same answer and a result can be held against what was decided.
type invocation struct {
	digest   string
	tool     string
	answer   wire.Decision
	accepted string // canonical arguments that may run; empty when none may yet
}

// invocations remembers decided calls by session and invocation id. It is safe for concurrent use.
type invocations struct {
	mu    sync.Mutex
	known map[string]invocation
	order []string // ring of keys, oldest at next
	next  int
}

func newInvocations() *invocations { return &invocations{known: map[string]invocation{}} }

// invocationKey holds the agent too: an answer is for nobody else, whatever ids they send.
func invocationKey(who agent.Identity, session, id string) string {
	return who.Tenant + "\x00" + who.Subject + "\x00" + session + "\x00" + id
}

func (v *invocations) get(key string) (invocation, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	inv, ok := v.known[key]
	return inv, ok
}

func (v *invocations) put(key string, inv invocation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.known[key]; !known {
		if len(v.order) < maxInvocations {
			v.order = append(v.order, key)
		} else {
			delete(v.known, v.order[v.next])
			v.order[v.next] = key
			v.next = (v.next + 1) % maxInvocations
		}
	}
	v.known[key] = inv
}
