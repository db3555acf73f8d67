package mcpproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// Sidecar is what the proxy asks of the sidecar.
type Sidecar interface {
	Decide(context.Context, wire.DecisionRequest) (wire.Decision, error)
	Review(ctx context.Context, id string, wait time.Duration) (wire.Decision, error)
	Redeem(context.Context, wire.RedeemRequest) (wire.RedeemResponse, error)
	Cancel(ctx context.Context, id string) (wire.Decision, error)
	Result(context.Context, wire.ResultRequest) (wire.ResultResponse, error)
	Sanitize(context.Context, wire.ResultRequest) (wire.ResultResponse, error)
	Visible(ctx context.Context, tools []tool.Name) (wire.ToolsResponse, error)
}

// Config is one proxy: one client on In and Out, one server process.
type Config struct {
	Command []string // the server's command line; required
	Sidecar Sidecar  // required
	// Session is the session that all calls belong to; required.
	Session string
	// Name is the namespace of the server's tools. Defaults to the server's own name as a slug.
	Name string
	// Hold is how long a call waits for a person before it is answered with the name of its review. Defaults to 55s, since clients give
	// up after 60.
	Hold time.Duration
	// Grace is how long the server may go on when the client has left. Defaults to 10s.
	Grace time.Duration
	In    io.Reader
	Out   io.Writer
	Err   io.Writer // our own notes and the server's standard error
}

func (c Config) complete() (Config, error) {
	var errs []error
	if len(c.Command) == 0 {
		errs = append(errs, errors.New("Command is required"))
	}
	if c.Sidecar == nil {
		errs = append(errs, errors.New("Sidecar is required"))
	}
	if c.Session == "" {
		errs = append(errs, errors.New("Session is required"))
	}
	if c.Hold <= 0 {
		c.Hold = 55 * time.Second
	}
	if c.Grace <= 0 {
		c.Grace = 10 * time.Second
	}
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("mcpproxy: %w", err)
	}
	return c, nil
}

// maxPending bounds the requests that wait for an answer of the server.
const maxPending = 4096

// request is a request of the client that has no answer yet.
type request struct {
	id     jsontext.Value // as the client wrote it
	method string
	call   *call // of a tools/call; guarded by proxy.mu where it says so
}

// ofTool reports whether the answer is a tool's output.
func (r *request) ofTool() bool { return r.method == "tools/call" || r.method == "tasks/result" }

type proxy struct {
	Config
	toServer, toClient *rpc.Pipe
	holding            context.Context // ends when nobody waits for a held call any more
	working            context.Context // ends when what is under way must stop

	mu        sync.Mutex
	pending   map[string]*request
	hints     map[string]tool.Annotations
	holders   map[string]int // calls that wait for each review
	namespace string
	closing   bool // no new call is taken on

	governing, cleaning sync.WaitGroup
	lost                chan struct{} // closed when the client cannot be written to
	loseOnce            sync.Once
}

// Run proxies until the client or the server is gone or ctx ends, and returns the server's exit code. A read of In that is still under way
// then ends with In.
func Run(ctx context.Context, cfg Config) (int, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return 0, err
	}
	srv, err := start(cfg.Command, cfg.Err)
	if err != nil {
		return 0, err
	}
	working, stopWork := context.WithCancel(ctx)
	defer stopWork()
	holding, stopHolding := context.WithCancel(working)
	defer stopHolding()
	p := &proxy{
		Config: cfg, toServer: rpc.NewPipe(srv.stdin), toClient: rpc.NewPipe(cfg.Out), holding: holding, working: working,
		pending: map[string]*request{}, hints: map[string]tool.Annotations{}, holders: map[string]int{}, namespace: cfg.Name, lost: make(chan struct{}),
	}
	clientGone, serverGone := make(chan struct{}), make(chan struct{})
	go func() { defer close(clientGone); p.fromClient(cfg.In) }()
	go func() { defer close(serverGone); p.fromServer(srv.stdout); srv.drained() }()

	grace := cfg.Grace
	select {
	case <-clientGone:
	case <-p.lost:
	case <-serverGone:
	case <-ctx.Done():
		grace = stopGrace
	}
	stopHolding()
	p.close()
	governed := make(chan struct{})
	go func() { defer close(governed); p.governing.Wait() }()
	select {
	case <-governed: // every call under way has reached the server or was answered
	case <-srv.exited:
	case <-time.After(grace): // a server that reads nothing keeps its callers until its input is closed
	}
	srv.closeStdin()
	srv.stop(grace)
	<-governed
	<-serverGone
	p.abandon()
	p.cleaning.Wait()
	if ctx.Err() != nil {
		return 0, nil
	}
	return srv.code(), nil
}

// stopGrace is how long the server may take when we are told to stop.
const stopGrace = 2 * time.Second

// close takes on no more calls, so that the ones under way can be waited for.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = true
}

// abandon answers what the server will never answer.
func (p *proxy) abandon() {
	p.mu.Lock()
	left := p.pending
	p.pending = map[string]*request{}
	p.mu.Unlock()
	for _, r := range left {
		p.fail(r, "upstream_error", "the server has ended")
	}
}

// fail answers a request in the server's place.
func (p *proxy) fail(r *request, kind, why string) {
	if r.ofTool() {
		p.answer(r.refuse(kind, why, ""))
		return
	}
	p.answer(rpcError(r.id, codeInternal, "Ostiary: "+why+" ("+kind+")"))
}

// answer writes to the client. A client that cannot be written to has left.
func (p *proxy) answer(frame []byte) {
	if err := p.toClient.Send(frame); err != nil {
		p.loseOnce.Do(func() { close(p.lost) })
	}
}

// forward writes to the server; a server that cannot be written to is noticed when its output ends.
func (p *proxy) forward(frame []byte) error { return p.toServer.Send(frame) }

func (p *proxy) note(format string, args ...any) {
	fmt.Fprintf(p.Err, "ostiary: "+format+"\n", args...)
}

// register keeps a request until it is answered; it says why when it cannot.
func (p *proxy) register(id string, r *request) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closing:
		return "the proxy is stopping"
	case p.pending[id] != nil:
		return "the id belongs to a request that is not answered yet"
	case len(p.pending) >= maxPending:
		return "too many requests are waiting for an answer"
	}
	p.pending[id] = r
	if r.call != nil {
		p.governing.Add(1) // under the lock, so that close cannot come between
	}
	return ""
}

// take ends the wait for an answer and returns the request, or nil when there is none that the server could answer.
func (p *proxy) take(id string) *request {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.pending[id]
	if r == nil || r.call != nil && !r.call.forwarded {
		return nil
	}
	delete(p.pending, id)
	return r
}
