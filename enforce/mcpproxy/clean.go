package mcpproxy

import (
	"context"
	"errors"

	"ostiary"
	"ostiary/client"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// clean returns the answer with everything in it cleaned that a model could read, or a refusal in its place.
func (p *proxy) clean(r *request, m message) (frame []byte) {
	defer func() {
		if why := recover(); why != nil {
			p.note("an answer could not be cleaned: %v", why)
			frame = r.refuse("internal_error", "the proxy failed while it cleaned it", "")
		}
	}()
	b, err := bodyOf(r, m)
	if err != nil {
		return r.refuse("malformed_result", "it is no object", "")
	}
	if b.empty {
		return m.frame
	}
	req := wire.ResultRequest{
		SessionID: p.Session, Tool: tool.Name{Namespace: p.serverName(), Name: r.method}, Content: b.content, StructuredContent: b.rest, MaxLength: new(int),
	}
	if r.call != nil {
		req.Tool, req.InvocationID = r.call.name, r.call.invocation
	}
	resp, err := p.ask(r, req)
	if err != nil {
		kind, why := unclean(err)
		return r.refuse(kind, "it could not be cleaned: "+why, "")
	}
	if resp.Behavior != "allow" {
		kind, review := "policy", ""
		if resp.Review != nil {
			kind, review = "review", resp.Review.ID
		}
		return r.refuse(kind, resp.Reason, review)
	}
	whole, err := b.together(resp)
	if err != nil {
		return r.refuse("internal_error", "the cleaned form does not fit it", "")
	}
	return m.with(b.at, whole)
}

// ask has the sidecar clean an answer. What a tool returned, what a resource holds and what a prompt says join the session: they are
// material that the model works on. A catalogue does not, or every session would be tainted before its first call; it does when it speaks
// to the model.
func (p *proxy) ask(r *request, req wire.ResultRequest) (wire.ResultResponse, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.working), resultTimeout)
	defer cancel()
	if r.ofCatalogue() {
		resp, err := p.Sidecar.Sanitize(ctx, req)
		if err != nil || !resp.Tainted {
			return resp, err
		}
	}
	return p.Sidecar.Result(ctx, req)
}

// unclean says in a word and in a sentence why the sidecar did not clean an answer.
func unclean(err error) (kind, why string) {
	if errors.Is(err, client.ErrUnreachable) {
		return kindUnreachable, "no sidecar can be reached; a person must start `sidecar serve`"
	}
	said := ostiary.Public(err)
	return string(said.Kind), said.Msg
}

// ofCatalogue reports whether the answer describes what the server offers, or tells how a request stands. A method that is not named here
// is taken to return material.
func (r *request) ofCatalogue() bool {
	switch r.method {
	case "initialize", "server/discover", "ping", "logging/setLevel", "completion/complete",
		"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/subscribe", "resources/unsubscribe",
		"tasks/get", "tasks/list", "tasks/cancel":
		return true
	}
	return false
}
