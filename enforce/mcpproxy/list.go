package mcpproxy

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/tool"
)

// shown leaves out of a list the tools that policy keeps from this agent. The others stay byte for byte. An answer without a list stays as
// it is.
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
		var t listed
		if json.Unmarshal(raw, &t) == nil {
			names[i] = tool.Name{Namespace: p.serverName(), Name: t.Name}
		}
	}
	hidden, err := p.hidden(names)
	if err != nil || len(hidden) == 0 {
		return m, err
	}
	left := []jsontext.Value{}
	for i, raw := range tools {
		if !slices.Contains(hidden, names[i]) {
			left = append(left, raw)
		}
	}
	p.note("%d of %d tools are kept from the client's list by policy", len(tools)-len(left), len(tools))
	return rpc.Read(result.With("tools", rpc.Marshal(left)))
}

// hidden asks policy about names. One that can be no tool's is nothing that could be called.
func (p *proxy) hidden(names []tool.Name) ([]tool.Name, error) {
	ask := slices.DeleteFunc(slices.Clone(names), func(n tool.Name) bool { return n.Check() != nil })
	if len(ask) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.working), resultTimeout)
	defer cancel()
	resp, err := p.Sidecar.Visible(ctx, ask)
	if err != nil {
		return nil, err
	}
	var hidden []tool.Name
	for _, n := range ask {
		if !slices.Contains(resp.Visible, n) {
			hidden = append(hidden, n)
		}
	}
	return hidden, nil
}
