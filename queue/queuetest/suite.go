package queuetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ostiary/queue"
	"ostiary/tool"
)

// Place is where a store keeps its items: it can be opened again after a close, as after a restart.
type Place interface {
	// Open returns a store on this place and what closes it.
	Open(t testing.TB) (store queue.Store, stop func())
}

// start is a fixed moment; stores keep milliseconds.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var roomy = queue.Caps{PerSession: 1000, PerAgent: 1000, PerTenant: 1000}

func item(n int) queue.Item {
	return queue.Item{
		ID: fmt.Sprintf("rev_%04d", n), State: queue.Open, Kind: queue.KindCall, Tenant: "t", Agent: "a", Session: "s",
		Tool: tool.Name{Namespace: "crm", Name: "send"}, Input: []byte(`{"n": 9007199254740993, "s":"\u0041\/"}`), ActionDigest: fmt.Sprintf("sha256:%d", n),
		Tier: queue.TierMedium, Summary: fmt.Sprintf("Send number %d", n), PermitID: fmt.Sprintf("pmt_%d", n),
		OpenedAt: start.Add(time.Duration(n) * time.Second), ExpiresAt: start.Add(time.Hour),
	}
}

// Run runs every promise against stores on fresh places.
func Run(t *testing.T, fresh func(t testing.TB) Place) {
	for name, promise := range map[string]func(*testing.T, queue.Store){
		"OpeningTwiceGivesOneItem":             openingTwice,
		"ParallelOpeningsOfOneCallGiveOneItem": parallelOpenings,
		"TheExactBytesComeBack":                exactBytes,
		"CapsAreHeld":                          caps,
		"FirstChangeWins":                      firstChangeWins,
		"AFailedChangeLeavesNoTrace":           failedChange,
		"EveryChangeCountsTheVersionUp":        versions,
		"AnotherTenantSeesNothing":             tenants,
		"AnAnsweredCallIsFoundByEitherDigest":  latest,
		"ListsPageThroughEverythingOnce":       lists,
		"ListsFilter":                          filters,
		"WhatIsOverdueIsFound":                 due,
		"APermitIsUsedOnce":                    permits,
	} {
		t.Run(name, func(t *testing.T) {
			store, stop := fresh(t).Open(t)
			defer stop()
			promise(t, store)
		})
	}
	t.Run("SurvivesReopen", func(t *testing.T) { reopen(t, fresh(t)) })
}

func open(t testing.TB, s queue.Store, i queue.Item) queue.Item {
	t.Helper()
	got, created, err := s.Open(context.Background(), i, roomy)
	if err != nil || !created {
		t.Fatalf("open %s: created %v, %v", i.ID, created, err)
	}
	return got
}

func openingTwice(t *testing.T, s queue.Store) {
	first := open(t, s, item(1))
	again := item(2)
	again.ActionDigest = first.ActionDigest
	got, created, err := s.Open(context.Background(), again, roomy)
	if err != nil || created || got.ID != first.ID {
		t.Errorf("got %s, created %v, %v; want the first item", got.ID, created, err)
	}
	if _, err := s.Update(context.Background(), "t", first.ID, func(i *queue.Item) error { i.State = queue.Denied; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, created, err := s.Open(context.Background(), again, roomy); err != nil || !created {
		t.Errorf("after the end of the first: created %v, %v", created, err)
	}
}

func parallelOpenings(t *testing.T, s queue.Store) {
	const n = 16
	var created atomic.Int32
	ids := make([]string, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() {
			i := item(k)
			i.ActionDigest = "sha256:same"
			got, fresh, err := s.Open(context.Background(), i, roomy)
			if err != nil {
				t.Error(err)
			}
			if fresh {
				created.Add(1)
			}
			ids[k] = got.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("two items: %s and %s", id, ids[0])
		}
	}
	if created.Load() != 1 {
		t.Errorf("%d items were created", created.Load())
	}
}

func exactBytes(t *testing.T, s queue.Store) {
	want := item(1)
	open(t, s, want)
	got, err := s.Get(context.Background(), "t", want.ID)
	if err != nil || !bytes.Equal(got.Input, want.Input) {
		t.Errorf("got %s, %v; want %s", got.Input, err, want.Input)
	}
	if !got.OpenedAt.Equal(want.OpenedAt) || got.Summary != want.Summary || got.Tool != want.Tool {
		t.Errorf("got %+v", got)
	}
}

func caps(t *testing.T, s queue.Store) {
	tight := queue.Caps{PerSession: 2, PerAgent: 3, PerTenant: 4}
	put := func(n int, session, agent string) error {
		i := item(n)
		i.Session, i.Agent = session, agent
		_, _, err := s.Open(context.Background(), i, tight)
		return err
	}
	for n, c := range []struct {
		session, agent string
		full           bool
	}{{"s1", "a1", false}, {"s1", "a1", false}, {"s1", "a1", true}, {"s2", "a1", false}, {"s3", "a1", true}, {"s4", "a2", false}, {"s5", "a3", true}} {
		if err := put(n, c.session, c.agent); errors.Is(err, queue.ErrFull) != c.full {
			t.Errorf("item %d: %v, want full %v", n, err, c.full)
		}
	}
}

func firstChangeWins(t *testing.T, s queue.Store) {
	open(t, s, item(1))
	errLost := errors.New("lost")
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := s.Update(context.Background(), "t", "rev_0001", func(i *queue.Item) error {
				if i.State != queue.Open {
					return errLost
				}
				i.State = queue.Approved
				return nil
			})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, errLost) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d changes won", won.Load())
	}
}

