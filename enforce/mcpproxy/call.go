package mcpproxy

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
	"ostiary/queue"
	"ostiary/tool"
)

// codeParams is JSON-RPC's "invalid params".
const codeParams = -32602

// Bounds of one question to the sidecar; a sidecar that does not answer in time is down.
const (
	decideTimeout = 30 * time.Second
	resultTimeout = time.Minute
	// pollEvery is also how often the client hears that its call is still held.
	pollEvery = 5 * time.Second
)

// call is one tools/call on its way.
type call struct {
	id         jsontext.Value
	key        string
	name       tool.Name
	invocation string
	params     rpc.Object
	input      jsontext.Value // the arguments' bytes as the client wrote them
	progress   jsontext.Value // the progress token, or nil
	cancel     context.CancelFunc
	until      time.Time     // when holding ends; set when it begins
	sent       chan struct{} // closed when the frame is with the server, or will never be

	forwarded, dropped bool // guarded by proxy.mu
}

// toolsCall takes a call on. It is decided beside the other traffic.
func (p *proxy) toolsCall(m rpc.Message) {
	if !m.IsRequest() {
		p.note("a tools/call without an id was dropped: nobody could be told what came of it")
		return
	}
	params, err := m.Child("params")
	name, ok := params.Text("name")
	if err != nil || !ok {
		p.answer(rpcError(m.Raw("id"), codeParams, "Ostiary: params must be an object with the tool's name"))
		return
	}
	ctx, cancel := context.WithCancel(p.working)
	c := &call{
		id: m.Raw("id"), key: m.ID, name: tool.Name{Namespace: p.serverName(), Name: name}, invocation: "inv_" + rand.Text(),
		params: params, input: params.Raw("arguments"), cancel: cancel, sent: make(chan struct{}),
	}
	if c.input == nil {
		c.input = jsontext.Value("{}")
	}
	if meta, err := params.Child("_meta"); err == nil {
		c.progress = meta.Raw("progressToken")
	}
	if why := p.register(m.ID, &request{id: c.id, method: m.Method, call: c}); why != "" {
		cancel()
		p.answer(rpcError(c.id, codeInvalid, "Ostiary: "+why))
		return
	}
	go p.govern(ctx, c)
}

// govern decides a call, waits where a person must, and passes it on or answers it.
func (p *proxy) govern(ctx context.Context, c *call) {
	defer p.governing.Done()
	defer close(c.sent)
	defer c.cancel()
	frame, no := p.judge(ctx, c)
	p.mu.Lock()
	if c.dropped {
		p.mu.Unlock()
		return
	}
	if no != nil {
		delete(p.pending, c.key)
		p.mu.Unlock()
		p.answer(toolError(c.id, *no))
		return
	}
	c.forwarded = true
	p.mu.Unlock()
	if err := p.forward(frame); err != nil {
		p.note("the server cannot be written to: %v", err)
	}
}

// judge returns the frame to pass on, or why there is none. The frame is the client's own bytes unless a reviewer edited the arguments.
func (p *proxy) judge(ctx context.Context, c *call) (frame []byte, no *refusal) {
	defer func() {
		if r := recover(); r != nil {
			p.note("a call could not be judged: %v", r)
			frame, no = nil, new(failed(ostiary.Errorf(ostiary.KindInternal, "the proxy failed while it judged the call")))
		}
	}()
	d, err := p.decide(ctx, c)
	if err != nil {
		return nil, new(failed(err).pending(d))
	}
	if d.Behavior != "allow" {
		return nil, new(refused(d))
	}
	if len(d.Obligations) > 0 {
		return nil, new(failed(ostiary.Errorf(ostiary.KindInternal, "the obligations %v cannot be carried out here", d.Obligations)))
	}
	frame, input := c.params.Bytes(), c.input
	if d.UpdatedInput.Kind() == '{' {
		input = d.UpdatedInput
		frame = c.params.With("arguments", input)
	}
	if err := p.redeem(ctx, c, d, input); err != nil {
		return nil, new(failed(err))
	}
	return frame, nil
}

// decide asks. A call that found the question of an equal one, whose client withdrew it, asks again under a name of its own, once.
func (p *proxy) decide(ctx context.Context, c *call) (wire.Decision, error) {
	d, err := p.question(ctx, c)
	if err != nil || d.Behavior == "allow" || d.Review == nil || d.Review.State != string(queue.Cancelled) || p.dropped(c) {
		return d, err
	}
	c.invocation = "inv_" + rand.Text()
	return p.question(ctx, c)
}

