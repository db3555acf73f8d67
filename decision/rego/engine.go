package rego

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego/bundle"
	"ostiary/decision/rego/document"
)

// Config says where policies come from.
type Config struct {
	// Shipped holds main, baseline, data and schema; required.
	Shipped fs.FS
	// Packs are the shipped packs that are on, beside the baseline; nil means all. An unknown one is refused as config_invalid.
	Packs []string
	// OperatorDir is added to the shipped packs; empty means none.
	OperatorDir string
	// Bundle is added too; nil means none.
	Bundle *bundle.Source
	// Settings overlay the shipped data, and a bundle's: top key, then member.
	Settings map[string]map[string]any
	// Timeout bounds one evaluation, without the wait for a processor. Default 50ms.
	Timeout time.Duration
	// Now is the clock by which exceptions end. Default time.Now.
	Now func() time.Time
	// Record is told the revision before it is put in force; its error keeps it out. Optional.
	Record func(revision string) error

	fetched *bundle.Bundle
}

// Engine evaluates the snapshot in force. It is safe for concurrent use.
type Engine struct {
	cfg     Config
	current atomic.Pointer[snapshot]
	// slots holds one token per evaluation that runs: more of them than processors would only make each run out of its time.
	slots chan struct{}

	mu      sync.Mutex  // of what follows, and of every change of current
	earlier []*snapshot // the oldest first
	left    string      // the revision that was rolled back from
	refused error
}

// Load puts the sources in force. A policy that does not compile, or whose own tests fail, is refused as policy_broken with file and line.
func Load(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 50 * time.Millisecond
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	e := &Engine{cfg: cfg, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if err := e.Reload(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// warmUpFactor is how many times the deadline the first evaluation may take; a policy that needs more would time out at every call.
const warmUpFactor = 100

// warmUp evaluates once with a generous deadline: what OPA builds lazily must not count against the first caller's time.
func (e *Engine) warmUp(ctx context.Context, s *snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpFactor*e.cfg.Timeout)
	defer cancel()
	// An error of the evaluation is no reason to refuse: this input is no real call.
	_, err := s.evaluateWhole(ctx, &decision.Input{Phase: decision.PhaseCall})
	if ctx.Err() == nil {
		_, err = s.evaluateParts(ctx, &decision.Input{Phase: decision.PhaseCall}, nil, nil)
	}
	if ctx.Err() != nil {
		return ostiary.Wrap(ostiary.KindPolicyTimeout, err, "the policies do not come to an answer").WithFix("look for a rule that walks through too many values")
	}
	return nil
}

// Revision names the snapshot in force: "sha256:…" over modules and data.
func (e *Engine) Revision() string { return e.current.Load().revision }

// Decide evaluates the policies. With an error the Outcome denies; the error's kind is policy_timeout, policy_undefined or policy_error.
// Callers must not change the Outcome's verdicts: other callers may hold the same.
func (e *Engine) Decide(ctx context.Context, in decision.Input) (decision.Outcome, error) {
	s := e.current.Load()
	out, err := e.decide(ctx, s, in)
	if err == nil && in.Phase != decision.PhaseConclusion && marks(out.Verdicts) {
		return s.denied(), malformed(errors.New("only a conclusion can be marked as inferred"))
	}
	if err != nil || len(s.exceptions) == 0 {
		return out, err
	}
	return decision.Except(out, s.exceptions, &in, e.cfg.Now()), nil
}

// marks reports whether a verdict obliges to what only a conclusion can carry out.
func marks(verdicts []decision.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v decision.Verdict) bool { return slices.Contains(v.Obligations, decision.ObligationCite) })
}

