package enforce

import (
	"context"
	"fmt"
	"slices"

	"ostiary/queue"
	"ostiary/queue/view"
	"ostiary/sanitize"
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
	secrets, err := e.secrets(ctx, input)
	if err != nil {
		return nil, fmt.Errorf("find secrets in arguments: %w", err)
	}
	return view.Mask(args, secrets), nil
}

// secrets finds the byte ranges of secrets in arguments, by pointer.
func (e *Enforcer) secrets(ctx context.Context, input []byte) (map[string][][2]int, error) {
	out, err := e.cfg.Cleaner.JSON(ctx, sanitize.NewScope(), input, sanitize.Options{})
	if err != nil {
		return nil, err
	}
	spans := map[string][][2]int{}
	for _, f := range out.Findings {
		if f.Family == sanitize.Secret {
			spans[f.Pointer] = append(spans[f.Pointer], [2]int{f.Start, f.End})
		}
	}
	return spans, nil
}
