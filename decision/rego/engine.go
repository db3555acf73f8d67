package rego

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	jsonexp "github.com/go-json-experiment/json"
	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"ostiary"
	"ostiary/decision"
	"ostiary/internal/strictjson"
)

const entrypoint = "data.ostiary.main.decision"

// Config says where policies come from.
type Config struct {
	// Shipped holds main, baseline, data and schema; required.
	Shipped fs.FS
	// OperatorDir is added to the shipped packs; empty means none.
	OperatorDir string
	// Settings overlay the shipped data: top key, then member.
	Settings map[string]map[string]any
	// Timeout bounds one evaluation, without the wait for a processor. Default 50ms.
	Timeout time.Duration
}

// Engine evaluates one immutable snapshot. It is safe for concurrent use.
type Engine struct {
	query    opa.PreparedEvalQuery
	revision string
	timeout  time.Duration
	// slots holds one token per evaluation that runs: more of them than processors would only make each run out of its time.
	slots chan struct{}
}

// Load compiles a snapshot. A policy that does not compile is refused as policy_broken with file and line.
func Load(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Shipped == nil {
		return nil, errors.New("rego: Shipped is required")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 50 * time.Millisecond
	}
	src, err := readSources(cfg.Shipped, cfg.OperatorDir, cfg.Settings)
	if err != nil {
		return nil, err
	}
	compiler, err := src.compile()
	if err != nil {
		return nil, err
	}
	revision, err := src.revision()
	if err != nil {
		return nil, err
	}
	query, err := opa.New(
		opa.Query(entrypoint),
		opa.Compiler(compiler),
		opa.Store(inmem.NewFromObject(map[string]any{"ostiary": src.data})),
		opa.StrictBuiltinErrors(true), // a builtin error must not make a rule silently undefined
	).PrepareForEval(ctx)
	if err != nil {
		return nil, broken(err)
	}
	e := &Engine{query: query, revision: revision, timeout: cfg.Timeout, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	return e, e.warmUp(ctx)
}

// warmUpFactor is how many times the deadline the first evaluation may take; a policy that needs more would time out at every call.
const warmUpFactor = 100

// warmUp evaluates once with a generous deadline: what OPA builds lazily must not count against the first caller's time.
func (e *Engine) warmUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpFactor*e.timeout)
	defer cancel()
	value, err := toValue(decision.Input{Phase: decision.PhaseCall})
	if err != nil {
		return err
	}
	// An error of the evaluation is no reason to refuse: this input is no real call.
	if _, err = e.query.Eval(ctx, opa.EvalParsedInput(value)); ctx.Err() != nil {
		return ostiary.Wrap(ostiary.KindPolicyTimeout, err, "the policies do not come to an answer").WithFix("look for a rule that walks through too many values")
	}
	return nil
}

// Revision names the snapshot: "sha256:…" over modules and data.
func (e *Engine) Revision() string { return e.revision }

// Decide evaluates the policies. With an error the Outcome denies; the error's kind is policy_timeout, policy_undefined or policy_error.
func (e *Engine) Decide(ctx context.Context, in decision.Input) (decision.Outcome, error) {
	denied := decision.Outcome{Behavior: decision.Deny, Revision: e.revision}
	value, err := toValue(in)
	if err != nil {
		return denied, ostiary.Wrap(ostiary.KindPolicyError, err, "the input of the policies cannot be built")
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return denied, ostiary.Wrap(ostiary.KindPolicyTimeout, ctx.Err(), "the caller left before the policies were asked")
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	results, err := e.query.Eval(ctx, opa.EvalParsedInput(value))
	switch {
	case ctx.Err() != nil:
		return denied, ostiary.Wrap(ostiary.KindPolicyTimeout, ctx.Err(), "the policies did not answer in time")
	case err != nil:
		return denied, ostiary.Wrap(ostiary.KindPolicyError, err, "a policy failed while it was evaluated")
	case len(results) != 1 || len(results[0].Expressions) != 1:
		return denied, ostiary.Errorf(ostiary.KindPolicyUndefined, "the policies gave no answer")
	}
	verdicts, err := readVerdicts(results[0].Expressions[0].Value)
	if err != nil {
		return denied, ostiary.Wrap(ostiary.KindPolicyError, err, "a policy answered with a malformed verdict")
	}
	behavior, spoke := decision.Combine(verdicts)
	return decision.Outcome{Behavior: behavior, Spoke: spoke, Verdicts: verdicts, Revision: e.revision}, nil
}

func toValue(in decision.Input) (ast.Value, error) {
	if len(in.Args) == 0 {
		in.Args = []byte("{}") // so that rules may look into them
	}
	raw, err := jsonexp.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("input document: %w", err)
	}
	return ast.ValueFromReader(bytes.NewReader(raw)) // keeps numbers exact
}

// readVerdicts reads the answer strictly: a missing or unknown member, a wrong type or an unknown behavior is an error.
func readVerdicts(answer any) ([]decision.Verdict, error) {
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	var doc struct {
		Verdicts []decision.Verdict `json:"verdicts"`
	}
	if err := strictjson.Decode(raw, &doc); err != nil {
		return nil, err
	}
	for _, v := range doc.Verdicts {
		if v.ID == "" || v.Reason == "" {
			return nil, fmt.Errorf("policy %s: a verdict without id or reason", v.Policy)
		}
		for _, o := range v.Obligations {
			if o != decision.ObligationReason {
				return nil, fmt.Errorf("policy %s: verdict %s names the obligation %q, which nobody here can carry out", v.Policy, v.ID, o)
			}
		}
	}
	slices.SortFunc(doc.Verdicts, func(a, b decision.Verdict) int {
		if a.Behavior != b.Behavior {
			return int(a.Behavior) - int(b.Behavior)
		}
		return strings.Compare(a.ID+a.Reason, b.ID+b.Reason)
	})
	return doc.Verdicts, nil
}
