package rego

import (
	"context"
	"fmt"

	"ostiary"
	"ostiary/decision"
)

// readVerdicts reads an answer strictly: a missing or unknown member, a wrong type or an unknown behavior is an error. What a package says
// of itself as the policy is passed over.
func readVerdicts(answer any) ([]decision.Verdict, error) {
	list, ok := answer.([]any)
	if !ok {
		return nil, malformed(fmt.Errorf("the verdicts are %T, want a set", answer))
	}
	verdicts := make([]decision.Verdict, len(list))
	for i, one := range list {
		if err := readVerdict(&verdicts[i], one); err != nil {
			return nil, malformed(err)
		}
	}
	return verdicts, nil
}

func readVerdict(v *decision.Verdict, answer any) error {
	object, ok := answer.(map[string]any)
	if !ok {
		return fmt.Errorf("a verdict is %T, want an object", answer)
	}
	var behavior string
	texts := map[string]*string{"id": &v.ID, "policy": &v.Policy, "behavior": &behavior, "reason": &v.Reason, "severity": &v.Severity, "blocked_path": &v.BlockedPath}
	for name, value := range object {
		if name == "obligations" {
			if err := readObligations(v, value); err != nil {
				return err
			}
			continue
		}
		text, known := texts[name]
		if !known {
			return fmt.Errorf("a verdict has the unknown member %q", name)
		}
		if *text, ok = value.(string); !ok {
			return fmt.Errorf("a verdict's %s is %T, want a string", name, value)
		}
	}
	if v.ID == "" || v.Reason == "" {
		return fmt.Errorf("a verdict has no id or no reason")
	}
	return v.Behavior.UnmarshalText([]byte(behavior))
}

func readObligations(v *decision.Verdict, answer any) error {
	list, ok := answer.([]any)
	if !ok {
		return fmt.Errorf("verdict %s: obligations is %T, want a list", v.ID, answer)
	}
	for _, one := range list {
		word, _ := one.(string)
		if word != decision.ObligationReason && word != decision.ObligationCite {
			return fmt.Errorf("a verdict names the obligation %v, which nobody here can carry out", one)
		}
		v.Obligations = append(v.Obligations, word)
	}
	return nil
}

func malformed(err error) error {
	return ostiary.Wrap(ostiary.KindPolicyError, err, "a policy answered with a malformed verdict")
}

func unreadable(err error) error {
	return ostiary.Wrap(ostiary.KindPolicyError, err, "the input of the policies cannot be built")
}

func undefined() error {
	return ostiary.Errorf(ostiary.KindPolicyUndefined, "the policies gave no answer")
}

// failed tells an evaluation that ran out of time from one that went wrong.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ostiary.Wrap(ostiary.KindPolicyTimeout, ctx.Err(), "the policies did not answer in time")
	}
	return ostiary.Wrap(ostiary.KindPolicyError, err, "a policy failed while it was evaluated")
}
