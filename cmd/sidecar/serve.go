package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ostiary"
	"ostiary/internal/config"
)

func serveCommand() *cobra.Command {
	var flags config.Config
	var file string
	var printJSON bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the agents' API and the reviewers' console on this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file, os.Environ(), func(c *config.Config) { overlay(cmd, c, flags) })
			if err != nil {
				return err
			}
			return serve(cmd.Context(), cfg, printJSON, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "config", "", "configuration file (default $XDG_CONFIG_HOME/ostiary/config.yaml)")
	f.StringVar(&flags.Data, "data", "", "directory of state, keys and tokens (default $XDG_STATE_HOME/ostiary)")
	f.StringVar(&flags.Listen, "listen", "", "the agents' address (default 127.0.0.1:7070)")
	f.StringVar(&flags.Socket, "socket", "", "the agents' Unix socket (default sidecar.sock in the data directory)")
	f.StringVar(&flags.Console, "console", "", "the reviewers' address; \"\" means none (default 127.0.0.1:7071)")
	f.StringVar(&flags.Policies.Dir, "policies", "", "directory of Rego files added to the shipped packs")
	f.StringVar(&flags.Policies.Bundle, "bundle", "", "signed bundle added to the shipped packs: a file or a URL")
	f.StringVar(&flags.Policies.BundleKey, "bundle-key", "", "PEM file of the public key that the bundle's signature must fit")
	f.StringVar(&flags.Posture, "posture", "", "strict or balanced (default strict)")
	f.StringVar(&flags.Tools, "tools", "", "directory of tool declarations")
	f.BoolVar(&flags.TrustedNetwork, "trusted-network", false, "allow listeners off loopback without TLS")
	f.BoolVar(&printJSON, "print-json", false, "print one JSON line with the addresses when ready")
	return cmd
}

// overlay sets what was given as a flag.
func overlay(cmd *cobra.Command, c *config.Config, flags config.Config) {
	for name, set := range map[string]func(){
		"data": func() { c.Data = flags.Data }, "listen": func() { c.Listen = flags.Listen }, "socket": func() { c.Socket = flags.Socket },
		"console": func() { c.Console = flags.Console }, "policies": func() { c.Policies.Dir = flags.Policies.Dir },
		"bundle": func() { c.Policies.Bundle = flags.Policies.Bundle }, "bundle-key": func() { c.Policies.BundleKey = flags.Policies.BundleKey },
		"posture": func() { c.Posture = flags.Posture }, "tools": func() { c.Tools = flags.Tools },
		"trusted-network": func() { c.TrustedNetwork = flags.TrustedNetwork },
	} {
		if cmd.Flags().Changed(name) {
			set()
		}
	}
}

// Limits of a connection. Neither reading nor writing as a whole has one, since long polls and event streams stay open; the faces bound the
// reading of a body and each write to a stream.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 10 * time.Second
	sweepEvery        = time.Second
)

// gcPercent lets the heap grow to five times what lives, which is a few megabytes: at the usual two times the collector runs many times a
// second under load, and the slowest calls pay for it.
const gcPercent = 400

// serve runs until ctx ends. The listeners are open when it says that it is ready.
func serve(ctx context.Context, cfg config.Config, printJSON bool, out io.Writer) error {
	unix.Umask(0o077) // whatever is made here is the owner's alone
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	level := slog.LevelInfo
	if cfg.Log == "debug" {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ls, err := listen(cfg)
	if err != nil {
		return err
	}
	defer ls.close()
	app, err := build(ctx, cfg, ls, log)
	if err != nil {
		return err
	}
	defer app.close(log)
	debug.FreeOSMemory() // what compiling the policies took is not needed again soon
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := app.watchPolicies(ctx, log); err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the policy directory cannot be watched").WithFix("raise fs.inotify.max_user_watches, or start without --policies")
	}
	servers, failed := ls.start(app, log)
	if err := announce(out, app.addresses(ls), printJSON); err != nil {
		return err
	}
	go app.sweep(ctx, log)
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	return errors.Join(err, drain(app, servers, log))
}

// drain refuses new work, ends every wait, and lets what runs finish.
func drain(app *app, servers []*http.Server, log *slog.Logger) error {
	app.api.Drain()
	if app.console != nil {
		app.console.Stop()
	}
	return shutdown(servers, drainTimeout, log)
}

// shutdown closes all doors at once, waits for requests that run, and cuts those that outlast the time: a client that is stuck holds up nobody.
func shutdown(servers []*http.Server, within time.Duration, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() {
			if errs[i] = s.Shutdown(ctx); errors.Is(errs[i], context.DeadlineExceeded) {
				log.Warn("a request did not end in time and was cut", "after", within.String())
				errs[i] = s.Close()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// addresses is what serve prints when it is ready.
type addresses struct {
	AgentURL   string `json:"agent_url"`
	Socket     string `json:"socket"`
	ConsoleURL string `json:"console_url"`
	LoginURL   string `json:"login_url"`
	TokenFile  string `json:"token_file"`
	PID        int    `json:"pid"`
}

func announce(out io.Writer, a addresses, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(a)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", line)
		return err
	}
	console := "no console on this machine"
	if a.ConsoleURL != "" {
		console = a.ConsoleURL + "\n  log in     " + a.LoginURL + "   (works once, for 10 minutes)"
	}
	_, err := fmt.Fprintf(out, `ostiary %s is ready
  agents     %s   and %s
  console    %s

try it: this call asks, and waits in the console for you
  curl -s %s/v1/decisions -H "Authorization: Bearer $(cat %s)" -H 'Content-Type: application/json' \
    -d '{"session_id":"s-1","tool":{"namespace":"mail","name":"send"},"input":{"to":"ann@example.com","body":"hello"}}'
`, ostiary.Version, a.AgentURL, a.Socket, console, a.AgentURL, shellQuote(a.TokenFile))
	return err
}

// shellQuote makes one word of a path for a POSIX shell.
func shellQuote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
