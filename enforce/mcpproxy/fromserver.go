package mcpproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/client"
	"ostiary/enforce/wire"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// fromServer passes on what the server sends until its output ends.
func (p *proxy) fromServer(out io.Reader) {
	frames := newFrames(out, MaxFrame)
	for {
		frame, err := frames.next()
		if errors.Is(err, errTooLong) {
			p.unreadable(frame, err)
			continue
		}
		if err != nil {
			return
		}
		m, err := read(frame)
		switch {
		case err != nil:
			p.unreadable(frame, err)
		case m.isResponse():
			p.response(m)
		default:
			p.answer(frame)
		}
	}
}

// unreadable drops a frame, and tells whoever may be waiting for it.
func (p *proxy) unreadable(frame []byte, why error) {
	p.note("a frame of the server was dropped: %v", why)
	for _, id := range skimIDs(frame) {
		if r := p.take(id); r != nil {
			p.fail(r, "malformed_result", "the server's answer cannot be read: "+why.Error())
		}
	}
}

func (p *proxy) response(m message) {
	r := p.take(m.id)
	switch {
	case r == nil:
		p.note("an answer of the server was dropped: no request with its id waits for one")
	case r.cleans():
		p.cleaning.Go(func() { p.answer(p.clean(r, m)) })
	default:
		p.learn(r.method, m)
		p.answer(m.frame)
	}
}

// learn takes from an answer what later calls are judged by.
func (p *proxy) learn(method string, m message) {
	result, err := m.child("result")
	if err != nil {
		return
	}
	switch method {
	case "initialize", "server/discover":
		if info, err := result.child("serverInfo"); err == nil {
			if name, ok := info.text("name"); ok {
				p.nameServer(name)
			}
		}
	case "tools/list":
		p.learnHints(result.raw("tools"))
	}
}

// nameServer gives the server's tools their namespace, once: a server cannot slip into another one later.
func (p *proxy) nameServer(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.namespace == "" {
		p.namespace = client.ServerNamespace(slug(name))
	}
}

// unnamed is the namespace of a server that has not said its name. Nothing is declared there.
const unnamed = "mcp"

func (p *proxy) serverName() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.namespace == "" {
		return unnamed
	}
	return p.namespace
}

// maxSlug bounds a slug, in bytes.
const maxSlug = 64

// slug writes a name in lower case with dashes for all but letters, digits, dots and underscores.
func slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.':
			b.WriteRune(c)
		default:
			b.WriteByte('-')
		}
	}
	s := strings.Trim(b.String()[:min(maxSlug, b.Len())], "-.")
	if s == "" {
		return unnamed
	}
	return s
}

// listed is what a server says of a tool. A hint that is not there stays unset.
type listed struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
}

// maxHints bounds how many tools' hints are kept. A tool without any is judged by what the operator declared.
const maxHints = 10_000

func (p *proxy) learnHints(tools jsontext.Value) {
	var list []listed
	if err := json.Unmarshal(tools, &list); err != nil {
		p.note("the server's tool list cannot be read, so its hints are not used: %v", err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range list {
		if _, known := p.hints[t.Name]; !known && len(p.hints) >= maxHints {
			return
		}
		a := t.Annotations
		p.hints[t.Name] = tool.Annotations{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}
	}
}

func (p *proxy) hint(name string) tool.Annotations {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hints[name]
}

// clean returns the frame with its texts cleaned, or a refusal in its place.
func (p *proxy) clean(r *request, m message) (frame []byte) {
	defer func() {
		if why := recover(); why != nil {
			p.note("a result could not be cleaned: %v", why)
			frame = toolError(r.id, withheld("internal_error", "the proxy failed while it cleaned it", ""))
		}
	}()
	req := wire.ResultRequest{SessionID: p.Session, Tool: tool.Name{Namespace: p.serverName(), Name: r.method}, MaxLength: new(int)}
	if r.call != nil {
		req.Tool, req.InvocationID = r.call.name, r.call.invocation
	}
	at, texts, structured := "result", "content", "structuredContent"
	if m.has("error") {
		at, texts, structured = "error", "message", "data"
	}
	body, err := m.child(at)
	if err != nil {
		return toolError(r.id, withheld("malformed_result", "it is no object", ""))
	}
	req.Content, req.StructuredContent = body.raw(texts), body.raw(structured)
	if req.Content == nil {
		req.Content = jsontext.Value("[]")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.working), resultTimeout)
	defer cancel()
	resp, err := p.Sidecar.Result(ctx, req)
	if err != nil {
		no := failed(err)
		return toolError(r.id, withheld(no.kind, "it could not be cleaned: "+no.text, ""))
	}
	if no := unreleased(req, resp); no != nil {
		return toolError(r.id, *no)
	}
	frame = replace(m.frame, at, texts, req.Content, resp.Content)
	return replace(frame, at, structured, req.StructuredContent, resp.StructuredContent)
}

// unreleased says why a result is not shown, or nil.
func unreleased(req wire.ResultRequest, resp wire.ResultResponse) *refusal {
	if resp.Behavior != "allow" {
		kind, review := "policy", ""
		if resp.Review != nil {
			kind, review = "review", resp.Review.ID
		}
		return new(withheld(kind, resp.Reason, review))
	}
	if resp.Content.Kind() != req.Content.Kind() || resp.StructuredContent.Kind() != req.StructuredContent.Kind() {
		return new(withheld("internal_error", "the cleaned form does not fit it", ""))
	}
	return nil
}

// replace puts a cleaned member into the frame. One that was not changed keeps its bytes.
func replace(frame []byte, at, name string, was, now jsontext.Value) []byte {
	a, errA := strictjson.Canonical(was)
	b, errB := strictjson.Canonical(now)
	if len(was) == 0 || errA == nil && errB == nil && bytes.Equal(a, b) {
		return frame
	}
	m, err := readObject(frame, span{0, len(frame)})
	if err != nil {
		return nil
	}
	body, err := m.child(at)
	if err != nil {
		return nil
	}
	return body.with(name, now)
}
