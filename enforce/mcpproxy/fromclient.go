package mcpproxy

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/mcpproxy/rpc"
)

// fromClient passes on what the client sends until it has left.
func (p *proxy) fromClient(in io.Reader) {
	frames := rpc.NewFrames(in, rpc.MaxFrame)
	for {
		frame, err := frames.Next()
		switch {
		case errors.Is(err, rpc.ErrTooLong):
			p.answer(rpcError(onlyID(frame), codeInvalid, "Ostiary: "+err.Error()))
		case err != nil:
			if !errors.Is(err, io.EOF) {
				p.note("the client cannot be read: %v", err)
			}
			return
		default:
			p.clientFrame(frame)
		}
	}
}

// onlyID is the id of a frame that cannot be read, when there is no doubt about it.
func onlyID(frame []byte) jsontext.Value {
	if ids := rpc.SkimIDs(frame); len(ids) == 1 {
		return jsontext.Value(ids[0])
	}
	return nil
}

func (p *proxy) clientFrame(frame []byte) {
	m, err := rpc.Read(frame)
	if err != nil {
		code := codeInvalid
		if !jsontext.Value(frame).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			code = codeParse
		}
		p.answer(rpcError(onlyID(frame), code, "Ostiary: the frame cannot be read: "+err.Error()))
		return
	}
	switch {
	case m.Method == "tools/call":
		p.toolsCall(m)
		return
	case m.Method == "notifications/cancelled" && p.cancelled(m):
		return
	case m.IsRequest():
		if why := p.register(m.ID, &request{id: m.Raw("id"), method: m.Method}); why != "" {
			p.answer(rpcError(m.Raw("id"), codeInvalid, "Ostiary: "+why))
			return
		}
	}
	if err := p.forward(frame); err != nil {
		p.note("the server cannot be written to: %v", err)
	}
}

// cancelled handles a cancellation and reports whether that was all: a call that is still held ends here, and the question that it put is
// withdrawn. A call that the server has is cancelled there, and its late answer is dropped.
func (p *proxy) cancelled(m rpc.Message) bool {
	params, err := m.Child("params")
	if err != nil {
		return false
	}
	id, err := rpc.Key(params.Raw("requestId"))
	if err != nil {
		return false
	}
	p.mu.Lock()
	r := p.pending[id]
	if r == nil {
		p.mu.Unlock()
		return false
	}
	delete(p.pending, id)
	c := r.call
	if c != nil && !c.forwarded {
		c.dropped = true
		p.mu.Unlock()
		c.cancel()
		return true
	}
	p.mu.Unlock()
	if c != nil {
		<-c.sent // the cancellation must not overtake its call
	}
	return false
}
