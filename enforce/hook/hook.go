package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ostiary"
	"ostiary/client"
	"ostiary/enforce/wire"
)

// Sidecar is what a hook asks of the sidecar.
type Sidecar interface {
	Decide(context.Context, wire.DecisionRequest) (wire.Decision, error)
	Review(ctx context.Context, id string, wait time.Duration) (wire.Decision, error)
	Redeem(context.Context, wire.RedeemRequest) (wire.RedeemResponse, error)
	Result(context.Context, wire.ResultRequest) (wire.ResultResponse, error)
	Message(ctx context.Context, session string, m wire.MessageRequest) error
}

// Config is one run of a hook.
type Config struct {
	// Client is the program that called the hook; required, one of [Clients].
	Client  string
	Sidecar Sidecar // required
	// Timeout is the host's limit for the hook. Defaults to the client's own default.
	Timeout time.Duration
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
}

// reserve is kept back from the host's limit, since most hosts run the tool when their hook is late: a fifth, at most 10 seconds.
func reserve(limit time.Duration) time.Duration { return min(10*time.Second, limit/5) }

// Run answers one event and returns the exit code. It never panics.
func Run(ctx context.Context, cfg Config) int {
	d, known := find(cfg.Client)
	if !known {
		fmt.Fprintf(cfg.Err, "ostiary: unknown client %q; known are: %s\n", cfg.Client, strings.Join(Clients(), ", "))
		return exitBlock
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = d.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout-reserve(cfg.Timeout))
	defer cancel()
	r := answer(ctx, cfg, d)
	if r.stderr != "" {
		fmt.Fprintln(cfg.Err, r.stderr)
	}
	if _, err := cfg.Out.Write(r.stdout); err != nil {
		fmt.Fprintf(cfg.Err, "ostiary: the answer could not be written: %v\n", err)
		return exitBlock
	}
	return r.code
}

// answer reads the event and answers it. Reading and answering stop at the deadline, so that the host hears from us before it gives up.
func answer(ctx context.Context, cfg Config, d dialect) reply {
	done := make(chan reply, 1)
	go func() {
		defer func() {
			if recover() != nil {
				done <- d.broken("Ostiary failed while it judged this call, so the call is blocked.")
			}
		}()
		done <- dispatch(ctx, cfg, d)
	}()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
	}
	// What waits inside ends with the context and has the better words; only an event that never ends arriving does not.
	select {
	case r := <-done:
		return r
	case <-time.After(reserve(cfg.Timeout) / 2):
		return d.broken("Ostiary did not get the whole event in time, so the call is blocked.")
	}
}

func dispatch(ctx context.Context, cfg Config, d dialect) reply {
	ev, err := readEvent(cfg.In)
	if err != nil && ev.Name != postToolUse {
		return d.broken("Ostiary cannot read the hook's event, so the call is blocked: " + said(err))
	}
	r := run{Config: cfg, dialect: d, ev: ev}
	switch ev.Name {
	case preToolUse:
		return r.before(ctx)
	case permissionRequest:
		return r.permission(ctx)
	case postToolUse:
		if err != nil {
			return r.hide("the event cannot be read: " + said(err))
		}
		return r.after(ctx)
	case userPromptSubmit:
		return r.prompt(ctx)
	default:
		return d.broken(fmt.Sprintf("Ostiary does not know the event %q. Configure its hook for %s, %s, %s and %s only.",
			ev.Name, preToolUse, permissionRequest, postToolUse, userPromptSubmit))
	}
}

// run is one event being answered.
type run struct {
	Config
	dialect dialect
	ev      event
}

// prompt tells the sidecar the user's own words. A failure blocks nothing: without them policy is only stricter.
func (r run) prompt(ctx context.Context) reply {
	if r.ev.Prompt == "" {
		return r.dialect.silence
	}
	if err := r.Sidecar.Message(ctx, r.ev.SessionID, wire.MessageRequest{Role: "user", Text: r.ev.Prompt}); err != nil {
		return reply{stderr: "ostiary: the sidecar did not take in the prompt: " + said(err), code: 1}
	}
	return r.dialect.silence
}

// said is what an agent may read of a failure, with its kind and what to do.
func said(err error) string {
	if errors.Is(err, client.ErrUnreachable) {
		return "no sidecar can be reached (sidecar_unreachable). A person must start `sidecar serve`; do not retry before."
	}
	p := ostiary.Public(err)
	text := p.Msg + " (" + string(p.Kind) + ")."
	if p.Fix != "" {
		text += " What to do: " + p.Fix + "."
	}
	return text
}
