package shadow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ostiary/decision"
	"ostiary/decision/shadow"
)

// says answers by the tool's name.
type says map[string]any

func (s says) Revision() string { return fmt.Sprint("of ", len(s)) }

func (s says) Decide(_ context.Context, in decision.Input) (decision.Outcome, error) {
	switch answer := s[in.Tool.Name].(type) {
	case decision.Behavior:
		return decision.Outcome{Behavior: answer, Spoke: true, Verdicts: []decision.Verdict{{ID: "rule." + in.Tool.Name, Behavior: answer, Reason: "r"}}}, nil
	case error:
		return decision.Outcome{}, answer
	}
	return decision.Outcome{}, nil
}

func ask(t *testing.T, b *shadow.Beside, tool string) decision.Outcome {
	t.Helper()
	out, err := b.Decide(t.Context(), decision.Input{Tool: decision.ToolFacts{Namespace: "n", Name: tool}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestACandidateIsComparedAndDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shadow.New(says{"a": decision.Ask, "b": decision.Deny, "c": decision.Allow, "d": nil, "e": decision.Ask}, time.Now)
		b.Begin(t.Context(), says{"a": decision.Allow, "b": decision.Deny, "c": decision.Ask, "d": decision.Passthrough, "e": errors.New("x")}, time.Now().Add(time.Hour))
		for _, tool := range []string{"a", "a", "b", "c", "d", "e"} {
			ask(t, b, tool)
		}
		if got := ask(t, b, "a"); got.Behavior != decision.Ask {
			t.Errorf("the candidate decided: %v", got)
		}
		synctest.Wait()
		r, there := b.Report()
		if !there || r.Calls != 7 || r.Failed != 1 || r.Missed != 0 || r.Revision != "of 5" {
			t.Fatalf("%+v", r)
		}
		var told []string
		for _, f := range r.Flips {
			told = append(told, fmt.Sprintf("%s→%s %v %d %s %v", f.From, f.To, f.Widens, f.Calls, f.Tool, f.Rules))
		}
		want := []string{"ask→allow true 3 n.a [rule.a]", "none→passthrough true 1 n.d [rule.d]", "ask→deny false 1 n.e []", "allow→ask false 1 n.c [rule.c]"}
		if fmt.Sprint(told) != fmt.Sprint(want) {
			t.Errorf("got  %q\nwant %q", told, want)
		}
		b.End()
	})
}

func TestACandidateGoesWhenItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shadow.New(says{}, time.Now)
		b.Begin(t.Context(), says{}, time.Now().Add(time.Hour))
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if _, there := b.Report(); there || b.End() {
			t.Error("it is there after its time")
		}
		ask(t, b, "a")
	})
}

// stuck holds every call up until its context ends.
type stuck struct{ says }

func (s stuck) Decide(ctx context.Context, _ decision.Input) (decision.Outcome, error) {
	<-ctx.Done()
	return decision.Outcome{}, ctx.Err()
}

func TestNoCallWaitsForACandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shadow.New(says{"a": decision.Allow}, time.Now)
		b.Begin(t.Context(), stuck{}, time.Now().Add(time.Hour))
		began := time.Now()
		for range 2000 {
			ask(t, b, "a")
		}
		if r, _ := b.Report(); time.Since(began) != 0 || r.Missed < 900 {
			t.Errorf("waited %s, missed %d", time.Since(began), r.Missed)
		}
		if !b.End() {
			t.Error("it was not there")
		}
	})
}
