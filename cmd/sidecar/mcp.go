package main

import (
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"ostiary"
	"ostiary/enforce/mcpproxy"
)

func mcpCommand() *cobra.Command {
	var name, session, data string
	var hold time.Duration
	cmd := &cobra.Command{
		Use: "mcp [flags] -- COMMAND…", Short: "Stand between an MCP client and a stdio server",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return ostiary.Errorf(ostiary.KindConfigInvalid, "the server's command is missing").WithFix("sidecar mcp [flags] -- COMMAND…")
			}
			sidecar, err := findSidecar(data, "mcp.token")
			if err != nil {
				return err
			}
			if session == "" {
				session = uuid.NewString()
			}
			code, err := mcpproxy.Run(cmd.Context(), mcpproxy.Config{
				Command: args, Sidecar: sidecar, Session: session, Name: name, Hold: hold,
				In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: os.Stderr,
			})
			if err == nil && code != 0 {
				return exitCode(code)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "namespace of the server's tools (default: the server's own name)")
	f.StringVar(&session, "session", "", "session of the calls (default: one for this process)")
	f.DurationVar(&hold, "hold", 55*time.Second, "how long a call waits for a person before it is answered with its review")
	f.StringVar(&data, "data", "", "the sidecar's data directory (default $XDG_STATE_HOME/ostiary)")
	return cmd
}