func (p *proxy) dropped(c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.dropped
}

// question asks once, and holds the call while the answer is "ask". When the time is up the ask itself is returned.
func (p *proxy) question(ctx context.Context, c *call) (wire.Decision, error) {
	// Asking goes on when the client cancels: a question whose review nobody knows could not be withdrawn.
	asking, cancel := context.WithTimeout(p.working, decideTimeout)
	defer cancel()
	req := wire.DecisionRequest{SessionID: p.Session, InvocationID: c.invocation, Tool: c.name, Input: c.input}
	if hints := p.hint(c.name.Name); hints != (tool.Annotations{}) {
		req.Context = &wire.CallContext{Annotations: hints}
	}
	d, err := p.Sidecar.Decide(asking, req)
	if err != nil || d.Behavior != "ask" {
		return d, err
	}
	if d.Review == nil {
		return d, ostiary.Errorf(ostiary.KindInternal, "the sidecar asks without a review")
	}
	return p.hold(ctx, c, d)
}

func (p *proxy) hold(ctx context.Context, c *call, ask wire.Decision) (wire.Decision, error) {
	p.mu.Lock()
	p.holders[ask.Review.ID]++
	p.mu.Unlock()
	d, err := p.wait(ctx, c, ask)
	p.mu.Lock()
	left := p.holders[ask.Review.ID] - 1
	p.holders[ask.Review.ID] = left
	if left == 0 {
		delete(p.holders, ask.Review.ID)
	}
	withdrawn := c.dropped && left == 0 // equal calls wait for one review, and one of them cannot withdraw it from the others
	p.mu.Unlock()
	if withdrawn && d.Behavior == "ask" {
		p.withdraw(ask.Review.ID)
	}
	return d, err
}

// withdraw takes a question off the desk. It makes no difference when a person has ruled before: the call does not run.
func (p *proxy) withdraw(review string) {
	ctx, cancel := context.WithTimeout(p.working, decideTimeout)
	defer cancel()
	if _, err := p.Sidecar.Cancel(ctx, review); err != nil && ostiary.KindOf(err) != ostiary.KindAlreadyDecided {
		p.note("review %s could not be withdrawn: %v", review, err)
	}
}

// wait is the part of hold that lasts.
func (p *proxy) wait(ctx context.Context, c *call, ask wire.Decision) (wire.Decision, error) {
	if c.until.IsZero() {
		c.until = time.Now().Add(p.Hold)
	}
	asked := ctx
	ctx, cancel := context.WithDeadline(ctx, c.until)
	defer cancel()
	defer context.AfterFunc(p.holding, cancel)()
	for n := 1; asked.Err() == nil; n++ {
		p.report(c, n, ask.Review.ID) // once at least, however short the hold is
		left := time.Until(c.until)
		if left <= 0 || ctx.Err() != nil {
			return ask, nil
		}
		d, err := p.Sidecar.Review(ctx, ask.Review.ID, min(left, pollEvery))
		switch {
		case err != nil && ctx.Err() != nil:
			return ask, nil
		case err != nil:
			return ask, err
		case d.Behavior != "ask":
			return d, nil
		}
	}
	return ask, nil
}

// report tells the client that the call is held, so that it does not give up. The figures stay far below those that the server may send
// for the same token later, since progress must grow.
func (p *proxy) report(c *call, n int, review string) {
	if c.progress == nil {
		return
	}
	type params struct {
		Token    jsontext.Value `json:"progressToken"`
		Progress float64        `json:"progress"`
		Message  string         `json:"message"`
	}
	p.answer(rpc.Marshal(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  params `json:"params"`
	}{"2.0", "notifications/progress", params{c.progress, float64(n) / 1e6, fmt.Sprintf("waiting for a person to rule on review %s", review)}}))
}

// redeem uses up the permit of an approved call, right before it is passed on. A rule's allow needs none.
func (p *proxy) redeem(ctx context.Context, c *call, d wire.Decision, input jsontext.Value) error {
	if d.Permit == nil {
		if d.Review != nil {
			return ostiary.Errorf(ostiary.KindInternal, "an approval came without a permit")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	_, err := p.Sidecar.Redeem(ctx, wire.RedeemRequest{Permit: *d.Permit, SessionID: p.Session, Tool: c.name, Input: input})
	return err
}
