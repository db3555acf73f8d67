package mcpproxy

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/client"
	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/tool"
)

// fromServer passes on what the server sends until its output ends.
func (p *proxy) fromServer(out io.Reader) {
	frames := rpc.NewFrames(out, rpc.MaxFrame)
	for {
		frame, err := frames.Next()
		if errors.Is(err, rpc.ErrTooLong) {
			p.unreadable(frame, err)
			continue
		}
		if err != nil {
			return
		}
		m, err := rpc.Read(frame)
		if err == nil && m.OtherCase() {
			err = rpc.ErrOtherCase
		}
		switch {
		case err != nil:
			p.unreadable(frame, err)
		case m.IsResponse():
			p.response(m)
		default:
			p.answer(frame)
		}
	}
}

// unreadable drops a frame, and tells whoever may be waiting for it.
func (p *proxy) unreadable(frame []byte, why error) {
	p.note("a frame of the server was dropped: %s", rpc.Plainly(why))
	for _, id := range rpc.SkimIDs(frame) {
		if r := p.take(id); r != nil {
			p.fail(r, "malformed_result", "the server's answer cannot be read: "+rpc.Plainly(why))
		}
	}
}

func (p *proxy) response(m rpc.Message) {
	r := p.take(m.ID)
	if r == nil {
		p.note("an answer of the server was dropped: no request with its id waits for one")
		return
	}
	m, err := m.Bare()
	switch {
	case err != nil:
		p.fail(r, "malformed_result", "the server's answer cannot be read: "+rpc.Plainly(err))
	case r.method == "initialize": // what the server says next must not overtake it
		p.learn(r.method, m)
		p.answer(p.clean(r, m))
	default:
		p.learn(r.method, m)
		p.cleaning.Go(func() { p.answer(p.clean(r, m)) })
	}
}

// learn takes from an answer what later calls are judged by.
func (p *proxy) learn(method string, m rpc.Message) {
	result, err := m.Child("result")
	if err != nil {
		return
	}
	switch method {
	case "initialize", "server/discover":
		info, err := result.Child("serverInfo")
		if meta, errMeta := result.Child("_meta"); err != nil && errMeta == nil { // since 2026-07-28
			info, err = meta.Child("io.modelcontextprotocol/serverInfo")
		}
		if name, ok := info.Text("name"); ok && err == nil {
			p.nameServer(name)
		}
	case "tools/list":
		p.learnHints(result.Raw("tools"))
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
		p.note("the server's tool list cannot be read, so its hints are not used")
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
