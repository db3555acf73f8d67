// Command ostiary-hook is "sidecar hook" by itself: a small binary, since a host starts one for every tool call.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"ostiary/client"
	"ostiary/enforce/hook"
	"ostiary/internal/config"
)

// exitUsage is also the code that every known host takes as a block.
const exitUsage = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("ostiary-hook", flag.ContinueOnError)
	data := flags.String("data", "", "the sidecar's data directory (default $XDG_STATE_HOME/ostiary)")
	timeout := flags.Uint("timeout", 0, "the host's limit for this hook, in seconds (default: the client's own)")
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	if name == "" && flags.NArg() == 1 {
		name = flags.Arg(0)
	} else if name == "" || flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "usage: ostiary-hook CLIENT [--data DIR] [--timeout S]; CLIENT is one of %s\n", strings.Join(hook.Clients(), ", "))
		return exitUsage
	}
	fallback, err := config.DefaultData()
	if err != nil {
		fallback = "" // only --data or the environment can say where the sidecar is
	}
	sidecar, err := client.Find(*data, fallback, "hook.token", os.Getenv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ostiary-hook: %v\n", err)
		return exitUsage
	}
	return hook.Run(ctx, hook.Config{
		Client: name, Sidecar: sidecar, Timeout: time.Duration(*timeout) * time.Second, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
	})
}
