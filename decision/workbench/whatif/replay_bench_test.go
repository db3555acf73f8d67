package whatif

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/policies"
	"ostiary/tool"
)

// recording writes n recorded calls of the kinds that agents make: many tools and arguments, every call with a path of its own.
func recording(tb testing.TB, n int) []byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	chance := func(p float64) bool { return r.Float64() < p }
	var b bytes.Buffer
	for i := range n {
		in := decision.Input{
			Phase: decision.PhaseCall,
			Tool: decision.ToolFacts{Namespace: []string{"mail", "crm", "shell"}[r.IntN(3)], Name: fmt.Sprintf("tool%d", r.IntN(50)), AnnotationsSource: []tool.Source{tool.FromOperator, tool.FromShipped, tool.FromServer}[r.IntN(3)],
				Annotations: tool.Risk{ReadOnly: chance(.5), Destructive: chance(.2), OpenWorld: chance(.5), SensitiveSink: chance(.3)}},
			Args:       fmt.Appendf(nil, `{"to":"user%d@example.com","body":"%0300d"}`, r.IntN(5000), i),
			Caller:     decision.Caller{Agent: fmt.Sprintf("agent:%d", r.IntN(20)), Tenant: "default", Profile: "api"},
			Session:    decision.SessionFacts{ErrorStreak: r.IntN(3), Tainted: chance(.2)},
			Parsed:     decision.Parsed{Paths: []string{fmt.Sprintf("/srv/p%d/f%d", r.IntN(30), i)}},
			Provenance: decision.Provenance{Args: []decision.ArgOrigin{{Pointer: "/to", Role: "recipient", Origin: decision.OriginModel}}},
			Clock:      decision.Clock{MinuteOfWeek: r.IntN(10080)},
		}
		if in.Session.Tainted {
			in.Session.Labels = []tool.Label{tool.LabelUntrusted}
			in.Provenance.Args[0].Origin = []decision.Origin{decision.OriginUser, decision.OriginUntrusted}[r.IntN(2)]
		}
		line, err := json.Marshal(map[string]any{"input": in, "behavior": "ask"}, json.Deterministic(true))
		if err != nil {
			tb.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// BenchmarkReplay replays 100,000 recorded calls, each with a path of its own; the promise is 10 s on one core.
func BenchmarkReplay(b *testing.B) {
	lines := recording(b, 100_000)
	for b.Loop() {
		l, err := Open(b.Context(), rego.Config{Shipped: policies.FS})
		if err != nil {
			b.Fatal(err)
		}
		r, err := l.Replay(b.Context(), bytes.NewReader(lines), func(uint64, uint64) {})
		if err != nil || r.Replayed != 100_000 {
			b.Fatalf("%d, %v", r.Replayed, err)
		}
		b.ReportMetric(float64(len(r.Kinds)), "kinds")
	}
}
