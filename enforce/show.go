package enforce

import (
	"context"
	"fmt"
	"slices"

	"ostiary/enforce/clean"
	"ostiary/queue"
	"ostiary/queue/view"
)

// show renders an item for reviewers, with secrets masked until they are revealed, and fixes on its first showing the digest of the
// arguments and the sentence about them. The digest covers the values themselves, so that masking cannot change what a ruling vouches for.
func (e *Enforcer) show(ctx context.Context, item queue.Item) (queue.Item, error) {
	args, err := e.render(item, item.Input)
	if err != nil {
		return item, err
	}
	item.Uninspectable = view.Uninspectable(args)
	if item.ViewDigest == "" {
		item.ViewDigest = view.DigestOf(args, item.Tool.Namespace, item.Tool.Name, item.Agent, item.Session, item.Summary, string(item.Tier))
	}
	if item.View, err = e.mask(ctx, args, item.Input); err != nil {
		return item, err
	}
	if len(item.EditedInput) > 0 {
		edited, err := e.render(item, item.EditedInput)
		if err != nil {
			return item, err
		}
		if item.EditedView, err = e.mask(ctx, view.Rewritten(edited, args), item.EditedInput); err != nil {
			return item, err
		}
	}
	item.Justification = e.maskedText(item.Justification)
	item.Rulings = slices.Clone(item.Rulings)
	for i := range item.Rulings {
		r := &item.Rulings[i]
		r.Reason, r.Text, r.EditedInput = e.maskedText(r.Reason), e.maskedText(r.Text), nil // what was edited stands in EditedView
	}
	return item, nil
}

func (e *Enforcer) render(item queue.Item, input []byte) ([]view.Argument, error) {
	args, err := view.Arguments(input, func(pointer string) (role, origin string) {
		for _, o := range item.Provenance {
			if o.Pointer == pointer {
				return o.Role, string(o.Origin)
			}
		}
		return "", ""
	})
	if err != nil {
		return nil, fmt.Errorf("render arguments: %w", err)
	}
	return args, nil
}

func (e *Enforcer) mask(ctx context.Context, args []view.Argument, input []byte) ([]view.Argument, error) {
	secrets, err := clean.Secrets(ctx, e.cfg.Masker, input)
	return view.Mask(args, secrets), err
}
