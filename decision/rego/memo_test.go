package rego

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ostiary/decision"
	"ostiary/policies"
	"ostiary/tool"
)

func anInput() decision.Input {
	return decision.Input{
		Phase: decision.PhaseCall,
		Tool: decision.ToolFacts{Namespace: "crm", Name: "t", AnnotationsSource: tool.FromOperator,
			Annotations: tool.Risk{ReadOnly: true, Idempotent: true}},
		Args:    []byte(`{"a":1}`),
		Caller:  decision.Caller{Agent: "a", Tenant: "default", Profile: "api"},
		Session: decision.SessionFacts{Labels: []tool.Label{}},
		Parsed:  decision.Parsed{Paths: []string{"/srv/a/b"}, Hosts: []string{}},
		Provenance: decision.Provenance{Args: []decision.ArgOrigin{
			{Pointer: "/a", Role: "text", Origin: decision.OriginModel}, {Pointer: "/b", Role: "path", Origin: decision.OriginUser}}},
	}
}

// forget makes the analysis wrong for a package: it is taken to read nothing.
func (s *snapshot) forget(t *testing.T, name string) {
	t.Helper()
	for i := range s.packs {
		if s.packs[i].name == name {
			s.packs[i].reads = nil
			return
		}
	}
	t.Fatalf("there is no package %s", name)
}

func TestAWrongReadSetIsFoundBeforeAnythingIsRemembered(t *testing.T) {
	e := loadWith(t, "")
	s := e.current.Load()
	if e.selfCheck(t.Context(), s); s.memo.off.Load() {
		t.Fatal("the memo is off although nothing is wrong")
	}
	s.forget(t, "baseline.sinks")
	if e.selfCheck(t.Context(), s); !s.memo.off.Load() {
		t.Error("the memo is on")
	}
}

func TestAWrongReadSetIsFoundInService(t *testing.T) {
	e := loadWith(t, verdict+`input.args.n == 1000`)
	s := e.current.Load()
	s.forget(t, "operator.t")
	in := anInput()
	for i := range checkEvery {
		in.Args = fmt.Appendf(nil, `{"n":%d}`, i+1)
		out, err := e.Decide(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if last := i+1 == checkEvery; s.memo.off.Load() != last || last && out.Behavior != decision.Ask {
			t.Fatalf("after %d: off %v, %s", i+1, s.memo.off.Load(), out.Behavior)
		}
	}
	if out, err := e.Decide(t.Context(), in); err != nil || out.Behavior != decision.Ask {
		t.Errorf("%v, %v", out.Behavior, err)
	}
}

func TestAFailureIsNotRemembered(t *testing.T) {
	e := loadWith(t, verdict+`to_number(input.args.n) == 1`)
	in := anInput()
	in.Args = []byte(`{"n":"no number"}`)
	for range 2 {
		if out, err := e.Decide(t.Context(), in); err == nil || out.Behavior != decision.Deny {
			t.Errorf("%v, %v", out.Behavior, err)
		}
	}
	if m := e.current.Load().memo; m.hits.Load() != 0 || m.misses.Load() != 2 {
		t.Errorf("%d hits, %d misses", m.hits.Load(), m.misses.Load())
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	m, err := newMemo()
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 1<<20)
	for i := range 200 {
		text[0] = byte(i)
		m.put(text, &remembered{})
	}
	m.answers.CleanUp()
	if got := m.answers.WeightedSize(); got > memoBytes {
		t.Errorf("%d bytes, want at most %d", got, memoBytes)
	}
}

// BenchmarkDecide measures a decision in process: remembered, with one package's facts changed, evaluated in parts, evaluated whole.
func BenchmarkDecide(b *testing.B) {
	run := func(name string, cfg Config, next func(e *Engine, in *decision.Input, i int)) {
		b.Run(name, func(b *testing.B) {
			cfg.Shipped, cfg.Timeout = policies.FS, time.Second
			e, err := Load(context.Background(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			in := anInput()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				next(e, &in, i)
				if _, err := e.Decide(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("hit", Config{}, func(*Engine, *decision.Input, int) {})
	run("one package changed", Config{}, func(_ *Engine, in *decision.Input, i int) { in.Parsed.Paths[0] = fmt.Sprint("/srv/", i) })
	run("cold", Config{}, func(e *Engine, in *decision.Input, _ int) { e.current.Load().memo.answers.InvalidateAll() })
	run("whole", Config{}, func(e *Engine, _ *decision.Input, _ int) { e.current.Load().memo.off.Store(true) })
}
