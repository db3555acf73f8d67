package queue_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/internal/localdb"
	"ostiary/queue"
	"ostiary/queue/localqueue"
)

// bench is a desk on a real store with a clock that tests move.
type bench struct {
	desk *queue.Desk
	mu   sync.Mutex
	now  time.Time
	log  []audit.Event
	fail error // what recording answers
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func (b *bench) record(e audit.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail == nil {
		b.log = append(b.log, e)
	}
	return b.fail
}

func setup(t testing.TB) *bench {
	t.Helper()
	db, err := localdb.Open(context.Background(), filepath.Join(t.TempDir(), "q.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bench{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.desk, err = queue.NewDesk(queue.DeskConfig{Store: localqueue.New(db), Record: b.record, Now: b.clock})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var reviewer = agent.Identity{Tenant: "t", Subject: "r:bob", Name: "bob", Role: agent.RoleReviewer}

func (b *bench) ask(t testing.TB, change func(*queue.Item)) queue.Item {
	t.Helper()
	i := queue.Item{Kind: queue.KindCall, Tenant: "t", Agent: "a", Session: "s", Input: []byte(`{}`), ActionDigest: "sha256:1", ViewDigest: "sha256:v"}
	if change != nil {
		change(&i)
	}
	item, err := b.desk.Open(context.Background(), i)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func ruling(i queue.Item, k queue.RulingKind) queue.Ruling {
	return queue.Ruling{Kind: k, Version: i.Version, ActionDigest: i.ActionDigest, ViewDigest: i.ViewDigest, ReasonCode: "other", Text: "no"}
}

func (b *bench) rule(i queue.Item, r queue.Ruling) (queue.Item, error) {
	return b.desk.Rule(context.Background(), reviewer, i.ID, r, nil)
}

func wantKind(t testing.TB, err error, kind ostiary.Kind) {
	t.Helper()
	if ostiary.KindOf(err) != kind {
		t.Errorf("got %v, want %q", err, kind)
	}
}

func TestARulingThatDoesNotFitIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		item   func(*queue.Item)
		who    agent.Identity
		change func(*queue.Ruling)
		kind   ostiary.Kind
	}{
		"an agent":              {nil, agent.Identity{Tenant: "t", Name: "bob", Role: agent.RoleAgent}, nil, ostiary.KindRole},
		"a viewer":              {nil, agent.Identity{Tenant: "t", Name: "bob", Role: agent.RoleViewer}, nil, ostiary.KindRole},
		"an author":             {nil, agent.Identity{Tenant: "t", Name: "bob", Role: agent.RoleAuthor}, nil, ostiary.KindRole},
		"another tenant":        {nil, agent.Identity{Tenant: "u", Name: "bob", Role: agent.RoleAdmin}, nil, ostiary.KindNotFound},
		"the agent's owner":     {func(i *queue.Item) { i.Owner = "bob" }, reviewer, nil, ostiary.KindSelfApproval},
		"an old version":        {nil, reviewer, func(r *queue.Ruling) { r.Version = 0 }, ostiary.KindStaleVersion},
		"other arguments":       {nil, reviewer, func(r *queue.Ruling) { r.ActionDigest = "sha256:2" }, ostiary.KindStaleVersion},
		"an item not looked at": {nil, reviewer, func(r *queue.Ruling) { r.ViewDigest = "" }, ostiary.KindViewIncomplete},
		"a denial without code": {nil, reviewer, func(r *queue.Ruling) { r.Kind, r.ReasonCode = queue.Deny, " " }, ostiary.KindReasonRequired},
		"an empty response":     {nil, reviewer, func(r *queue.Ruling) { r.Kind, r.Text = queue.Respond, "" }, ostiary.KindInvalidField},
		"an unjudged edit":      {nil, reviewer, func(r *queue.Ruling) { r.Kind, r.EditedInput = queue.Edit, []byte(`{}`) }, ostiary.KindInvalidField},
		"an unknown kind":       {nil, reviewer, func(r *queue.Ruling) { r.Kind = "bless" }, ostiary.KindInvalidField},
		"approving the unseen":  {func(i *queue.Item) { i.Uninspectable = true }, reviewer, nil, ostiary.KindReasonRequired},
		"policy wants a reason": {func(i *queue.Item) { i.Obligations = []string{"reason"} }, reviewer, nil, ostiary.KindReasonRequired},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			item := b.ask(t, c.item)
			r := ruling(item, queue.Approve)
			if c.change != nil {
				c.change(&r)
			}
			_, err := b.desk.Rule(context.Background(), c.who, item.ID, r, nil)
			wantKind(t, err, c.kind)
			if got, err := b.desk.Get(context.Background(), "t", item.ID); err != nil || got.State != queue.Open {
				t.Errorf("the item is %s, %v", got.State, err)
			}
		})
	}
}

func TestTheFirstRulingWinsAndTheLoserSeesTheWinner(t *testing.T) {
	b := setup(t)
	item := b.ask(t, nil)
	if _, err := b.rule(item, ruling(item, queue.Deny)); err != nil {
		t.Fatal(err)
	}
	got, err := b.rule(item, ruling(item, queue.Approve))
	wantKind(t, err, ostiary.KindAlreadyDecided)
	if got.State != queue.Denied || len(got.Rulings) != 1 {
		t.Errorf("the loser is shown %s with %d rulings", got.State, len(got.Rulings))
	}
}

func TestNothingIsRuledThatCannotBeRecorded(t *testing.T) {
	b := setup(t)
	item := b.ask(t, nil)
	b.fail = context.DeadlineExceeded
	_, err := b.rule(item, ruling(item, queue.Approve))
	wantKind(t, err, ostiary.KindAuditUnavailable)
	b.fail = nil
	if got, err := b.desk.Get(context.Background(), "t", item.ID); err != nil || got.State != queue.Open {
		t.Errorf("the item is %s, %v", got.State, err)
	}
}

func TestAnApprovalIsUsedOnceHoweverManyTry(t *testing.T) {
	b := setup(t)
	item := b.ask(t, nil)
	if _, err := b.rule(item, ruling(item, queue.Approve)); err != nil {
		t.Fatal(err)
	}
	kinds := make(chan ostiary.Kind, 100)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_, err := b.desk.Consume(context.Background(), "t", item.ID, func(queue.Item) error { return nil })
			kinds <- ostiary.KindOf(err)
		})
	}
	wg.Wait()
	close(kinds)
	count := map[ostiary.Kind]int{}
	for k := range kinds {
		count[k]++
	}
	if count[""] != 1 || count[ostiary.KindConsumed] != 99 {
		t.Errorf("got %v", count)
	}
}