func failedChange(t *testing.T, s queue.Store) {
	open(t, s, item(1))
	errNo := errors.New("no")
	got, err := s.Update(context.Background(), "t", "rev_0001", func(i *queue.Item) error { i.State = queue.Approved; return errNo })
	if !errors.Is(err, errNo) || got.State != queue.Open {
		t.Errorf("got %s, %v; want the item as it stands with the error", got.State, err)
	}
	if got, err = s.Get(context.Background(), "t", "rev_0001"); err != nil || got.State != queue.Open || got.Version != 1 {
		t.Errorf("stored: %s version %d, %v", got.State, got.Version, err)
	}
}

func versions(t *testing.T, s queue.Store) {
	if got := open(t, s, item(1)); got.Version != 1 {
		t.Errorf("a new item has version %d", got.Version)
	}
	for want := int64(2); want < 5; want++ {
		got, err := s.Update(context.Background(), "t", "rev_0001", func(i *queue.Item) error { i.Version = 99; return nil })
		if err != nil || got.Version != want {
			t.Errorf("version %d, %v; want %d", got.Version, err, want)
		}
	}
}

func tenants(t *testing.T, s queue.Store) {
	open(t, s, item(1))
	if _, err := s.Get(context.Background(), "other", "rev_0001"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.Update(context.Background(), "other", "rev_0001", func(*queue.Item) error { return nil }); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("update: %v", err)
	}
	if _, err := s.Latest(context.Background(), "other", "s", "sha256:1"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("latest: %v", err)
	}
	if page, err := s.List(context.Background(), queue.Filter{Tenant: "other"}); err != nil || len(page.Items) != 0 || page.Total != 0 {
		t.Errorf("list: %d of %d, %v", len(page.Items), page.Total, err)
	}
}

