package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"golang.org/x/sys/unix"

	"ostiary"
	"ostiary/enforce/httpapi"
	"ostiary/internal/config"
)

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

// openSocket opens the Unix socket, owner-only. The file that a dead process left is removed; one that answers is another sidecar's, which
// may have another data directory.
func (ls *listeners) openSocket(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return ostiary.Errorf(ostiary.KindConfigInvalid, "%s is there already and is no socket", path).WithFix("give --socket another path")
	}
	if err := removeDead(path); err != nil {
		return err
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

// removeDead removes a socket that nobody listens on: only a refused connection shows that.
func removeDead(path string) error {
	c, err := net.Dial("unix", path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, unix.ECONNREFUSED):
		if err := os.Remove(path); err != nil {
			return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the old socket "+path+" cannot be removed")
		}
		return nil
	case err == nil:
		err = c.Close()
	}
	return ostiary.Wrap(ostiary.KindConfigInvalid, err, "another program may be listening on the socket "+path).WithFix("stop that program, or give --socket another path")
}

func (ls *listeners) close() {
	for _, l := range []net.Listener{ls.agents, ls.socket, ls.console} {
		if l != nil {
			l.Close() //nolint:errcheck // a server that was shut down has closed it already
		}
	}
}

// start serves every listener; the first failure arrives on the channel.
func (ls *listeners) start(app *app, log *slog.Logger) ([]*http.Server, <-chan error) {
	failed := make(chan error, 3)
	var servers []*http.Server
	begin := func(l net.Listener, h http.Handler, peer func(context.Context, net.Conn) context.Context) {
		s := &http.Server{Handler: h, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, ConnContext: peer, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
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