func TestTimeEndsQuestionsAndApprovals(t *testing.T) {
	b := setup(t)
	asked := b.ask(t, nil)
	approved := b.ask(t, func(i *queue.Item) { i.ActionDigest = "sha256:2" })
	if _, err := b.rule(approved, ruling(approved, queue.Approve)); err != nil {
		t.Fatal(err)
	}
	b.advance(30*time.Minute - time.Millisecond)
	if got, err := b.desk.Get(context.Background(), "t", approved.ID); err != nil || got.State != queue.Approved {
		t.Errorf("just before its time: %s, %v", got.State, err)
	}
	b.advance(time.Millisecond)
	_, err := b.desk.Consume(context.Background(), "t", approved.ID, func(queue.Item) error { return nil })
	wantKind(t, err, ostiary.KindPermitExpired)
	b.advance(30 * time.Minute)
	if err := b.desk.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]queue.State{asked.ID: queue.Expired, approved.ID: queue.Lapsed} {
		if got, err := b.desk.Get(context.Background(), "t", id); err != nil || got.State != want {
			t.Errorf("got %s, %v; want %s", got.State, err, want)
		}
	}
	_, err = b.rule(asked, ruling(asked, queue.Approve))
	wantKind(t, err, ostiary.KindReviewExpired)
}

