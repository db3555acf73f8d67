package rego

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"ostiary"
)

// impure lists builtins that would make a decision depend on more than its input, beside those that OPA itself marks as such. A policy
// that uses one does not compile; time comes as input.clock (policy.md §2).
var impure = []string{"http.send", "opa.runtime", "net.lookup_ip_addr", "time.now_ns", "rand.intn", "uuid.rfc4122", "io.jwt.decode_verify"}

// layers are the first names that an operator's package may have under policies.
var operatorLayers = []string{"operator", "tenant_"}

// sources is what a snapshot is built from.
type sources struct {
	modules map[string]string // by file name as it is shown in errors
	data    map[string]any    // data.ostiary, by top key
	schema  []byte            // of the input document
}

// readSources reads the shipped packs, the operator's directory (empty: none) and the settings that overlay the shipped data.
func readSources(shipped fs.FS, operatorDir string, settings map[string]map[string]any) (sources, error) {
	s := sources{modules: map[string]string{}, data: map[string]any{}}
	if err := s.readModules(shipped, "policies"); err != nil {
		return s, err
	}
	if operatorDir != "" {
		if err := s.readOperator(operatorDir); err != nil {
			return s, err
		}
	}
	var err error
	if s.schema, err = fs.ReadFile(shipped, "schema/input.json"); err != nil {
		return s, fmt.Errorf("policy schema: %w", err)
	}
	return s, s.readData(shipped, settings)
}

func (s *sources) readModules(fsys fs.FS, prefix string) error {
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".rego") || strings.HasSuffix(name, "_test.rego") {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err == nil {
			s.modules[path.Join(prefix, name)] = string(text)
		}
		return err
	})
}

func (s *sources) readOperator(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the policy directory "+dir+" cannot be read").
			WithFix("create it, or start without --policies")
	}
	own := sources{modules: map[string]string{}}
	if err := own.readModules(os.DirFS(dir), dir); err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the policy directory "+dir+" cannot be read")
	}
	for name, text := range own.modules {
		if err := checkOperatorModule(name, text); err != nil {
			return err
		}
	}
	maps.Copy(s.modules, own.modules)
	return nil
}

// checkOperatorModule refuses a package outside the operator's layers, and one in which `not` on an absent field passes silently.
func checkOperatorModule(name, text string) error {
	m, err := parse(name, text)
	if err != nil {
		return broken(err)
	}
	if m == nil {
		return brokenAt(name, 1, "the file holds no package; delete it, or begin it with: package policies.operator.<name>")
	}
	segments := strings.Split(m.Package.Path.String(), ".") // data.policies.operator.<name>
	inLayer := len(segments) == 4 && segments[1] == "policies" && slices.ContainsFunc(operatorLayers, func(l string) bool {
		return segments[2] == l || strings.HasSuffix(l, "_") && strings.HasPrefix(segments[2], l)
	})
	if !inLayer {
		return brokenAt(name, m.Package.Location.Row, "package "+strings.TrimPrefix(m.Package.Path.String(), "data.")+" is outside policies.operator.<name> and policies.tenant_<x>.<name>")
	}
	safeNot := slices.ContainsFunc(m.Imports, func(i *ast.Import) bool {
		p := i.Path.String()
		return p == "rego.v2" || p == "future.keywords.not"
	})
	if !safeNot {
		return brokenAt(name, m.Package.Location.Row, `add "import rego.v2" below the package line: without it, "not" on an absent field skips the rule silently`)
	}
	return nil
}

func (s *sources) readData(shipped fs.FS, settings map[string]map[string]any) error {
	entries, err := fs.ReadDir(shipped, "data")
	if err != nil {
		return fmt.Errorf("policy data: %w", err)
	}
	for _, e := range entries {
		key := strings.TrimSuffix(e.Name(), ".json")
		raw, err := fs.ReadFile(shipped, "data/"+e.Name())
		if err != nil {
			return fmt.Errorf("policy data: %w", err)
		}
		doc := map[string]any{}
		if err := json.Unmarshal(raw, &doc); err != nil {
			return fmt.Errorf("policy data %s: %w", e.Name(), err)
		}
		maps.Copy(doc, settings[key])
		schema, err := fs.ReadFile(shipped, "schema/"+e.Name())
		if err != nil {
			return fmt.Errorf("policy data %s has no schema: %w", e.Name(), err)
		}
		if err := checkData(key, doc, schema); err != nil {
			return err
		}
		s.data[key] = doc
	}
	for key := range settings {
		if _, known := s.data[key]; !known {
			return ostiary.Errorf(ostiary.KindConfigInvalid, "policy data has no top key %q", key)
		}
	}
	return nil
}

func checkData(key string, doc map[string]any, schema []byte) error {
	compiled, err := compileSchema(key, schema)
	if err != nil {
		return err
	}
	// A round trip gives the value the types that the validator knows.
	raw, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("policy data %s: %w", key, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("policy data %s: %w", key, err)
	}
	if err := compiled.Validate(value); err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the policy data "+key+" does not fit its schema")
	}
	return nil
}

func compileSchema(key string, schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", key, err)
	}
	c := jsonschema.NewCompiler()
	url := "ostiary:///" + key
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", key, err)
	}
	return c.Compile(url)
}

// compile builds a strict compiler with the input schema and the allowed builtins.
func (s *sources) compile() (*ast.Compiler, error) {
	modules := make(map[string]*ast.Module, len(s.modules))
	for _, name := range slices.Sorted(maps.Keys(s.modules)) {
		m, err := parse(name, s.modules[name])
		if err != nil {
			return nil, broken(err)
		}
		modules[name] = m
	}
	var schema any
	if err := json.Unmarshal(s.schema, &schema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, schema)
	c := ast.NewCompiler().WithStrict(true).WithCapabilities(capabilities()).WithSchemas(set)
	if c.Compile(modules); c.Failed() {
		return nil, broken(c.Errors)
	}
	return c, nil
}

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

// revision names a snapshot by its content.
func (s *sources) revision() (string, error) {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.modules)) {
		fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(s.modules[name]), s.modules[name])
	}
	data, err := json.Marshal(s.data)
	if err != nil {
		return "", fmt.Errorf("policy data: %w", err)
	}
	fmt.Fprintf(h, "data%d:%s", len(data), data)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
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
		WithFix("mend the file, or move it out of the policy directory, and start again")
}
