package mcpproxy

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/tool"
)

// maxAsked is how many tools the sidecar is asked about at once.
const maxAsked = 1000

// shown leaves out of a list the tools that policy keeps from this agent, and elements whose name cannot be read. The others stay byte for
// byte. An answer without a list stays as it is.
func (p *proxy) shown(m rpc.Message) (rpc.Message, error) {
	result, err := m.Child("result")
	if err != nil {
		return m, nil //nolint:nilerr // an error response lists nothing
	}
	var tools []jsontext.Value
	if err := json.Unmarshal(result.Raw("tools"), &tools); err != nil {
		return m, nil //nolint:nilerr // what is no list is cleaned as what it is
	}
	names := make([]tool.Name, len(tools))
	for i, raw := range tools {
		names[i] = p.nameOf(raw)
	}
	visible, err := p.visible(names)
	if err != nil {
		return m, err
	}
	left := []jsontext.Value{}
	for i, raw := range tools {
		if visible[names[i]] {
			left = append(left, raw)
		}
	}
	if len(left) == len(tools) {
		return m, nil
	}
	p.note("%d of %d tools are kept from the client's list", len(tools)-len(left), len(tools))
	return rpc.Read(result.With("tools", rpc.Marshal(left)))
}

// nameOf reads the name of a listed tool and nothing else of it, so that no other member can hide it; the zero name when it has none.
func (p *proxy) nameOf(raw jsontext.Value) tool.Name {
	var t struct {
		Name string `json:"name"`
	}
	n := tool.Name{Namespace: p.serverName()}
	if err := json.Unmarshal(raw, &t); err != nil {
		return tool.Name{}
	}
	if n.Name = t.Name; n.Check() != nil {
		return tool.Name{}
	}
	return n
}

// visible asks policy which tools may be shown. What has no name that could be called is not among them.
func (p *proxy) visible(names []tool.Name) (map[tool.Name]bool, error) {
	ask := slices.DeleteFunc(slices.Clone(names), func(n tool.Name) bool { return n == tool.Name{} })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.working), resultTimeout)
	defer cancel()
	out := map[tool.Name]bool{}
	for some := range slices.Chunk(ask, maxAsked) {
		resp, err := p.Sidecar.Visible(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, n := range resp.Visible {
			out[n] = true
		}
	}
	return out, nil
}
