package queue

import (
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
			d.Obligations = asked.Obligations
		}
		if len(i.EditedInput) > 0 {
			d.Reason, d.UpdatedInput = "a reviewer approved an edited form of the call; run exactly updated_input", i.EditedInput
		}
	case Responded:
		d.Reason = map[string]string{
			KindCall: "a reviewer answered instead of letting the call run", KindResult: "a reviewer answered instead of releasing the result", KindConclusion: "a reviewer answered instead of approving the conclusion",
		}[i.Kind]
	case Denied:
		d.Reason = i.denial()
	default:
		d.Reason = "the review is " + string(i.State) + ", so " + map[string]string{
			KindCall: "the call may not run", KindResult: "the result stays withheld", KindConclusion: "the conclusion may not be stated",
		}[i.Kind]
	}
	return d
}

func (i Item) denial() string {
	last := i.Rulings[len(i.Rulings)-1]
	out := "a reviewer denied the " + i.Kind + " (" + last.ReasonCode + ")"
	if text := strings.TrimSpace(last.Reason); text != "" {
		out += ": " + text
	}
	return out
}
