package mcpproxy

import (
	"context"
	"errors"

	"ostiary"
	"ostiary/client"
	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// clean returns the answer with everything in it cleaned that a model could read, or a refusal in its place.
func (p *proxy) clean(r *request, m rpc.Message) (frame []byte) {
	defer func() {
		if why := recover(); why != nil {
			p.note("an answer could not be cleaned: %v", why)
			frame = r.refuse("internal_error", "the proxy failed while it cleaned it", "")
		}
	}()
	if r.method == "tools/list" {
		var err error
		if m, err = p.shown(m); err != nil {
			kind, why := unclean(err)
			return r.refuse(kind, "policy could not be asked which tools may be shown: "+why, "")
		}
	}
	b, err := bodyOf(r, m)
	if err != nil {
		return r.refuse("malformed_result", "it is no object", "")
	}
	if b.empty {
		return m.Bytes()
	}
	switch err := p.lift(&b); {
	case errors.Is(err, errSpeaks):
		return r.refuse("injection_suspected", err.Error(), "")
	case err != nil:
		kind, why := unclean(err)
		return r.refuse(kind, "it could not be cleaned: "+why, "")
	}
	req := wire.ResultRequest{
		SessionID: p.Session, Tool: tool.Name{Namespace: p.serverName(), Name: r.method}, Content: b.content, StructuredContent: b.rest, MaxLength: new(int),
	}
	if r.call != nil {
		req.Tool, req.InvocationID = r.call.name, r.call.invocation
	}
	resp, err := p.ask(r, b.status, req)
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
	return m.With(b.at, whole)
}

// lift takes the tokens out of the body that may go past cleaning.
func (p *proxy) lift(b *body) error {
	if err := p.vouch(b.tokens); err != nil {
		return err
	}
	var err error
	b.rest, err = b.tokens.blank(b.rest)
	return err
}

// ask has the sidecar clean an answer. What a tool returned, what a resource holds and what a prompt says join the session: they are
// material that the model works on. A catalogue does not, or every session would be tainted before its first call; nor does the
// status of a task. Both do when they speak to the model.
func (p *proxy) ask(r *request, status bool, req wire.ResultRequest) (wire.ResultResponse, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.working), resultTimeout)
	defer cancel()
	if r.ofCatalogue() || status {
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

// ofCatalogue reports whether the answer describes what the server offers. A method that is not named here is taken to return material:
// since 2026-07-28 even the question how a task stands is answered with the tool's output.
func (r *request) ofCatalogue() bool {
	switch r.method {
	case "initialize", "server/discover", "ping", "logging/setLevel", "completion/complete",
		"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/subscribe", "resources/unsubscribe":
		return true
	}
	return false
}
