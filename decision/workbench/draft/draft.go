package draft

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/decision/rego"
	"ostiary/decision/workbench"
	"ostiary/decision/workbench/invariant"
	"ostiary/decision/workbench/whatif"
	"ostiary/internal/strictjson"
)

// deadline of one question. Decisions share the machine with it.
const deadline = time.Minute

// Desk takes questions. It is safe for concurrent use: who asks second waits.
type Desk struct {
	sources func(context.Context) (rego.Config, error)
	busy    chan struct{}
}

// New returns a Desk for policies that come from where sources says, asked anew for every question.
func New(sources func(context.Context) (rego.Config, error)) *Desk {
	return &Desk{sources, make(chan struct{}, 1)}
}

// question is the body of every question.
type question struct {
	// Files stand in the place of the operator's directory, by name; without them the directory is asked about.
	Files map[string]string `json:"files"`
	// Run chooses tests by a regular expression on their names.
	Run string `json:"run"`
	// Min is the least coverage that is enough, in percent.
	Min float64 `json:"min"`
	// Input is the document to explain.
	Input jsontext.Value `json:"input"`
	// Invariants to verify, in the format of `sidecar policy verify`.
	Invariants jsontext.Value `json:"invariants"`
	// Budget is how many evaluations one invariant may take; 0 means the usual number.
	Budget int `json:"budget"`
	// Recorded are decisions to replay, one JSON document a line.
	Recorded string `json:"recorded"`
}

// answers holds for each question how it is answered.
var answers = map[string]func(context.Context, rego.Config, question) (any, error){
	"check": check, "lint": lint, "test": test, "coverage": coverage,
	"explain": explain, "verify": verify, "replay": replay,
}

// Questions lists what can be asked.
func (d *Desk) Questions() []string { return slices.Sorted(maps.Keys(answers)) }

// Ask answers a question with the report that `sidecar policy` prints with --json.
func (d *Desk) Ask(ctx context.Context, name string, body []byte) (any, error) {
	var q question
	if err := strictjson.Decode(body, &q); err != nil {
		return nil, err
	}
	answer, ok := answers[name]
	if !ok {
		return nil, ostiary.Errorf(ostiary.KindNotFound, "nobody answers the question %q", name)
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	select {
	case d.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, late(ctx.Err())
	}
	type result struct {
		report any
		err    error
	}
	done := make(chan result, 1)
	go func() { // compiling cannot be cut short: nobody waits for it, and the next question does
		defer func() { <-d.busy }()
		defer func() {
			if p := recover(); p != nil { // nobody above this goroutine would catch it
				done <- result{nil, fmt.Errorf("draft: %s panicked: %v\n%s", name, p, debug.Stack())}
			}
		}()
		cfg, err := d.sources(ctx)
		if err != nil {
			done <- result{nil, err}
			return
		}
		report, err := answer(ctx, cfg, q)
		done <- result{report, err}
	}()
	select {
	case r := <-done:
		if r.err == nil || ctx.Err() == nil {
			return r.report, r.err
		}
	case <-ctx.Done():
	}
	return nil, late(ctx.Err())
}

func late(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return ostiary.Wrap(ostiary.KindPolicyTimeout, err, "the question was given up before it was answered")
	}
	return ostiary.Wrap(ostiary.KindPolicyTimeout, err, "the question was not answered within a minute").WithFix("ask for less, or use `sidecar policy` on your own machine")
}

func bench(cfg rego.Config, q question) (*workbench.Bench, error) {
	if q.Files == nil {
		return workbench.Open(cfg, false)
	}
	return workbench.OpenFiles(cfg, q.Files)
}

func lab(ctx context.Context, cfg rego.Config, q question) (*whatif.Lab, error) {
	if q.Files == nil {
		return whatif.Open(ctx, cfg)
	}
	return whatif.OpenFiles(ctx, cfg, q.Files)
}

func check(_ context.Context, cfg rego.Config, q question) (any, error) {
	b, err := bench(cfg, q)
	if err != nil {
		return nil, err
	}
	return b.Check()
}

func lint(ctx context.Context, cfg rego.Config, q question) (any, error) {
	b, err := bench(cfg, q)
	if err != nil {
		return nil, err
	}
	return b.Lint(ctx)
}

func test(ctx context.Context, cfg rego.Config, q question) (any, error) {
	b, err := bench(cfg, q)
	if err != nil {
		return nil, err
	}
	report, err := b.Test(ctx, q.Run)
	return report.WithoutTraces(), err
}

func coverage(ctx context.Context, cfg rego.Config, q question) (any, error) {
	b, err := bench(cfg, q)
	if err != nil {
		return nil, err
	}
	return b.Coverage(ctx, q.Min)
}

func explain(ctx context.Context, cfg rego.Config, q question) (any, error) {
	if len(q.Input) == 0 {
		return nil, &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/input", Msg: "input is missing; docs/policies.md lists its fields"}
	}
	in, err := whatif.ReadInput(q.Input)
	if err != nil {
		return nil, err
	}
	l, err := lab(ctx, cfg, q)
	if err != nil {
		return nil, err
	}
	return l.Explain(ctx, in, unheard)
}

func verify(ctx context.Context, cfg rego.Config, q question) (any, error) {
	switch {
	case len(q.Invariants) == 0:
		return nil, &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/invariants", Msg: "invariants is missing; docs/policies.md shows some"}
	case q.Budget < 0:
		return nil, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/budget", Msg: "budget must not be negative"}
	case q.Budget == 0:
		q.Budget = whatif.Budget
	}
	invariants, err := invariant.Read(q.Invariants)
	if err != nil {
		return nil, err
	}
	l, err := lab(ctx, cfg, q)
	if err != nil {
		return nil, err
	}
	return l.Verify(ctx, invariants, q.Budget, unheard)
}

func replay(ctx context.Context, cfg rego.Config, q question) (any, error) {
	if q.Recorded == "" {
		return nil, &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/recorded", Msg: "recorded is missing: one decision a line, as `sidecar policy replay` reads them"}
	}
	l, err := lab(ctx, cfg, q)
	if err != nil {
		return nil, err
	}
	return l.Replay(ctx, strings.NewReader(q.Recorded), unheard)
}

// unheard is progress that nobody follows.
func unheard(_, _ uint64) {}
