package phases

import (
	"context"

	"ostiary"
	"ostiary/agent"
	"ostiary/decision"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// maxListed bounds how many tools are asked about at once.
const maxListed = 1000

// Visible says which tools an agent may be shown. Only a deny hides one: what would be asked about can still be asked for. A tool that the
// policies cannot be asked about is hidden.
func (a *Adviser) Visible(ctx context.Context, who agent.Identity, names []tool.Name) (wire.ToolsResponse, error) {
	if len(names) > maxListed {
		return wire.ToolsResponse{}, ostiary.Errorf(ostiary.KindInvalidField, "more than %d tools are listed at once", maxListed)
	}
	out := wire.ToolsResponse{Visible: []tool.Name{}, Hidden: []wire.HiddenTool{}}
	for _, name := range names {
		if err := name.Check(); err != nil {
			return wire.ToolsResponse{}, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/tools", Msg: err.Error()}
		}
		if d := a.listed(ctx, who, name); d.Behavior == decision.Deny {
			out.Hidden = append(out.Hidden, wire.HiddenTool{Tool: name, Reason: d.Reason, RuleRefs: d.RuleRefs()})
		} else {
			out.Visible = append(out.Visible, name)
		}
	}
	return out, nil
}

func (a *Adviser) listed(ctx context.Context, who agent.Identity, name tool.Name) decision.Decision {
	declared, err := a.cfg.Resolve(ctx, who.Tenant, name)
	if err != nil {
		return decision.Failure(err)
	}
	in := a.input(decision.PhaseList, who)
	in.Tool = decision.FactsOf(declared)
	out, err := a.cfg.Decide(ctx, in)
	if err != nil {
		return decision.Failure(err)
	}
	return decision.FromPolicy(out, decision.Allow)
}
