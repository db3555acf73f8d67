package hook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/enforce/wire"
)

// before answers PreToolUse.
func (r run) before(ctx context.Context) reply {
	d, err := r.decide(ctx)
	if err != nil {
		return r.dialect.broken("Ostiary blocked this call: " + said(err) + pending(d))
	}
	switch d.Behavior {
	case "passthrough":
		return r.dialect.silence
	case "allow":
		if err := r.redeem(ctx, d); err != nil {
			return r.dialect.deny("Ostiary blocked this call: its approval cannot be used: " + said(err))
		}
		return r.dialect.allow(d.Reason, edit(d))
	default:
		return r.dialect.deny(blocked(d))
	}
}

// permission answers the question that the host would put to its user.
func (r run) permission(ctx context.Context) reply {
	d, err := r.decide(ctx)
	if err != nil {
		why := "Ostiary blocked this call: " + said(err) + pending(d)
		return blocking(r.dialect.refuse(why), why)
	}
	switch d.Behavior {
	case "passthrough":
		return r.dialect.silence
	case "allow":
		if err := r.redeem(ctx, d); err != nil {
			return r.dialect.refuse("Ostiary blocked this call: its approval cannot be used: " + said(err))
		}
		return r.dialect.permit(edit(d))
	default:
		return r.dialect.refuse(blocked(d))
	}
}

// decide asks the sidecar, and holds while a person decides. At the deadline the ask itself is returned.
func (r run) decide(ctx context.Context) (wire.Decision, error) {
	req := wire.DecisionRequest{
		SessionID: r.ev.SessionID, InvocationID: r.ev.ToolUseID, Tool: r.ev.tool(r.dialect.name), Input: r.ev.ToolInput,
	}
	if r.ev.CWD != "" {
		req.Context = &wire.CallContext{CWD: r.ev.CWD}
	}
	d, err := r.Sidecar.Decide(ctx, req)
	if err != nil {
		return d, err
	}
	for d.Behavior == "ask" {
		if d.Review == nil {
			return d, ostiary.Errorf(ostiary.KindInternal, "the sidecar asks without a review")
		}
		wait := pollEvery
		if end, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(end)-time.Second/4)
		}
		if wait <= 0 {
			return d, nil
		}
		ruled, err := r.Sidecar.Review(ctx, d.Review.ID, wait)
		if ctx.Err() != nil {
			return d, nil //nolint:nilerr // the time is up: the ask itself is the answer
		}
		if err != nil {
			return d, err
		}
		d = ruled
	}
	if len(d.Obligations) > 0 && d.Behavior == "allow" {
		return d, ostiary.Errorf(ostiary.KindInternal, "the obligations %v cannot be carried out by a hook", d.Obligations)
	}
	return d, nil
}

// pending names the review that stays open when a failure ends the wait for it.
func pending(d wire.Decision) string {
	if d.Review == nil {
		return ""
	}
	return " Review " + d.Review.ID + " stays open: repeat exactly the same call later."
}

// pollEvery bounds one request that waits for a ruling.
const pollEvery = 25 * time.Second

// redeem uses up the permit of an approved call, right before the host runs it. A rule's allow needs none.
func (r run) redeem(ctx context.Context, d wire.Decision) error {
	if d.Permit == nil {
		if d.Review != nil {
			return ostiary.Errorf(ostiary.KindInternal, "an approval came without a permit")
		}
		return nil
	}
	input := r.ev.ToolInput
	if e := edit(d); len(e) > 0 {
		input = e
	}
	_, err := r.Sidecar.Redeem(ctx, wire.RedeemRequest{Permit: *d.Permit, SessionID: r.ev.SessionID, Tool: r.ev.tool(r.dialect.name), Input: input})
	return err
}

// edit is what the reviewer made of the arguments, or nil.
func edit(d wire.Decision) jsontext.Value {
	if d.UpdatedInput.Kind() != '{' {
		return nil
	}
	return d.UpdatedInput
}

// blocked tells the agent why its call does not run and what it can do.
func blocked(d wire.Decision) string {
	var b strings.Builder
	if d.Behavior == "ask" {
		fmt.Fprintf(&b, "Ostiary is holding this call for a person: %s.", strings.TrimSuffix(d.Reason, "."))
		if d.Review != nil {
			fmt.Fprintf(&b, " Nobody has ruled yet on review %s. Repeat exactly the same call later: it runs once a person approves.", d.Review.ID)
		}
		return b.String()
	}
	why := strings.TrimSuffix(strings.TrimSpace(d.Reason), ".")
	if why == "" {
		why = "no reason was given"
	}
	fmt.Fprintf(&b, "Ostiary denied this call: %s.", why)
	for _, c := range d.ContentBlocks {
		fmt.Fprintf(&b, " The reviewer says: %q.", c.Text)
	}
	if len(d.RuleRefs) > 0 {
		fmt.Fprintf(&b, " Rules: %s.", strings.Join(d.RuleRefs, ", "))
	}
	if d.Source == "contract" {
		for _, why := range d.Reasons {
			if why.Pointer != "" {
				fmt.Fprintf(&b, " At %s: %s.", why.Pointer, strings.TrimSuffix(why.Reason, "."))
			}
		}
		return b.String() + " Correct the arguments and call again."
	}
	return b.String() + " Do not repeat it or work around it; choose another way or ask the user."
}
