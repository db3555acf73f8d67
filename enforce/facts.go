package enforce

import (
	"path/filepath"

	"ostiary/decision"
)

// maxCWD bounds the caller's working directory, in bytes: it is joined to every relative path of the call.
const maxCWD = 4096

// input builds the document that policies read. A call that names more paths than policy can be shown is refused as invalid_field.
func (e *Enforcer) input(c *call) (decision.Input, error) {
	parsed, err := c.facts.Parsed()
	if err != nil {
		return decision.Input{}, err
	}
	in := decision.Input{
		Phase:      decision.PhaseCall,
		Tool:       decision.FactsOf(c.tool),
		Args:       c.req.Input,
		Caller:     decision.Caller{Agent: c.who.Subject, Tenant: c.who.Tenant, Profile: string(c.who.Profile), Confidence: c.req.Confidence, Verdict: c.req.Verdict, ReportsConfidence: c.tool.ReportsConfidence},
		Session:    c.session.Facts(c.req.Iteration),
		Request:    decision.RequestFacts{Known: c.session.KnowsRequest()},
		Provenance: decision.Provenance{Args: c.origins},
		Parsed:     parsed,
		Clock:      decision.ClockAt(e.cfg.Now().In(e.cfg.Location)),
	}
	in.Tool.Drifted = c.session.Drifted(toolClaim(c.tool.ID()), c.tool.Digest)
	if ev := c.req.Evidence; ev != nil {
		in.Evidence = &decision.Evidence{Status: ev.Status, Warnings: ev.Warnings}
	}
	if c.req.Context != nil {
		in.Tool.Annotations = in.Tool.Annotations.Worsen(c.req.Context.Annotations)
	}
	return in, nil
}

// cwd is where relative paths of the call start.
func cwd(c *call) string {
	if c.req.Context != nil && filepath.IsAbs(c.req.Context.CWD) {
		return c.req.Context.CWD
	}
	return "/"
}
