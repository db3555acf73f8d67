package enforce

import (
	"context"
	"fmt"

	"ostiary/queue"
	"ostiary/queue/view"
	"ostiary/sanitize"
)

// show renders an item's arguments for reviewers, with secrets masked until they are revealed, and fixes on its first showing the digest of
// what is shown. The digest covers the values themselves, so that masking cannot change what a ruling vouches for.
func (e *Enforcer) show(ctx context.Context, item queue.Item) (queue.Item, error) {
	args, err := view.Arguments(item.Input, func(pointer string) (role, origin string) {
		for _, o := range item.Provenance {
			if o.Pointer == pointer {
				return o.Role, string(o.Origin)
			}
		}
		return "", ""
	})
	if err != nil {
		return item, fmt.Errorf("render arguments: %w", err)
	}
	item.Uninspectable = view.Uninspectable(args)
	if item.ViewDigest == "" {
		item.ViewDigest = view.DigestOf(args, item.Tool.Namespace, item.Tool.Name, item.Agent, item.Session, item.Summary, string(item.Tier))
	}
	secrets, err := e.secrets(ctx, item.Input)
	if err != nil {
		return item, fmt.Errorf("find secrets in arguments: %w", err)
	}
	item.View = view.Mask(args, secrets)
	return item, nil
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
