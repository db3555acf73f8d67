// Command sidecar stands between an AI agent and its tools: it decides each call by policy, brings in a person where policy says so, and
// cleans what comes back.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ostiary"
)

// Exit codes of wire.md §4.
const (
	exitNo    = 1 // the answer is "no"
	exitUsage = 2 // usage or configuration error
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	report(err)
	return exitUsage
}

// exitCode ends the process with a code; what there is to say has been said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// report says what went wrong and what to do, on standard error.
func report(err error) {
	var e *ostiary.Error
	if !errors.As(err, &e) {
		fmt.Fprintf(os.Stderr, "sidecar: %v\n  to do: sidecar --help lists the commands\n", err)
		return
	}
	fmt.Fprintf(os.Stderr, "sidecar: %s\n", e.Msg)
	if e.Fix != "" {
		fmt.Fprintf(os.Stderr, "  to do: %s\n", e.Fix)
	}
	if cause := errors.Unwrap(e); cause != nil {
		fmt.Fprintf(os.Stderr, "  cause: %v\n", cause)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "sidecar", Short: "Policy and human review for AI agents' tool calls",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return ostiary.Errorf(ostiary.KindConfigInvalid, "%s", err).WithFix(cmd.CommandPath() + " --help lists the flags")
	})
	root.AddCommand(serveCommand(), hookCommand(), mcpCommand(), sanitizeCommand(), policyCommand(), tokenCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), ostiary.Version)
		return err
	}}
}
