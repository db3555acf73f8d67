package rego

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"ostiary/decision"
	"ostiary/decision/rego/bundle"
	"ostiary/decision/rego/document"
	"ostiary/decision/rego/guard"
)

const entrypoint = "data.ostiary.main.decision"

// snapshot is one immutable state of the policies. It is safe for concurrent use.
type snapshot struct {
	revision string
	whole    opa.PreparedEvalQuery // the entrypoint
	packs    []pack
	fields   []document.Field
	memo     *memo
	// exceptions lift what the rules ask, until they end.
	exceptions []decision.Exception
	bundle     *bundle.Bundle // the operator's that is in it; nil when there is none
}

// pack is one policy package.
type pack struct {
	name   string // layer.name
	tenant string // of whose calls alone it speaks; empty: of all
	query  opa.PreparedEvalQuery
	guard  guard.Guard
	reads  []int // of the snapshot's fields
}

// newSnapshot compiles sources.
func newSnapshot(ctx context.Context, src Sources) (*snapshot, error) {
	compiler, err := src.compile()
	if err != nil {
		return nil, err
	}
	s := &snapshot{}
	if s.revision, err = src.revision(); err != nil {
		return nil, err
	}
	if s.exceptions, err = src.Exceptions(); err != nil {
		return nil, err
	}
	store := inmem.NewFromObjectWithOpts(map[string]any{"ostiary": src.Data}, inmem.OptRoundTripOnWrite(false), inmem.OptReturnASTValuesOnRead(true))
	prepare := func(query string) (opa.PreparedEvalQuery, error) {
		return opa.New(
			opa.Query(query),
			opa.Compiler(compiler),
			opa.Store(store),
			opa.StrictBuiltinErrors(true), // a builtin error must not make a rule silently undefined
		).PrepareForEval(ctx)
	}
	if s.whole, err = prepare(entrypoint); err != nil {
		return nil, broken(err)
	}
	if err := s.divide(compiler.Modules, prepare); err != nil {
		return nil, err
	}
	s.memo, err = newMemo()
	return s, err
}

// divide prepares every policy package by itself, with what it reads.
func (s *snapshot) divide(modules map[string]*ast.Module, prepare func(string) (opa.PreparedEvalQuery, error)) error {
	packages := map[string]ast.Ref{}
	for _, m := range modules {
		if path := m.Package.Path; len(path) == 4 && path[1].Equal(ast.StringTerm("policies")) {
			packages[path.String()] = path
		}
	}
	r := reader{modules}
	var sets []readSet
	for _, path := range slices.Sorted(maps.Keys(packages)) {
		query, err := prepare(path + ".verdicts")
		if err != nil {
			return broken(err)
		}
		p := pack{name: strings.TrimPrefix(path, "data.policies."), query: query}
		if layer, _, _ := strings.Cut(p.name, "."); strings.HasPrefix(layer, tenantLayer) {
			p.tenant = strings.TrimPrefix(layer, tenantLayer)
		}
		s.packs = append(s.packs, p)
		sets = append(sets, r.of(packages[path]))
	}
	sets = append(sets, readSet{[][]string{{"caller", "tenant"}}}) // which packages speak
	var reads [][]int
	s.fields, reads = fieldsOf(sets)
	for i := range s.packs {
		s.packs[i].reads = reads[i]
		s.packs[i].guard = guard.Of(modules, "data.policies."+s.packs[i].name, s.fields)
	}
	return nil
}

// speaks reports whether a package has a say in a call.
func (p pack) speaks(in *decision.Input) bool { return p.tenant == "" || p.tenant == in.Caller.Tenant }

// evaluateWhole asks the entrypoint with the whole input.
func (s *snapshot) evaluateWhole(ctx context.Context, in *decision.Input) (decision.Outcome, error) {
	value, err := document.Whole(in)
	if err != nil {
		return s.denied(), unreadable(err)
	}
	results, err := s.whole.Eval(ctx, opa.EvalParsedInput(value))
	if err != nil {
		return s.denied(), failed(ctx, err)
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return s.denied(), undefined()
	}
	answer, _ := results[0].Expressions[0].Value.(map[string]any)
	verdicts, err := readVerdicts(answer["verdicts"])
	if err != nil {
		return s.denied(), err
	}
	return s.combine(verdicts), nil
}

// evaluate asks one package, with nothing but what it can read: so its answer is a function of that by construction.
func (s *snapshot) evaluate(ctx context.Context, p *pack, values *document.Values) ([]decision.Verdict, error) {
	value, err := values.Project(p.reads)
	if err != nil {
		return nil, unreadable(err)
	}
	results, err := p.query.Eval(ctx, opa.EvalParsedInput(value))
	if err != nil {
		return nil, failed(ctx, err)
	}
	if len(results) == 0 {
		return nil, nil // a package without verdicts has none
	}
	verdicts, err := readVerdicts(results[0].Expressions[0].Value)
	for i := range verdicts {
		verdicts[i].Policy = p.name
	}
	return verdicts, err
}

func (s *snapshot) denied() decision.Outcome {
	return decision.Outcome{Behavior: decision.Deny, Revision: s.revision}
}

// combine sorts verdicts and takes the strictest.
func (s *snapshot) combine(verdicts []decision.Verdict) decision.Outcome {
	slices.SortFunc(verdicts, func(a, b decision.Verdict) int {
		return cmp.Or(cmp.Compare(a.Behavior, b.Behavior), strings.Compare(a.ID, b.ID), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Policy, b.Policy))
	})
	behavior, spoke := decision.Combine(verdicts)
	return decision.Outcome{Behavior: behavior, Spoke: spoke, Verdicts: verdicts, Revision: s.revision}
}
