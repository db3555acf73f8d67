package queue

import (
	"slices"
	"strings"

	"ostiary/decision"
)

// Decided is a decision to ask, as the state of its review makes it. What the asking obliged to, the reviewer has carried out; how a
// conclusion is to be marked stays the agent's.
func (i Item) Decided(asked decision.Decision) decision.Decision {
	d := asked
	d.ExpiresAt = i.ExpiresAt
	if i.State == Open {
		return d
	}
	d.Behavior, d.Source = decision.Deny, decision.SourceReview
	switch i.State {
	case Approved:
		d.Behavior, d.Reason, d.Obligations = decision.Allow, "a reviewer approved the "+i.Kind, nil
		if i.Kind == KindConclusion {
			d.Obligations = slices.DeleteFunc(slices.Clone(asked.Obligations), func(o string) bool { return o != decision.ObligationCite })
		}
		if len(i.EditedInput) > 0 {
			d.Reason, d.UpdatedInput = "a reviewer approved an edited form of the call; run exactly updated_input", i.EditedInput
		}
	case Responded:
		d.Reason = "a reviewer answered instead of " + i.does("letting the call run", "releasing the result", "approving the conclusion")
	case Denied:
		d.Reason = i.denial()
	default:
		d.Reason = "the review is " + string(i.State) + ", so " + i.does("the call may not run", "the result stays withheld", "the conclusion may not be stated")
	}
	return d
}

// does chooses the words for what the item is about.
func (i Item) does(call, result, conclusion string) string {
	switch i.Kind {
	case KindResult:
		return result
	case KindConclusion:
		return conclusion
	default:
		return call
	}
}

func (i Item) denial() string {
	last := i.Rulings[len(i.Rulings)-1]
	out := "a reviewer denied the " + i.Kind + " (" + last.ReasonCode + ")"
	if text := strings.TrimSpace(last.Reason); text != "" {
		out += ": " + text
	}
	return out
}
