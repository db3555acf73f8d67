package rego

import (
	"context"

	"ostiary"
	"ostiary/decision"
)

// kept is how many snapshots before the one in force can be gone back to.
const kept = 8

// Status tells how the policies stand now, and why the last candidate was refused; nil when it was not, or when there was none.
func (e *Engine) Status() (decision.PolicyStatus, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.current.Load()
	out := decision.PolicyStatus{Revision: s.revision, Earlier: []string{}, MemoOff: s.memo.off.Load(), Remembered: s.memo.hits.Load(), Evaluated: s.memo.misses.Load(), Exceptions: s.exceptions}
	for i := len(e.earlier) - 1; i >= 0; i-- {
		out.Earlier = append(out.Earlier, e.earlier[i].revision)
	}
	if e.refused != nil {
		out.Refused = ostiary.Public(e.refused).Msg
	}
	return out, e.refused
}

// Reload reads the sources again and puts them in force once they compile, pass their own tests and are on record. On an error what is in
// force stays. Calls that are under way keep the snapshot that they began with, so every decision names one revision. What was rolled back
// from is not taken again as long as the sources hold nothing else.
func (e *Engine) Reload(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := e.candidate(ctx)
	if err == nil && s.revision != e.left {
		e.left = ""
		err = e.activate(s)
	}
	e.refused = err
	return err
}

// candidate builds a snapshot that may be put in force.
func (e *Engine) candidate(ctx context.Context) (*snapshot, error) {
	cfg := e.cfg
	var err error
	if cfg.Bundle != nil {
		if cfg.fetched, err = cfg.Bundle.Fetch(ctx); err != nil {
			return nil, err
		}
	}
	src, err := ReadSources(cfg)
	if err != nil {
		return nil, err
	}
	s, err := newSnapshot(ctx, src)
	if err != nil {
		return nil, err
	}
	s.bundle = cfg.fetched
	if err := e.warmUp(ctx, s); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, warmUpFactor*e.cfg.Timeout)
	defer cancel()
	if err := src.passTests(ctx); err != nil {
		return nil, err
	}
	e.selfCheck(ctx, s)
	return s, nil
}

// activate swaps a snapshot in; callers hold mu.
func (e *Engine) activate(s *snapshot) error {
	before := e.current.Load()
	if before != nil && before.revision == s.revision {
		return nil
	}
	if e.cfg.Record != nil {
		if err := e.cfg.Record(s.revision); err != nil {
			return ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be written, so the policies stay as they are")
		}
	}
	if s.bundle != nil {
		if err := e.cfg.Bundle.Keep(s.bundle); err != nil {
			return err
		}
	}
	if before != nil {
		e.earlier = append(e.earlier, before)
		e.earlier = e.earlier[max(0, len(e.earlier)-kept):]
	}
	e.current.Store(s)
	return nil
}

// Rollback puts the snapshot before the one in force back.
func (e *Engine) Rollback() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.earlier) == 0 {
		return ostiary.Errorf(ostiary.KindNotFound, "there is no earlier state of the policies to go back to")
	}
	last := len(e.earlier) - 1
	back, rest, left := e.earlier[last], e.earlier[:last], e.current.Load().revision
	if err := e.activate(back); err != nil {
		return err
	}
	e.earlier, e.left = rest, left
	return nil
}

// Config is where the policies come from, with the bundle as it is fetched for it.
func (e *Engine) Config(ctx context.Context) (Config, error) {
	cfg := e.cfg
	var err error
	if cfg.Bundle != nil {
		cfg.fetched, err = cfg.Bundle.Fetch(ctx)
	}
	return cfg, err
}

// Candidate returns sources that differ from those in force in the files of the operator's directory alone: it holds these instead.
func (e *Engine) Candidate(ctx context.Context, files map[string]string) (Sources, error) {
	cfg, err := e.Config(ctx)
	if err != nil {
		return Sources{}, err
	}
	return ReadCandidate(cfg, files)
}
