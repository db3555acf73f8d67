package rego

import (
	"context"
	"runtime"
	"time"

	"ostiary/decision"
	"ostiary/decision/rego/document"
)

// Bench is one state of the policies that serves nobody: authors try their rules on it. Their tests need not pass. It is safe for
// concurrent use.
type Bench struct {
	engine   *Engine
	snapshot *snapshot
}

// Package is a policy package, by layer and name, with the places of the input document that it can read.
type Package struct {
	Name  string
	Reads [][]string
}

// OpenBench compiles sources. One evaluation may take as long as timeout says.
func OpenBench(ctx context.Context, src Sources, timeout time.Duration) (*Bench, error) {
	s, err := newSnapshot(ctx, src)
	if err != nil {
		return nil, err
	}
	b := &Bench{engine: &Engine{cfg: Config{Timeout: timeout, Now: time.Now}, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}, snapshot: s}
	if err := b.engine.warmUp(ctx, s); err != nil {
		return nil, err
	}
	b.engine.selfCheck(ctx, s)
	b.engine.current.Store(s)
	return b, nil
}

// Decide answers as an [Engine] does.
func (b *Bench) Decide(ctx context.Context, in decision.Input) (decision.Outcome, error) {
	return b.engine.Decide(ctx, in)
}

// Revision names the state as the engine that has it in force does.
func (b *Bench) Revision() string { return b.snapshot.revision }

// Exceptions lift what rules ask; Decide heeds them, Ask does not.
func (b *Bench) Exceptions() []decision.Exception { return b.snapshot.exceptions }

// Packages lists the packages, in the order that Ask counts them in.
func (b *Bench) Packages() []Package {
	var out []Package
	for _, p := range b.snapshot.packs {
		var reads [][]string
		for _, i := range p.reads {
			reads = append(reads, b.snapshot.fields[i].Path)
		}
		out = append(out, Package{Name: p.name, Reads: reads})
	}
	return out
}

// Ask gives the verdicts of one package alone; none when it has no say in this call.
func (b *Bench) Ask(ctx context.Context, pkg int, in *decision.Input) ([]decision.Verdict, error) {
	p := &b.snapshot.packs[pkg]
	values := document.NewValues(in, b.snapshot.fields)
	if !p.speaks(in) || p.guard.Silent(values) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, b.engine.cfg.Timeout)
	defer cancel()
	return b.snapshot.evaluate(ctx, p, values)
}
