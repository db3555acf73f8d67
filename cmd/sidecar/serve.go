package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ostiary"
	"ostiary/enforce/httpapi"
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
		"posture": func() { c.Posture = flags.Posture }, "tools": func() { c.Tools = flags.Tools },
		"trusted-network": func() { c.TrustedNetwork = flags.TrustedNetwork },
	} {
		if cmd.Flags().Changed(name) {
			set()
		}
	}
}

// Limits of a connection. There is no write timeout: long polls and event streams stay open.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 10 * time.Second
	sweepEvery        = time.Second
)

// serve runs until ctx ends. The listeners are open when it says that it is ready.
func serve(ctx context.Context, cfg config.Config, printJSON bool, out io.Writer) error {
	unix.Umask(0o077) // whatever is made here is the owner's alone
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
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
	servers, failed := ls.start(app)
	if err := announce(out, app.addresses(ls), printJSON); err != nil {
		return err
	}
	sweepCtx, stopSweep := context.WithCancel(ctx)
	defer stopSweep()
	go app.sweep(sweepCtx, log)
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	return errors.Join(err, drain(app, servers))
}

// drain refuses new work, ends every wait, and lets what runs finish.
func drain(app *app, servers []*http.Server) error {
	app.api.Drain()
	if app.console != nil {
		app.console.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Shutdown(ctx))
	}
	return errors.Join(errs...)
}

// listeners are the open doors: agents by TCP and by socket, reviewers by TCP when a console is wanted.
type listeners struct {
	agents, socket, console net.Listener
}

func listen(cfg config.Config) (*listeners, error) {
	ls := &listeners{}
	var err error
	if ls.agents, err = listenTCP(cfg.Listen, cfg.TrustedNetwork, "--listen"); err != nil {
		return nil, err
	}
	if cfg.Console != "" {
		if ls.console, err = listenTCP(cfg.Console, cfg.TrustedNetwork, "--console"); err != nil {
			ls.close()
			return nil, err
		}
	}
	return ls, nil
}

// listenTCP opens a port; off loopback it refuses unless the network is trusted, since what travels there is not encrypted.
func listenTCP(addr string, trusted bool, flag string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the address "+addr+" cannot be read").WithFix("give " + flag + " HOST:PORT, such as 127.0.0.1:7070")
	}
	if !trusted && !tcp.IP.IsLoopback() {
		return nil, ostiary.Errorf(ostiary.KindConfigInvalid, "the address %s is not on loopback, and what travels there would not be encrypted", addr).
			WithFix("listen on 127.0.0.1, or give --trusted-network when the network is private")
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the address "+addr+" cannot be opened; is another program using it?").
			WithFix("stop that program, or give " + flag + " another port (0 picks a free one)")
	}
	return l, nil
}

// openSocket opens the Unix socket, owner-only; a left-over file of a dead process is removed, and the data directory's lock says it is dead.
func (ls *listeners) openSocket(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return ostiary.Errorf(ostiary.KindConfigInvalid, "%s is there already and is no socket", path).WithFix("give --socket another path")
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the old socket "+path+" cannot be removed")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the socket "+path+" cannot be opened").WithFix("give --socket a path shorter than 108 bytes in a directory that you can write")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(ostiary.Wrap(ostiary.KindConfigInvalid, err, "the socket "+path+" cannot be made private"), l.Close())
	}
	ls.socket = l
	return nil
}

func (ls *listeners) close() {
	for _, l := range []net.Listener{ls.agents, ls.socket, ls.console} {
		if l != nil {
			l.Close() //nolint:errcheck // a server that was shut down has closed it already
		}
	}
}

// start serves every listener; the first failure arrives on the channel.
func (ls *listeners) start(app *app) ([]*http.Server, <-chan error) {
	failed := make(chan error, 3)
	var servers []*http.Server
	begin := func(l net.Listener, h http.Handler, peer func(context.Context, net.Conn) context.Context) {
		s := &http.Server{Handler: h, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, ConnContext: peer, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
		servers = append(servers, s)
		go func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		}()
	}
	begin(ls.agents, app.api.Handler(), nil)
	begin(ls.socket, app.api.Handler(), httpapi.WithPeer)
	if ls.console != nil {
		begin(ls.console, app.console.Handler(), nil)
	}
	return servers, failed
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
`, ostiary.Version, a.AgentURL, a.Socket, console, a.AgentURL, a.TokenFile)
	return err
}
