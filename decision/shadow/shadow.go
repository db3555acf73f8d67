package shadow

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ostiary/decision"
)

// Decider evaluates calls. With an error the outcome denies.
type Decider interface {
	Decide(ctx context.Context, in decision.Input) (decision.Outcome, error)
	Revision() string
}

// pending is how many calls may wait for the candidate; past that it misses some, and says so.
const pending = 1024

// Beside is the Decider in force with room for a candidate at its side. It is safe for concurrent use.
type Beside struct {
	Decider
	now     func() time.Time
	current atomic.Pointer[run]
	mu      sync.Mutex // of beginning and ending
}

// New returns a Decider that answers as inForce does.
func New(inForce Decider, now func() time.Time) *Beside {
	return &Beside{Decider: inForce, now: now}
}

// run is one candidate at work.
type run struct {
	candidate Decider
	until     time.Time
	calls     chan call
	stop      context.CancelFunc
	done      chan struct{}
	missed    atomic.Int64

	mu     sync.Mutex
	report decision.ShadowReport
	flips  map[flip]*decision.ShadowFlip
}

type call struct {
	in  decision.Input
	out decision.Outcome
}

type flip struct{ from, to string }

// Decide answers as the policies in force do; the candidate sees the call later, if there is one.
func (b *Beside) Decide(ctx context.Context, in decision.Input) (decision.Outcome, error) {
	out, err := b.Decider.Decide(ctx, in)
	if r := b.current.Load(); r != nil && err == nil {
		select {
		case r.calls <- call{in, out}:
		default:
			r.missed.Add(1)
		}
	}
	return out, err
}

// Begin puts a candidate at the side until ctx ends or the time is up, in the place of one that is there.
func (b *Beside) Begin(ctx context.Context, candidate Decider, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	ctx, stop := context.WithDeadline(ctx, until)
	r := &run{
		candidate: candidate, until: until, calls: make(chan call, pending), stop: stop, done: make(chan struct{}), flips: map[flip]*decision.ShadowFlip{},
		report: decision.ShadowReport{Revision: candidate.Revision(), Since: b.now().UTC(), Until: until.UTC()},
	}
	b.current.Store(r)
	go func() {
		defer close(r.done)
		r.work(ctx)
		b.current.CompareAndSwap(r, nil)
	}()
}

// End takes the candidate away; it reports false when there is none.
func (b *Beside) End() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.end()
}

func (b *Beside) end() bool {
	r := b.current.Swap(nil)
	if r == nil {
		return false
	}
	r.stop()
	<-r.done
	return true
}

// Report tells what the candidate would have done so far; it reports false when there is none.
func (b *Beside) Report() (decision.ShadowReport, bool) {
	r := b.current.Load()
	if r == nil {
		return decision.ShadowReport{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.report
	out.Missed = int(r.missed.Load())
	for _, key := range slices.SortedFunc(maps.Keys(r.flips), wideningFirst) {
		out.Flips = append(out.Flips, *r.flips[key])
	}
	return out, true
}

func (r *run) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-r.calls:
			out, err := r.candidate.Decide(ctx, c.in)
			if ctx.Err() != nil {
				return
			}
			r.count(c, out, err)
		}
	}
}

// count compares two outcomes. A candidate that fails would deny.
func (r *run) count(c call, out decision.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Calls++
	if err != nil {
		r.report.Failed++
	}
	key := flip{word(c.out, nil), word(out, err)}
	if key.from == key.to {
		return
	}
	f := r.flips[key]
	if f == nil {
		f = &decision.ShadowFlip{From: key.from, To: key.to, Widens: widens(key), Tool: c.in.Tool.Namespace + "." + c.in.Tool.Name}
		for _, v := range decision.Reasons(out.Verdicts, out.Behavior) {
			f.Rules = append(f.Rules, v.ID)
		}
		r.flips[key] = f
	}
	f.Calls++
}

// none is the word for policies that had nothing to say, so that the profile's default applies.
const none = "none"

func word(out decision.Outcome, err error) string {
	switch {
	case err != nil:
		return decision.Deny.String()
	case !out.Spoke:
		return none
	}
	return out.Behavior.String()
}

// strictness orders the words: what asks nobody is the widest. Without a verdict a call asks, or its host does.
var strictness = []string{decision.Deny.String(), decision.Ask.String(), none, decision.Passthrough.String(), decision.Allow.String()}

func widens(f flip) bool { return slices.Index(strictness, f.to) > slices.Index(strictness, f.from) }

func wideningFirst(a, b flip) int {
	width := func(f flip) int { return slices.Index(strictness, f.to) - slices.Index(strictness, f.from) }
	if d := width(b) - width(a); d != 0 {
		return d
	}
	return slices.Index(strictness, a.from) - slices.Index(strictness, b.from)
}
