package rego

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ostiary"
	"ostiary/decision"
	"ostiary/policies"
)

func TestWaitingForAProcessorIsNotThePoliciesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := Load(t.Context(), Config{Shipped: policies.FS})
		if err != nil {
			t.Fatal(err)
		}
		for range cap(e.slots) {
			e.slots <- struct{}{}
		}
		decided := make(chan error, 1)
		go func() {
			_, err := e.Decide(t.Context(), decision.Input{Phase: decision.PhaseCall})
			decided <- err
		}()
		time.Sleep(time.Hour) // of the bubble's clock: every other call runs this long
		<-e.slots
		if err := <-decided; err != nil {
			t.Error(err)
		}
	})
}

func TestACallerWhoLeavesIsNotWaitedFor(t *testing.T) {
	e, err := Load(t.Context(), Config{Shipped: policies.FS, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for range cap(e.slots) {
		e.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := e.Decide(ctx, decision.Input{Phase: decision.PhaseCall})
	if out.Behavior != decision.Deny || ostiary.KindOf(err) != ostiary.KindPolicyTimeout {
		t.Errorf("%v, %v", out.Behavior, err)
	}
}
