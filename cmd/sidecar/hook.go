package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ostiary"
	"ostiary/client"
	"ostiary/enforce/hook"
	"ostiary/internal/config"
)

func hookCommand() *cobra.Command {
	var data string
	var timeout uint
	cmd := &cobra.Command{
		Use: "hook CLIENT", Short: "Answer one event of a coding agent's hook: " + strings.Join(hook.Clients(), ", "), Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sidecar, err := findSidecar(data, "hook.token")
			if err != nil {
				return err
			}
			code := hook.Run(cmd.Context(), hook.Config{
				Client: args[0], Sidecar: sidecar, Timeout: time.Duration(timeout) * time.Second,
				In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(),
			})
			if code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "the sidecar's data directory (default $XDG_STATE_HOME/ostiary)")
	cmd.Flags().UintVar(&timeout, "timeout", 0, "the host's limit for this hook, in seconds (default: the client's own)")
	return cmd
}

// findSidecar returns a client of the running sidecar, whether or not it answers yet.
func findSidecar(data, tokenFile string) (*client.Client, error) {
	fallback, err := config.DefaultData()
	if err != nil && data == "" && os.Getenv("OSTIARY_DATA") == "" && os.Getenv("OSTIARY_SOCKET") == "" {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "there is no home directory to look for the sidecar in; give --data DIR")
	}
	return client.Find(data, fallback, tokenFile, os.Getenv)
}
