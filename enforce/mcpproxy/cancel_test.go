package mcpproxy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ostiary/enforce/wire"
)

// Covers: B14
func TestCancellingAHeldCallWithdrawsItsReview(t *testing.T) {
	waiting, withdrawn := make(chan struct{}, 1), make(chan string, 1)
	s := held(nil)
	s.review = func(ctx context.Context, _ string) (wire.Decision, error) {
		waiting <- struct{}{}
		<-ctx.Done()
		return wire.Decision{}, ctx.Err()
	}
	s.cancel = func(id string) error { withdrawn <- id; return nil }
	r := newRig(t, s, nil)
	r.send(`{"id":"h","method":"tools/call","params":{"name":"x"}}`)
	<-waiting
	r.send(`{"method":"notifications/cancelled","params":{"requestId":"h"}}`)
	if id := <-withdrawn; id != "rev_1" {
		t.Errorf("withdrew %q", id)
	}
	if got := r.end(); got != "" || len(r.early) > 0 {
		t.Errorf("forwarded %q, answered %s", got, r.early)
	}
}

// Covers: B14
func TestAQuestionThatIsBeingPutWhenItsCallIsCancelledIsWithdrawnToo(t *testing.T) {
	asked, answered, withdrawn := make(chan struct{}), make(chan struct{}), make(chan string, 1)
	s := held(nil)
	ask := s.decide
	s.decide = func(ctx context.Context, q wire.DecisionRequest) (wire.Decision, error) {
		close(asked)
		select {
		case <-answered:
		case <-ctx.Done():
			return wire.Decision{}, ctx.Err()
		}
		return ask(ctx, q)
	}
	s.cancel = func(id string) error { withdrawn <- id; return nil }
	r := newRig(t, s, nil)
	r.send(`{"id":"h","method":"tools/call","params":{"name":"x"}}`)
	<-asked
	r.send(`{"method":"notifications/cancelled","params":{"requestId":"h"}}`)
	r.send(`{"id":1,"method":"ping"}`)
	r.want(`"id":1}`) // the cancellation has been read
	close(answered)
	if id := <-withdrawn; id != "rev_1" {
		t.Errorf("withdrew %q", id)
	}
	if r.end(); len(r.early) > 0 {
		t.Errorf("answered %s", r.early)
	}
}

func TestACallThatIsCancelledLeavesTheReviewToItsEqual(t *testing.T) {
	waiting, ruled := make(chan struct{}), make(chan wire.Decision, 1)
	s := held(ruled)
	review := s.review
	s.review = func(ctx context.Context, id string) (wire.Decision, error) {
		waiting <- struct{}{}
		return review(ctx, id)
	}
	s.cancel = func(id string) error { t.Errorf("withdrew %s", id); return nil }
	p := &proxy{Config: Config{Sidecar: s, Hold: time.Minute}, holding: t.Context(), working: t.Context(), holders: map[string]int{}}
	ask := wire.Decision{Behavior: "ask", Review: &wire.Review{ID: "rev_1"}}
	hold := func(ctx context.Context, c *call) <-chan wire.Decision {
		done := make(chan wire.Decision, 1)
		go func() {
			d, err := p.hold(ctx, c, ask)
			if err != nil {
				t.Error(err)
			}
			done <- d
		}()
		<-waiting
		return done
	}
	given, giveUp := context.WithCancel(t.Context())
	one, two := hold(given, &call{dropped: true}), hold(t.Context(), &call{})
	giveUp()
	if d := <-one; d.Behavior != "ask" {
		t.Errorf("the one that was given up got %+v", d)
	}
	ruled <- wire.Decision{Behavior: "allow"}
	if d := <-two; d.Behavior != "allow" {
		t.Errorf("its equal got %+v", d)
	}
}

