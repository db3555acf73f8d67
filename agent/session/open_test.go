package session_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"ostiary/agent"
	"ostiary/agent/session"
	"ostiary/agent/session/localsession"
)

// heldStore holds up the saving of one session until it is let go.
type heldStore struct {
	session.Store
	held    string
	saving  chan struct{}
	release chan struct{}
	mu      sync.Mutex
	saved   map[string]int
}

func (h *heldStore) Save(ctx context.Context, rec session.Record) error {
	h.mu.Lock()
	h.saved[rec.ID]++
	h.mu.Unlock()
	if rec.ID == h.held {
		h.saving <- struct{}{}
		<-h.release
	}
	return h.Store.Save(ctx, rec)
}

func TestASessionThatIsBeingOpenedHoldsUpNoOther(t *testing.T) {
	store := &heldStore{Store: localsession.New(newPlace(t).db), held: "slow", saving: make(chan struct{}, 10), release: make(chan struct{}), saved: map[string]int{}}
	b, err := session.NewBook(session.Config{Store: store, Now: time.Now, Epoch: "1"})
	if err != nil {
		t.Fatal(err)
	}
	who := agent.Identity{Tenant: "t", Subject: "a", Role: agent.RoleAgent}
	enter := func(id, parent string) (*session.Session, error) {
		return b.Enter(context.Background(), who, id, parent)
	}
	if _, err := enter("known", ""); err != nil {
		t.Fatal(err)
	}
	opened := make(chan *session.Session, 10)
	for range 10 {
		go func() {
			s, err := enter("slow", "known")
			if err != nil {
				t.Error(err)
			}
			opened <- s
		}()
	}
	<-store.saving
	for _, id := range []string{"known", "other"} {
		if _, err := enter(id, ""); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	close(store.release)
	first := <-opened
	for range 9 {
		if s := <-opened; s != first {
			t.Error("one id has two sessions")
		}
	}
	if store.saved["slow"] != 1 {
		t.Errorf("opened %d times", store.saved["slow"])
	}
}

func TestACallerWhoLeavesTakesTheSessionFromNobody(t *testing.T) {
	store := &heldStore{Store: localsession.New(newPlace(t).db), held: "slow", saving: make(chan struct{}, 2), release: make(chan struct{}), saved: map[string]int{}}
	b, err := session.NewBook(session.Config{Store: store, Now: time.Now, Epoch: "1"})
	if err != nil {
		t.Fatal(err)
	}
	who := agent.Identity{Tenant: "t", Subject: "a", Role: agent.RoleAgent}
	ctx, leave := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := b.Enter(ctx, who, "slow", "")
		done <- err
	}()
	<-store.saving
	leave()
	close(store.release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := b.Enter(context.Background(), who, "slow", ""); err != nil || store.saved["slow"] != 1 {
		t.Errorf("%v, opened %d times", err, store.saved["slow"])
	}
}

func TestSessionsThatNameEachOtherAsParentsDoNotWaitForEver(t *testing.T) {
	b, err := session.NewBook(session.Config{Store: localsession.New(newPlace(t).db), Now: time.Now, Epoch: "1"})
	if err != nil {
		t.Fatal(err)
	}
	who := agent.Identity{Tenant: "t", Subject: "a", Role: agent.RoleAgent}
	var group sync.WaitGroup
	for _, pair := range [][2]string{{"x", "y"}, {"y", "x"}, {"z", "z"}} {
		for range 20 {
			group.Go(func() {
				_, err := b.Enter(context.Background(), who, pair[0], pair[1])
				_ = err // refused, since neither is known; what counts is that there is an answer
			})
		}
	}
	group.Wait()
}
