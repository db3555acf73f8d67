package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ostiary"
	"ostiary/sanitize"
	"ostiary/sanitize/shipped"
)

func sanitizeCommand() *cobra.Command {
	var jsonl bool
	cmd := &cobra.Command{
		Use: "sanitize [--jsonl] [FILE…]", Short: "Clean text: secrets, personal data, markup, hidden text, injected instructions",
		RunE: func(cmd *cobra.Command, files []string) error {
			cleaner, err := shipped.New(sanitize.Config{Now: time.Now})
			if err != nil {
				return err
			}
			clean := sanitize.Stream
			if jsonl {
				clean = sanitize.JSONL
			}
			if len(files) == 0 {
				return cleanOne(cmd.Context(), cleaner, clean, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			for _, name := range files {
				if err := cleanFile(cmd.Context(), cleaner, clean, name, cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, `read lines {"id","text","content_type"?} and answer each with one line`)
	return cmd
}

type cleanFunc func(context.Context, *sanitize.Cleaner, io.Reader, io.Writer) error

func cleanFile(ctx context.Context, c *sanitize.Cleaner, clean cleanFunc, name string, out io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the file "+name+" cannot be read")
	}
	defer f.Close()
	return cleanOne(ctx, c, clean, f, out)
}

func cleanOne(ctx context.Context, c *sanitize.Cleaner, clean cleanFunc, in io.Reader, out io.Writer) error {
	if err := clean(ctx, c, in, out); err != nil {
		return ostiary.Wrap(ostiary.KindSanitizer, err, "not everything could be cleaned; what follows was withheld")
	}
	return nil
}
