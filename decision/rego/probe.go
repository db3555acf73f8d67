package rego

import (
	"ostiary/decision"
	"ostiary/tool"
)

// probes are inputs of every kind: each phase, source and origin with annotations, labels and counters that differ, so that no two parts of
// the document always change together.
func probes() []decision.Input {
	var out []decision.Input
	low := 0.1
	sources := []tool.Source{tool.FromOperator, tool.FromShipped, tool.FromServer, tool.Undeclared}
	origins := []decision.Origin{decision.OriginUser, decision.OriginUntrusted, decision.OriginModel, decision.OriginEndorsed}
	for i := range 32 {
		bit := func(n int) bool { return i>>n&1 == 1 }
		in := decision.Input{
			Phase: decision.PhaseCall,
			Tool: decision.ToolFacts{Namespace: "probe", Name: "probe", AnnotationsSource: sources[i%len(sources)],
				Annotations: tool.Risk{ReadOnly: bit(0), Idempotent: bit(1), Destructive: bit(2), OpenWorld: bit(3), SensitiveSink: bit(4)}},
			Args:       []byte(`{"path":"/probe","amount":1}`),
			Caller:     decision.Caller{Agent: "probe", Tenant: "default", Profile: []string{"api", "hook"}[i/2%2], ReportsConfidence: bit(3)},
			Session:    decision.SessionFacts{Tainted: bit(1), ErrorStreak: i % 5, IterationOver: bit(4), OverBudget: bit(2), Carried: bit(0)},
			Request:    decision.RequestFacts{Known: bit(2)},
			Provenance: decision.Provenance{Args: []decision.ArgOrigin{{Pointer: "/path", Role: "url", Origin: origins[i/4%len(origins)]}}},
			Parsed:     decision.Parsed{Paths: []string{"/probe", "/home/probe/.claude/settings.json"}[:i%3], Hosts: []string{}},
			Clock:      decision.Clock{MinuteOfWeek: i, WorkHours: bit(1)},
		}
		if bit(0) {
			in.Caller.Confidence, in.Caller.Verdict = &low, "uncertain"
		}
		if bit(1) {
			in.Session.Labels = []tool.Label{tool.LabelUntrusted, tool.LabelInjection}
			in.Evidence = &decision.Evidence{Status: "degraded", Warnings: []string{"text_only"}}
		}
		if bit(2) {
			in.Parsed.Files, in.Parsed.Unparsable = []string{"/probe/.env"}, bit(0)
			in.Parsed.Commands = []decision.Command{{Name: "git", Args: []string{"push", "--force"}, Redirects: []decision.Redirect{}, Via: "plain"}, {Dynamic: bit(3), Args: []string{}, Redirects: []decision.Redirect{}, Via: "pipe"}}
			in.Parsed.SQL = decision.SQL{Verbs: []string{"delete"}, Unbounded: bit(0), Multi: bit(4), Unparsable: bit(1)}
		}
		if i%8 == 7 {
			in.Phase = decision.PhaseResult
			in.Result = &decision.ResultFacts{Status: tool.OK, Labels: []tool.Label{tool.LabelPII}, Findings: map[string]int{"pii": 10 * i}}
		}
		out = append(out, in)
	}
	return out
}
