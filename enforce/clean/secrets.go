package clean

import (
	"context"
	"fmt"

	"ostiary"
	"ostiary/sanitize"
)

// Secrets finds the byte ranges of secrets in the values of arguments, by pointer. One in a name is refused as invalid_field: names are
// shown and recorded as they are, so none can be masked.
func Secrets(ctx context.Context, texts *sanitize.Cleaner, input []byte) (map[string][][2]int, error) {
	out, err := texts.JSON(ctx, sanitize.NewScope(), input, sanitize.Options{})
	if err != nil {
		return nil, fmt.Errorf("find secrets in arguments: %w", err)
	}
	spans := map[string][][2]int{}
	for _, f := range out.Findings {
		switch {
		case f.Family != sanitize.Secret:
		case f.InName:
			return nil, ostiary.Errorf(ostiary.KindInvalidField, "the name of an argument looks like a credential").WithFix("put the credential into a value, where it can be masked")
		default:
			spans[f.Pointer] = append(spans[f.Pointer], [2]int{f.Start, f.End})
		}
	}
	return spans, nil
}
