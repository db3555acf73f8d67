package queue

import (
	"context"
	"sync"
)

// hub tells waiters in this process that an item changed. It holds no state of items: a wake-up only means "read again".
type hub struct {
	mu        sync.Mutex
	followers map[string]map[chan struct{}]struct{}
	watchers  map[chan string]struct{}
}

// watchBuffer is how many ids a watcher may lag behind before it misses some.
const watchBuffer = 256

func newHub() *hub {
	return &hub{followers: map[string]map[chan struct{}]struct{}{}, watchers: map[chan string]struct{}{}}
}

// follow returns a channel that is signalled when the item changes, and what ends it.
func (h *hub) follow(id string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.followers[id] == nil {
		h.followers[id] = map[chan struct{}]struct{}{}
	}
	h.followers[id][c] = struct{}{}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.followers[id], c)
		if len(h.followers[id]) == 0 {
			delete(h.followers, id)
		}
	}
}

func (h *hub) watch(ctx context.Context) <-chan string {
	c := make(chan string, watchBuffer)
	h.mu.Lock()
	h.watchers[c] = struct{}{}
	h.mu.Unlock()
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, c)
		close(c)
	})
	return c
}

// announce wakes everybody who follows the item; nobody is waited for.
func (h *hub) announce(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.followers[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	for c := range h.watchers {
		select {
		case c <- id:
		default:
		}
	}
}
