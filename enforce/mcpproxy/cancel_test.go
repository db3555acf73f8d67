package mcpproxy

import (
	"context"
	"strings"
	"testing"

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
	permit := "p"
	waiting, ended, ruled := make(chan struct{}, 2), make(chan struct{}, 1), make(chan wire.Decision, 1)
	s := held(nil)
	s.review = func(ctx context.Context, _ string) (wire.Decision, error) {
		waiting <- struct{}{}
		select {
		case d := <-ruled:
			return d, nil
		case <-ctx.Done():
			ended <- struct{}{}
			return wire.Decision{}, ctx.Err()
		}
	}
	s.redeem = func(wire.RedeemRequest) error { return nil }
	s.cancel = func(id string) error { t.Errorf("withdrew %s", id); return nil }
	r := newRig(t, s, nil)
	r.send(`{"id":"one","method":"tools/call","params":{"name":"x"}}`)
	r.send(`{"id":"two","method":"tools/call","params":{"name":"x"}}`)
	<-waiting
	<-waiting
	r.send(`{"method":"notifications/cancelled","params":{"requestId":"one"}}`)
	<-ended
	ruled <- wire.Decision{Behavior: "allow", Permit: &permit}
	r.want(`"id":"two"`, "content")
	if got := r.end(); strings.Contains(got, `"one"`) {
		t.Errorf("forwarded %q", got)
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