// withdrawn is a sidecar on which the first reviews were cancelled by somebody else, and the next one is approved.
func withdrawn(cancelled int, asked *[]string) sidecarFuncs {
	permit := "p"
	return sidecarFuncs{
		decide: func(_ context.Context, q wire.DecisionRequest) (wire.Decision, error) {
			*asked = append(*asked, q.InvocationID)
			return wire.Decision{Behavior: "ask", Review: &wire.Review{ID: fmt.Sprintf("rev_%d", len(*asked)), State: "open"}}, nil
		},
		review: func(_ context.Context, id string) (wire.Decision, error) {
			if len(*asked) <= cancelled {
				return wire.Decision{Behavior: "deny", Reason: "the review is cancelled", Review: &wire.Review{ID: id, State: "cancelled"}}, nil
			}
			return wire.Decision{Behavior: "allow", Permit: &permit, Review: &wire.Review{ID: id, State: "approved"}}, nil
		},
		redeem: func(wire.RedeemRequest) error { return nil },
		cancel: func(string) error { return nil },
	}
}

// The client gave up on a call and repeats it at once: the repeat finds the question of the first, which is then withdrawn.
func TestACallWhoseQuestionAnEqualOneWithdrewIsAskedAboutAgainOnce(t *testing.T) {
	var asked []string
	s := withdrawn(1, &asked)
	var reported string
	s.result = func(q wire.ResultRequest) (wire.ResultResponse, error) { reported = q.InvocationID; return washed(q) }
	r := newRig(t, s, nil)
	r.send(call7)
	r.want(`"id":7`, `r\u0061n`)
	if len(asked) != 2 || asked[0] == asked[1] || reported != asked[1] {
		t.Errorf("asked as %q, reported as %q", asked, reported)
	}

	asked = nil
	r = newRig(t, withdrawn(9, &asked), nil)
	r.send(call7)
	r.want(`"id":7`, `"isError":true`, "cancelled")
	if got := r.end(); got != "" || len(asked) != 2 {
		t.Errorf("asked %d times, forwarded %q", len(asked), got)
	}
}

func TestACallThatWasCancelledItselfIsNotAskedAboutAgain(t *testing.T) {
	var asked []string
	s := withdrawn(9, &asked)
	waiting, gone := make(chan struct{}), make(chan struct{})
	review := s.review
	s.review = func(ctx context.Context, id string) (wire.Decision, error) {
		close(waiting)
		<-gone
		return review(ctx, id)
	}
	r := newRig(t, s, nil)
	r.send(call7)
	<-waiting
	r.send(`{"method":"notifications/cancelled","params":{"requestId":7}}`)
	r.send(`{"id":1,"method":"ping"}`)
	r.want(`"id":1}`) // the cancellation has been read
	close(gone)
	if got := r.end(); strings.Contains(got, "tools/call") || len(asked) != 1 || len(r.early) > 0 {
		t.Errorf("asked %d times, forwarded %q, answered %s", len(asked), got, r.early)
	}
}

func TestACallThatIsAnsweredWithItsReviewLeavesItOnTheDesk(t *testing.T) {
	s := held(nil)
	s.cancel = func(id string) error { t.Errorf("withdrew %s", id); return nil }
	r := newRig(t, s, nil)
	r.send(`{"id":"h","method":"tools/call","params":{"name":"x"}}`)
	r.end() // the client leaves; the same call later finds the review
	r.want(`"id":"h"`, "rev_1")
}

// Covers: B14
func TestCancellingAForwardedCallPassesOn(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	call := `{"id":"f","method":"tools/call","params":{"name":"hangs"}}`
	cancel := `{"method":"notifications/cancelled","params":{"requestId":"f"}}`
	r.send(call)
	for !strings.Contains(r.seen(), call) {
		r.send(`{"id":1,"method":"ping"}`) // a round trip, until the call is with the server
		r.want(`"id":1}`)
	}
	r.send(cancel)
	if got := r.end(); !strings.HasSuffix(got, cancel+"\n") || len(r.early) > 0 {
		t.Errorf("forwarded %q, answered %s", got, r.early)
	}
}