func latest(t *testing.T, s queue.Store) {
	open(t, s, item(1))
	_, err := s.Update(context.Background(), "t", "rev_0001", func(i *queue.Item) error {
		i.State, i.EditedDigest, i.EditedInput = queue.Approved, "sha256:edited", []byte(`{}`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{"sha256:1", "sha256:edited"} {
		if got, err := s.Latest(context.Background(), "t", "s", digest); err != nil || got.ID != "rev_0001" {
			t.Errorf("%s: %s, %v", digest, got.ID, err)
		}
	}
	if _, err := s.Latest(context.Background(), "t", "another session", "sha256:1"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("another session: %v", err)
	}
}

func lists(t *testing.T, s queue.Store) {
	const n = 23
	for k := range n {
		open(t, s, item(k))
	}
	f := queue.Filter{Tenant: "t", Limit: 5}
	var ids []string
	for {
		page, err := s.List(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		if page.Total != n {
			t.Errorf("total %d", page.Total)
		}
		for _, i := range page.Items {
			ids = append(ids, i.ID)
		}
		if page.NextCursor == "" {
			break
		}
		f.Cursor = page.NextCursor
	}
	if len(ids) != n {
		t.Fatalf("%d items in all pages, want %d", len(ids), n)
	}
	for k, id := range ids {
		if want := item(n - 1 - k).ID; id != want {
			t.Errorf("place %d: %s, want %s", k, id, want)
		}
	}
	f.Cursor = "not a cursor"
	if _, err := s.List(context.Background(), f); !errors.Is(err, queue.ErrCursor) {
		t.Error("a foreign cursor is taken")
	}
}

func filters(t *testing.T, s queue.Store) {
	for n := range 4 {
		i := item(n)
		if n == 3 {
			i.Tier, i.Agent, i.Session, i.Tool.Name, i.Summary = queue.TierHigh, "b", "z", "pay", `Pay 100% of "it" to O'Hara`
		}
		open(t, s, i)
	}
	if _, err := s.Update(context.Background(), "t", "rev_0000", func(i *queue.Item) error { i.State = queue.Denied; return nil }); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    queue.Filter
		want int
	}{
		"state": {queue.Filter{State: queue.Denied}, 1}, "tier": {queue.Filter{Tier: queue.TierHigh}, 1}, "agent": {queue.Filter{Agent: "b"}, 1},
		"session": {queue.Filter{Session: "z"}, 1}, "tool": {queue.Filter{Tool: "crm.pay"}, 1}, "text": {queue.Filter{Text: "O'HARA"}, 1},
		"text with wildcards": {queue.Filter{Text: "100% of"}, 1}, "no wildcard": {queue.Filter{Text: "100%pay"}, 0}, "all": {queue.Filter{}, 4},
		"two at once": {queue.Filter{State: queue.Open, Agent: "a"}, 2},
	} {
		c.f.Tenant = "t"
		if page, err := s.List(context.Background(), c.f); err != nil || len(page.Items) != c.want {
			t.Errorf("%s: %d items, %v; want %d", name, len(page.Items), err, c.want)
		}
	}
}

func due(t *testing.T, s queue.Store) {
	early, late, ended := item(1), item(2), item(3)
	early.ExpiresAt, late.ExpiresAt, ended.ExpiresAt = start.Add(time.Minute), start.Add(time.Hour), start.Add(time.Minute)
	for _, i := range []queue.Item{early, late, ended} {
		open(t, s, i)
	}
	if _, err := s.Update(context.Background(), "t", ended.ID, func(i *queue.Item) error { i.State = queue.Cancelled; return nil }); err != nil {
		t.Fatal(err)
	}
	got, err := s.Due(context.Background(), start.Add(time.Minute))
	if err != nil || len(got) != 1 || got[0].ID != early.ID {
		t.Errorf("got %v, %v", got, err)
	}
}

func permits(t *testing.T, s queue.Store) {
	use := func(before func() error) error { return s.UsePermit(context.Background(), "pmt_x", start, before) }
	errNo := errors.New("no")
	if err := use(func() error { return errNo }); !errors.Is(err, errNo) {
		t.Errorf("a vetoed use: %v", err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			switch err := use(func() error { return nil }); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, queue.ErrUsed):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("the permit was used %d times", won.Load())
	}
}

func reopen(t *testing.T, p Place) {
	store, stop := p.Open(t)
	want := open(t, store, item(1))
	stop()
	store, stop = p.Open(t)
	defer stop()
	got, err := store.Get(context.Background(), "t", want.ID)
	if err != nil || got.State != queue.Open || !bytes.Equal(got.Input, want.Input) || got.Version != 1 {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}

// Bench measures what one durable question and its ruling cost.
func Bench(b *testing.B, fresh func(t testing.TB) Place) {
	store, stop := fresh(b).Open(b)
	defer stop()
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := item(int(n.Add(1)))
			if _, _, err := store.Open(context.Background(), i, queue.Caps{PerSession: 1 << 30, PerAgent: 1 << 30, PerTenant: 1 << 30}); err != nil {
				b.Error(err)
				return
			}
			if _, err := store.Update(context.Background(), "t", i.ID, func(i *queue.Item) error { i.State = queue.Approved; return nil }); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
