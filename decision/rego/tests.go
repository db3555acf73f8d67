package rego

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"ostiary"
)

// passTests runs the tests that came with the policies. The first that fails refuses them as policy_broken, with file and line.
func (s Sources) passTests(ctx context.Context) error {
	if len(s.Tests) == 0 {
		return nil
	}
	modules := map[string]*ast.Module{}
	for _, files := range []map[string]string{s.Modules, s.Tests} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			m, err := parse(name, files[name])
			if err != nil {
				return broken(err)
			}
			if m != nil {
				modules[name] = m
			}
		}
	}
	store := inmem.NewFromObjectWithOpts(map[string]any{"ostiary": s.Data}, inmem.OptRoundTripOnWrite(false))
	txn, err := store.NewTransaction(ctx, storage.WriteParams)
	if err != nil {
		return fmt.Errorf("policy tests: %w", err)
	}
	defer store.Abort(ctx, txn)
	results, err := tester.NewRunner().SetCompiler(ast.NewCompiler().WithCapabilities(capabilities())).SetStore(store).SetModules(modules).RunTests(ctx, txn)
	if err != nil {
		return broken(err)
	}
	var refused error
	for r := range results { // to the end: whoever sends must not be left standing
		if refused == nil && !r.Skip && !r.Pass() {
			refused = brokenAt(r.Location.File, r.Location.Row, "the test "+r.Name+" does not pass")
		}
	}
	if ctx.Err() != nil {
		return ostiary.Wrap(ostiary.KindPolicyTimeout, ctx.Err(), "the tests of the policies do not come to an end")
	}
	return refused
}
