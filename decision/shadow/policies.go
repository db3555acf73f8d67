package shadow

import (
	"context"
	"time"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego"
)

// Bounds of a trial.
const (
	maxTTL     = 7 * 24 * time.Hour
	defaultTTL = time.Hour
	timeout    = time.Second // of one evaluation: no call waits for it
)

// Policies are an engine's policies as their authors handle them. It is safe for concurrent use.
type Policies struct {
	*rego.Engine
	beside *Beside
}

// Over returns the policies of an engine; its Decider is to be asked in the engine's place.
func Over(engine *rego.Engine, now func() time.Time) (*Policies, *Beside) {
	beside := New(engine, now)
	return &Policies{engine, beside}, beside
}

// State tells how the policies stand, with what a candidate at their side would have done; nil when there is none.
func (p *Policies) State() (decision.PolicyStatus, *decision.ShadowReport) {
	status, _ := p.Status()
	if report, there := p.beside.Report(); there {
		return status, &report
	}
	return status, nil
}

// Try puts a candidate beside the policies in force: the shipped ones with these files, by name, as the operator's. It goes after ttl; 0
// means an hour.
func (p *Policies) Try(ctx context.Context, files map[string]string, ttl time.Duration) error {
	switch {
	case len(files) == 0:
		return &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/files", Msg: "files is missing; it maps names to Rego"}
	case ttl == 0:
		ttl = defaultTTL
	case ttl < 0 || ttl > maxTTL:
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/ttl", Msg: "ttl must lie between 0 and 168h"}
	}
	src, err := p.Candidate(ctx, files)
	if err != nil {
		return err
	}
	bench, err := rego.OpenBench(ctx, src, timeout)
	if err != nil {
		return err
	}
	p.beside.Begin(context.WithoutCancel(ctx), bench, p.beside.now().Add(ttl))
	return nil
}

// EndTry takes the candidate away; it reports false when there is none.
func (p *Policies) EndTry() bool { return p.beside.End() }
