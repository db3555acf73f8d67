package main

import (
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ostiary"
	"ostiary/decision/workbench/invariant"
	"ostiary/decision/workbench/whatif"
	"ostiary/internal/term"
)

// lab opens the policies for questions.
func (f *policyFlags) lab(cmd *cobra.Command) (*whatif.Lab, error) {
	src, err := f.sources(cmd)
	if err != nil {
		return nil, err
	}
	return whatif.Open(cmd.Context(), src)
}

// openInput opens a file, or standard input for none and "-".
func openInput(cmd *cobra.Command, args []string) (io.ReadCloser, error) {
	if len(args) == 0 || args[0] == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the file "+args[0]+" cannot be read")
	}
	return f, nil
}

// readSmall reads all of a document that a person wrote.
func readSmall(cmd *cobra.Command, args []string) ([]byte, error) {
	in, err := openInput(cmd, args)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	const most = 4 << 20
	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the document cannot be read")
	}
	if len(raw) > most {
		return nil, ostiary.Errorf(ostiary.KindTooLarge, "the document has more than 4 MiB")
	}
	return raw, nil
}

func policyExplainCommand() *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{Use: "explain [FILE]", Short: "Say why a call is decided as it is, and what would change that", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := readSmall(cmd, args)
			if err != nil {
				return err
			}
			in, err := whatif.ReadInput(raw)
			if err != nil {
				return notAnInput(err)
			}
			l, err := f.lab(cmd)
			if err != nil {
				return err
			}
			progress := term.NewProgress(cmd.ErrOrStderr(), "changes tried")
			e, err := l.Explain(cmd.Context(), in, progress.At)
			if progress.End(); err != nil {
				return err
			}
			return f.show(cmd, e, true, e.WriteText)
		}}
	f.register(cmd)
	return cmd
}

func notAnInput(err error) error {
	said := *ostiary.Public(err)
	if said.Pointer != "" {
		said.Msg += " (at " + said.Pointer + ")"
	}
	said.Msg = "this is no input document: " + said.Msg
	return said.WithFix("docs/policies.md lists its fields")
}

func policyReplayCommand() *cobra.Command {
	var f policyFlags
	cmd := &cobra.Command{Use: "replay FILE", Short: "Say which recorded decisions these policies would make otherwise", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := f.lab(cmd)
			if err != nil {
				return err
			}
			in, err := openInput(cmd, args)
			if err != nil {
				return err
			}
			defer in.Close()
			debug.SetGCPercent(400) // what lives is little, and what dies is much
			progress := term.NewProgress(cmd.ErrOrStderr(), "replayed")
			r, err := l.Replay(cmd.Context(), in, progress.At)
			if progress.End(); err != nil {
				return err
			}
			return f.show(cmd, r, r.Flipped == 0, r.WriteText)
		}}
	f.register(cmd)
	return cmd
}

func policyVerifyCommand() *cobra.Command {
	var f policyFlags
	var budget int
	cmd := &cobra.Command{Use: "verify FILE", Short: "Look for calls that break invariants", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if budget < 1 {
				return ostiary.Errorf(ostiary.KindConfigInvalid, "the budget is %d, want at least 1", budget)
			}
			raw, err := readSmall(cmd, args)
			if err != nil {
				return err
			}
			invariants, err := invariant.Read(raw)
			if err != nil {
				return err
			}
			l, err := f.lab(cmd)
			if err != nil {
				return err
			}
			progress := term.NewProgress(cmd.ErrOrStderr(), "evaluations")
			r, err := l.Verify(cmd.Context(), invariants, budget, progress.At)
			if progress.End(); err != nil {
				return err
			}
			return f.show(cmd, r, r.OK, r.WriteText)
		}}
	f.register(cmd)
	cmd.Flags().IntVar(&budget, "budget", whatif.Budget, "how many evaluations one invariant may take")
	return cmd
}