func TestADenialAnswersTheSameCallForItsVeto(t *testing.T) {
	b := setup(t)
	item := b.ask(t, nil)
	if _, err := b.rule(item, ruling(item, queue.Deny)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {29 * time.Minute, true}, {time.Minute, false}} {
		b.advance(c.after)
		if _, answered, err := b.desk.Answer(context.Background(), "t", "s", item.ActionDigest); err != nil || answered != c.want {
			t.Errorf("after another %s: answered %v, %v; want %v", c.after, answered, err, c.want)
		}
	}
}

func TestAWaiterIsReleasedByARuling(t *testing.T) {
	b := setup(t)
	item := b.ask(t, nil)
	released := make(chan queue.State, 20)
	var wg sync.WaitGroup
	for range cap(released) {
		wg.Go(func() {
			got, err := b.desk.Wait(context.Background(), "t", item.ID)
			if err != nil {
				t.Error(err)
			}
			released <- got.State
		})
	}
	if _, err := b.rule(item, ruling(item, queue.Approve)); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	close(released)
	for s := range released {
		if s != queue.Approved {
			t.Errorf("released with %s", s)
		}
	}
}

func TestAWaitThatEndsLeavesTheQuestionOpen(t *testing.T) {
	b := setup(t)
	item := b.ask(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := b.desk.Wait(ctx, "t", item.ID); err != nil || got.State != queue.Open {
		t.Errorf("got %s, %v", got.State, err)
	}
}

func TestAWatcherEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{}
		desk, err := queue.NewDesk(queue.DeskConfig{Store: noStore{}, Record: b.record, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ids := desk.Watch(ctx)
		cancel()
		if _, more := <-ids; more {
			t.Error("an id arrived from nowhere")
		}
	})
}

// noStore is for tests that never reach it.
type noStore struct{ queue.Store }

func TestStatesFollowTheTable(t *testing.T) {
	for _, s := range queue.States() {
		if s.Ended() != (s != queue.Open && s != queue.Approved) {
			t.Errorf("%s: ended %v", s, s.Ended())
		}
		for _, next := range queue.States() {
			if next == queue.Open && s.CanBecome(next) {
				t.Errorf("%s can be opened again", s)
			}
		}
	}
	if queue.State("").Known() || queue.State("opened").Known() {
		t.Error("a word that is no state is known")
	}
}

// However people, agents and the clock interleave: an item ends once and stays so, is used at most once and only when approved, and its
// events tell the same end.
func TestAnItemEndsOnceWhateverHappens(t *testing.T) {
	b := setup(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		digest := "sha256:run" + strings.Repeat("x", n)
		item := b.ask(t, func(i *queue.Item) { i.ActionDigest = digest; i.Session = digest })
		var ended queue.State
		approved, used := false, 0
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			ctx := context.Background()
			switch rapid.SampledFrom([]string{"approve", "deny", "respond", "cancel", "revoke", "invalidate", "consume", "wait"}).Draw(rt, "step") {
			case "approve":
				_, err := b.rule(item, ruling(item, queue.Approve))
				approved = approved || err == nil
			case "deny":
				_, _ = b.rule(item, ruling(item, queue.Deny))
			case "respond":
				_, _ = b.rule(item, ruling(item, queue.Respond))
			case "cancel":
				_, _ = b.desk.Cancel(ctx, "t", item.ID)
			case "revoke":
				_, _ = b.desk.Revoke(ctx, reviewer, item.ID)
			case "invalidate":
				_, _ = b.desk.Invalidate(ctx, "t", item.ID, "test")
			case "consume":
				if _, err := b.desk.Consume(ctx, "t", item.ID, func(queue.Item) error { return nil }); err == nil {
					used++
				}
			case "wait":
				b.advance(20 * time.Minute)
			}
			got, err := b.desk.Get(ctx, "t", item.ID)
			if err != nil {
				rt.Fatal(err)
			}
			if ended != "" && got.State != ended {
				rt.Fatalf("%s became %s", ended, got.State)
			}
			if got.State.Ended() {
				ended = got.State
			}
		}
		if used > 1 || used == 1 && (!approved || ended != queue.Consumed) {
			rt.Fatalf("used %d times, approved %v, ended %s", used, approved, ended)
		}
	})
}
