package enforce_test

import (
	"context"
	"testing"

	"ostiary"
	"ostiary/queue"
)

const wantsReason = `package policies.operator.careful
import rego.v2
verdicts contains {"id": "careful.reason", "behavior": "ask", "reason": "say why", "obligations": ["reason"]} if input.tool.name == "send"
`

func TestAReasonThatPolicyWantsIsGivenByTheReviewerAndNotByTheAgent(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	h.policy.set(engine(t, "provenance", map[string]string{"careful.rego": wantsReason}))
	asked := h.decide(t, ann, call(send, `{"to":"x"}`))
	if asked.Behavior != "ask" || len(asked.Obligations) != 1 || asked.Obligations[0] != "reason" {
		t.Fatalf("got %s with %v", asked.Behavior, asked.Obligations)
	}
	item, err := h.Reviewers().Get(context.Background(), reviewer, asked.Review.ID)
	if err != nil {
		t.Fatal(err)
	}
	ruling := queue.Ruling{Kind: queue.Approve, Version: item.Version, ActionDigest: item.ActionDigest, ViewDigest: item.ViewDigest}
	_, err = h.Reviewers().Rule(context.Background(), reviewer, item.ID, ruling)
	wantKind(t, err, ostiary.KindReasonRequired)
	ruling.Reason = "the user asked for it by phone"
	if _, err := h.Reviewers().Rule(context.Background(), reviewer, item.ID, ruling); err != nil {
		t.Fatal(err)
	}
	// An obligation that is left over would be one that the agent has to carry out.
	if got := h.review(t, ann, item.ID); got.Behavior != "allow" || got.Permit == nil || len(got.Obligations) != 0 {
		t.Errorf("got %s with %v", got.Behavior, got.Obligations)
	}
}