// decide is Decide without the exceptions: they end at a time, and what is remembered must not know any.
func (e *Engine) decide(ctx context.Context, s *snapshot, in decision.Input) (decision.Outcome, error) {
	if s.memo.off.Load() {
		return e.timed(ctx, s, func(ctx context.Context) (decision.Outcome, error) { return s.evaluateWhole(ctx, &in) })
	}
	k := keys.Get().(*key) //nolint:forcetypeassert // the pool holds nothing else
	defer keys.Put(k)
	k.write(s.fields, &in)
	if r, ok := s.memo.get(k.text); ok {
		s.memo.hits.Add(1)
		return r.outcome, nil
	}
	missed := s.memo.misses.Add(1)
	return e.timed(ctx, s, func(ctx context.Context) (decision.Outcome, error) {
		out, err := s.evaluateParts(ctx, &in, k, s.memo)
		if err != nil {
			return s.denied(), err
		}
		if missed%checkEvery == 0 {
			return s.checked(ctx, &in, out)
		}
		s.memo.put(k.text, &remembered{outcome: out})
		return out, nil
	})
}

// timed runs an evaluation in a slot of its own and within the time.
func (e *Engine) timed(ctx context.Context, s *snapshot, evaluate func(context.Context) (decision.Outcome, error)) (decision.Outcome, error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return s.denied(), ostiary.Wrap(ostiary.KindPolicyTimeout, ctx.Err(), "the caller left before the policies were asked")
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	return evaluate(ctx)
}

// selfCheck holds the answers of the packages against the whole evaluation over inputs of every kind, before anything is remembered.
func (e *Engine) selfCheck(ctx context.Context, s *snapshot) {
	ctx, cancel := context.WithTimeout(ctx, warmUpFactor*e.cfg.Timeout)
	defer cancel()
	for _, in := range probes() {
		parts, err := s.evaluateParts(ctx, &in, nil, nil)
		whole, wholeErr := s.evaluateWhole(ctx, &in)
		if (err == nil) != (wholeErr == nil) || err == nil && !reflect.DeepEqual(parts, whole) {
			s.memo.off.Store(true)
			return
		}
	}
}

// checkEvery is how many missed decisions there are to one that is held against the whole evaluation.
const checkEvery = 1000

// checked holds an outcome against that of the entrypoint over the whole input. When they differ, what was remembered is worth nothing:
// the memo is switched off, and the whole evaluation answers.
func (s *snapshot) checked(ctx context.Context, in *decision.Input, parts decision.Outcome) (decision.Outcome, error) {
	whole, err := s.evaluateWhole(ctx, in)
	if err == nil && reflect.DeepEqual(whole, parts) {
		return whole, nil
	}
	if ctx.Err() == nil {
		s.memo.off.Store(true)
	}
	return whole, err
}

// evaluateParts asks the packages one by one; with a memo, only those whose answer it does not hold.
func (s *snapshot) evaluateParts(ctx context.Context, in *decision.Input, k *key, m *memo) (decision.Outcome, error) {
	verdicts := []decision.Verdict{}
	values := document.NewValues(in, s.fields)
	for i := range s.packs {
		p := &s.packs[i]
		if !p.speaks(in) || p.guard.Silent(values) {
			continue
		}
		if m != nil {
			k.choose(i, p.reads)
			m.parts.Add(1)
			if r, ok := m.get(k.part); ok {
				m.partHits.Add(1)
				verdicts = append(verdicts, r.verdicts...)
				continue
			}
		}
		said, err := s.evaluate(ctx, p, values)
		if err != nil {
			return s.denied(), err
		}
		if m != nil {
			m.put(k.part, &remembered{verdicts: said})
		}
		verdicts = append(verdicts, said...)
	}
	return s.combine(verdicts), nil
}

// key is the text of an input's fields, and of those that one package reads.
type key struct {
	text, part []byte
	ends       []int // of each field's text
}

var keys = sync.Pool{New: func() any { return new(key) }}

func (k *key) write(fields []document.Field, in *decision.Input) {
	k.text, k.ends = append(k.text[:0], 'w'), k.ends[:0]
	for i := range fields {
		k.text = fields[i].Text(k.text, in)
		k.ends = append(k.ends, len(k.text))
	}
}

// choose makes part the text of one package's fields.
func (k *key) choose(pack int, reads []int) {
	k.part = binary.AppendUvarint(append(k.part[:0], 'p'), uint64(pack))
	for _, i := range reads {
		start := 1
		if i > 0 {
			start = k.ends[i-1]
		}
		k.part = append(k.part, k.text[start:k.ends[i]]...)
	}
}
