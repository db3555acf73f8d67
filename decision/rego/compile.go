package rego

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary"
)

// impure lists builtins that would make a decision depend on more than its input, beside those that OPA itself marks as such. A policy
// that uses one does not compile; time comes as input.clock (policy.md §2).
var impure = []string{"http.send", "opa.runtime", "net.lookup_ip_addr", "time.now_ns", "rand.intn", "uuid.rfc4122", "io.jwt.decode_verify"}

// compile builds a strict compiler with the input schema and the allowed builtins.
func (s Sources) compile() (*ast.Compiler, error) {
	modules := make(map[string]*ast.Module, len(s.Modules))
	for _, name := range slices.Sorted(maps.Keys(s.Modules)) {
		m, err := parse(name, s.Modules[name])
		if err != nil {
			return nil, broken(err)
		}
		modules[name] = m
	}
	c, err := NewCompiler(s.Schema)
	if err != nil {
		return nil, err
	}
	if c.Compile(modules); c.Failed() {
		return nil, broken(c.Errors)
	}
	return c, nil
}

// NewCompiler is what policies are compiled by: strict, with the schema of the input and the allowed builtins.
func NewCompiler(schema []byte) (*ast.Compiler, error) {
	var doc any
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, doc)
	return ast.NewCompiler().WithStrict(true).WithCapabilities(capabilities()).WithSchemas(set), nil
}

// Parse reads a module as the engine does; it is nil for a file without a package.
func Parse(name, text string) (*ast.Module, error) { return parse(name, text) }

// Capabilities are the builtins that policies may use.
func Capabilities() *ast.Capabilities { return capabilities() }

func parse(name, text string) (*ast.Module, error) {
	return ast.ParseModuleWithOpts(name, text, ast.ParserOptions{Capabilities: capabilities(), RegoVersion: ast.RegoV1, ProcessAnnotation: true})
}

func capabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool {
		return b.Nondeterministic || slices.Contains(impure, b.Name)
	})
	return c
}

// broken turns the first compile error into one that names file and line.
func broken(err error) error {
	var list ast.Errors
	if errors.As(err, &list) && len(list) > 0 {
		if e := list[0]; e.Location != nil {
			return brokenAt(e.Location.File, e.Location.Row, e.Message)
		}
	}
	return ostiary.Wrap(ostiary.KindPolicyBroken, err, "a policy cannot be compiled")
}

func brokenAt(file string, line int, msg string) error {
	return ostiary.Errorf(ostiary.KindPolicyBroken, "%s:%d: %s", file, line, msg).
		WithFix("mend the file, or move it out of the policy directory")
}
