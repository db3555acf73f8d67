package mcpproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// sidecarFuncs is a sidecar made of what a test says; what it does not say refuses.
type sidecarFuncs struct {
	visible func([]tool.Name) (wire.ToolsResponse, error)
	decide  func(context.Context, wire.DecisionRequest) (wire.Decision, error)
	review  func(context.Context, string) (wire.Decision, error)
	redeem  func(wire.RedeemRequest) error
	cancel  func(id string) error
	result  func(wire.ResultRequest) (wire.ResultResponse, error)
	// sanitize answers what leaves no trace in the session.
	sanitize func(wire.ResultRequest) (wire.ResultResponse, error)
}

var errUnsaid = errors.New("the test says nothing of this")

func (s sidecarFuncs) Decide(ctx context.Context, r wire.DecisionRequest) (wire.Decision, error) {
	if s.decide == nil {
		return wire.Decision{Behavior: "allow"}, nil
	}
	return s.decide(ctx, r)
}

func (s sidecarFuncs) Review(ctx context.Context, id string, _ time.Duration) (wire.Decision, error) {
	if s.review == nil {
		return wire.Decision{}, errUnsaid
	}
	return s.review(ctx, id)
}

func (s sidecarFuncs) Redeem(_ context.Context, r wire.RedeemRequest) (wire.RedeemResponse, error) {
	if s.redeem == nil {
		return wire.RedeemResponse{}, errUnsaid
	}
	return wire.RedeemResponse{OK: true}, s.redeem(r)
}

func (s sidecarFuncs) Cancel(_ context.Context, id string) (wire.Decision, error) {
	if s.cancel == nil {
		return wire.Decision{}, errUnsaid
	}
	return wire.Decision{Behavior: "deny"}, s.cancel(id)
}

func (s sidecarFuncs) Result(_ context.Context, r wire.ResultRequest) (wire.ResultResponse, error) {
	if s.result != nil {
		return s.result(r)
	}
	return washed(r)
}

func (s sidecarFuncs) Sanitize(_ context.Context, r wire.ResultRequest) (wire.ResultResponse, error) {
	if s.sanitize != nil {
		return s.sanitize(r)
	}
	return washed(r)
}

func (s sidecarFuncs) Visible(_ context.Context, names []tool.Name) (wire.ToolsResponse, error) {
	if s.visible != nil {
		return s.visible(names)
	}
	return wire.ToolsResponse{Visible: names}, nil
}

// washed is a result with a word changed, and without the white space that the sidecar does not keep either.
func washed(r wire.ResultRequest) (wire.ResultResponse, error) {
	wash := func(v jsontext.Value) jsontext.Value { return bytes.ReplaceAll(v, []byte("dirty"), []byte("clean")) }
	out := wire.ResultResponse{Behavior: "allow", Content: wash(r.Content), StructuredContent: wash(r.StructuredContent)}
	if r.StructuredContent == nil {
		return out, out.Content.Compact()
	}
	return out, errors.Join(out.Content.Compact(), out.StructuredContent.Compact())
}

// held answers "ask", and then waits until the caller gives up.
func held(ruled <-chan wire.Decision) sidecarFuncs {
	ask := wire.Decision{Behavior: "ask", Reason: "because", Review: &wire.Review{ID: "rev_1", State: "open"}}
	return sidecarFuncs{
		decide: func(_ context.Context, r wire.DecisionRequest) (wire.Decision, error) {
			if r.Tool.Name == "free" || r.Tool.Name == "unasked" {
				return wire.Decision{Behavior: "allow"}, nil
			}
			return ask, nil
		},
		review: func(ctx context.Context, _ string) (wire.Decision, error) {
			select {
			case d := <-ruled:
				return d, nil
			case <-ctx.Done():
				return wire.Decision{}, ctx.Err()
			}
		},
	}
}

// rig is a proxy in front of the fake server.
type rig struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *rpc.Frames
	log   string
	notes *syncBuffer
	stop  context.CancelFunc
	done  chan struct{}
	code  int
	early [][]byte // frames read while another was waited for
}

type syncBuffer struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newRig(t *testing.T, s Sidecar, change func(*Config)) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "frames")
	in, inW := io.Pipe()
	out, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{t: t, in: inW, out: rpc.NewFrames(out, 2*rpc.MaxFrame), log: log, notes: &syncBuffer{}, stop: cancel, done: make(chan struct{})}
	cfg := Config{
		// A binary built with the race detector otherwise sleeps for a second before it ends.
		Command: []string{"env", "GORACE=atexit_sleep_ms=0", fakeServer + "=" + log, self}, Sidecar: s, Session: "s-1", Name: "fake", Hold: time.Minute,
		In: in, Out: outW, Err: r.notes,
	}
	if change != nil {
		change(&cfg)
	}
	go func() {
		defer close(r.done)
		defer outW.Close()
		code, err := Run(ctx, cfg)
		if err != nil {
			t.Error(err)
		}
		r.code = code
	}()
	t.Cleanup(func() {
		inW.Close()
		cancel()
		out.Close()
		<-r.done
	})
	return r
}

func (r *rig) send(frame string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, frame+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// want returns the next frame with all of the given words in it.
func (r *rig) want(words ...string) string {
	r.t.Helper()
	fits := func(frame []byte) bool {
		for _, w := range words {
			if !bytes.Contains(frame, []byte(w)) {
				return false
			}
		}
		return true
	}
	for i, frame := range r.early {
		if fits(frame) {
			r.early = append(r.early[:i:i], r.early[i+1:]...)
			return string(frame)
		}
	}
	for {
		frame, err := r.out.Next()
		if err != nil {
			r.t.Fatalf("no frame with %q: %v; notes: %s", words, err, r.notes)
		}
		if fits(frame) {
			return string(frame)
		}
		r.early = append(r.early, frame)
	}
}

// end closes the client's side and returns what the server got.
func (r *rig) end() string {
	r.t.Helper()
	r.in.Close()
	for {
		frame, err := r.out.Next()
		if err != nil {
			break
		}
		r.early = append(r.early, frame)
	}
	<-r.done
	return r.seen()
}

func (r *rig) seen() string {
	r.t.Helper()
	raw, err := os.ReadFile(r.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(raw)
}
