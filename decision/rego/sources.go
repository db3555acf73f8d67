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
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"ostiary"
)

// layers are the first names that an operator's package may have under policies.
var operatorLayers = []string{"operator", tenantLayer}

// tenantLayer begins the layers of packages that speak of one tenant alone.
const tenantLayer = "tenant_"

// Shipped begins the names of our own files. No path of an operator's file is like it, so that none can take the place of ours.
const Shipped = "ostiary:policies"

// Sources is what a snapshot is built from. Nothing changes it once it is read.
type Sources struct {
	Modules map[string]string // by file name as it is shown in errors
	Tests   map[string]string // the files that end in _test.rego, the same way
	Data    map[string]any    // data.ostiary, by top key
	Schema  []byte            // JSON Schema of the input document
}

// ReadSources reads the shipped packs, the operator's directory and the settings that overlay the shipped data. What an operator can mend is
// refused as policy_broken with file and line, or as config_invalid.
func ReadSources(cfg Config) (Sources, error) {
	if cfg.Shipped == nil {
		return Sources{}, errors.New("rego: Shipped is required")
	}
	s := Sources{Modules: map[string]string{}, Tests: map[string]string{}, Data: map[string]any{}}
	if err := s.readShipped(cfg.Shipped, cfg.Packs); err != nil {
		return s, err
	}
	if cfg.OperatorDir != "" {
		if err := s.readOperator(cfg.OperatorDir); err != nil {
			return s, err
		}
	}
	overlays := []map[string]map[string]any{cfg.Settings}
	if b := cfg.fetched; b != nil {
		if err := s.add(Sources{Modules: underBundle(b.Modules), Tests: underBundle(b.Tests)}); err != nil {
			return s, err
		}
		overlays = []map[string]map[string]any{b.Data, cfg.Settings}
	}
	var err error
	if s.Schema, err = fs.ReadFile(cfg.Shipped, "schema/input.json"); err != nil {
		return s, fmt.Errorf("policy schema: %w", err)
	}
	return s, s.readData(cfg.Shipped, overlays)
}

// underBundle tells a bundle's files from those of a directory.
func underBundle(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out["bundle:"+name] = text
	}
	return out
}

func (s *Sources) readModules(fsys fs.FS, prefix string) error {
	return fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".rego") {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.rego") {
			s.Tests[path.Join(prefix, name)] = string(text)
		} else {
			s.Modules[path.Join(prefix, name)] = string(text)
		}
		return nil
	})
}

func (s *Sources) readOperator(dir string) error {
	own, err := ReadOperator(dir)
	if err != nil {
		return err
	}
	return s.add(own)
}

// add takes in what an operator wrote, once it keeps to the operator's place.
func (s *Sources) add(own Sources) error {
	for _, name := range slices.Sorted(maps.Keys(own.Modules)) {
		m, err := parse(name, own.Modules[name])
		if err != nil {
			return broken(err)
		}
		if faults := OperatorFaults(name, m); len(faults) > 0 {
			return faults[0]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own.Modules)) {
		if _, taken := s.Modules[name]; taken {
			return brokenAt(name, 1, "the file has the name of one that we ship")
		}
	}
	maps.Copy(s.Modules, own.Modules)
	maps.Copy(s.Tests, own.Tests)
	return nil
}

// ReadOperator reads the modules and tests of an operator's directory, and judges none of them.
func ReadOperator(dir string) (Sources, error) {
	own := Sources{Modules: map[string]string{}, Tests: map[string]string{}}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return own, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the policy directory "+dir+" cannot be read").
			WithFix("create it, or start without --policies")
	}
	if err := own.readModules(os.DirFS(dir), dir); err != nil {
		return own, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the policy directory "+dir+" cannot be read")
	}
	return own, nil
}

// ReadCandidate is ReadSources with these files, by name, in the place of the operator's directory.
func ReadCandidate(cfg Config, files map[string]string) (Sources, error) {
	cfg.OperatorDir = ""
	src, err := ReadSources(cfg)
	if err != nil {
		return src, err
	}
	own, err := OperatorFiles(files)
	if err != nil {
		return src, err
	}
	return src, src.add(own)
}

// OperatorFiles takes files that are in no directory, by name, as an operator's modules and tests, and judges none of them.
func OperatorFiles(files map[string]string) (Sources, error) {
	own := Sources{Modules: map[string]string{}, Tests: map[string]string{}}
	for name, text := range files {
		switch {
		case !strings.HasSuffix(name, ".rego") || strings.Contains(name, ":"):
			return own, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/files", Msg: "a file's name must end in .rego and hold no colon"}
		case strings.HasSuffix(name, "_test.rego"):
			own.Tests[name] = text
		default:
			own.Modules[name] = text
		}
	}
	return own, nil
}

// OperatorFaults refuses a file without a package, a package outside the operator's layers, and one in which `not` on an absent field passes
// silently.
func OperatorFaults(name string, m *ast.Module) []error {
	if m == nil {
		return []error{brokenAt(name, 1, "the file holds no package; delete it, or begin it with: package policies.operator.<name>")}
	}
	var faults []error
	if !inOperatorLayer(m.Package.Path) {
		faults = append(faults, brokenAt(name, m.Package.Location.Row, "package "+strings.TrimPrefix(m.Package.Path.String(), "data.")+" is outside policies.operator.<name> and policies.tenant_<x>.<name>"))
	}
	safeNot := slices.ContainsFunc(m.Imports, func(i *ast.Import) bool {
		p := i.Path.String()
		return p == "rego.v2" || p == `future.keywords["not"]` // as OPA writes future.keywords.not
	})
	if !safeNot {
		faults = append(faults, brokenAt(name, m.Package.Location.Row, `add "import rego.v2" below the package line: without it, "not" on an absent field skips the rule silently`))
	}
	return faults
}

// plainName is the name of a layer or a package: one that no reference needs to quote, so that it reads alike everywhere.
var plainName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// inOperatorLayer reports whether a package is policies.operator.<name> or policies.tenant_<x>.<name>.
func inOperatorLayer(path ast.Ref) bool {
	if len(path) != 4 || !path[1].Equal(ast.StringTerm("policies")) {
		return false
	}
	layer, isText := path[2].Value.(ast.String)
	name, isTextToo := path[3].Value.(ast.String)
	known := slices.ContainsFunc(operatorLayers, func(l string) bool {
		return string(layer) == l || strings.HasSuffix(l, "_") && strings.HasPrefix(string(layer), l)
	})
	return isText && isTextToo && known && plainName.MatchString(string(layer)) && plainName.MatchString(string(name))
}

// readData reads the shipped data; of the overlays the later one wins.
func (s *Sources) readData(shipped fs.FS, overlays []map[string]map[string]any) error {
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
		for _, overlay := range overlays {
			maps.Copy(doc, overlay[key])
		}
		schema, err := fs.ReadFile(shipped, "schema/"+e.Name())
		if err != nil {
			return fmt.Errorf("policy data %s has no schema: %w", e.Name(), err)
		}
		if err := checkData(key, doc, schema); err != nil {
			return err
		}
		s.Data[key] = doc
	}
	for _, overlay := range overlays {
		for key := range overlay {
			if _, known := s.Data[key]; !known {
				return ostiary.Errorf(ostiary.KindConfigInvalid, "policy data has no top key %q", key)
			}
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

// revision names a snapshot by its content.
func (s Sources) revision() (string, error) {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.Modules)) {
		fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(s.Modules[name]), s.Modules[name])
	}
	data, err := json.Marshal(s.Data)
	if err != nil {
		return "", fmt.Errorf("policy data: %w", err)
	}
	fmt.Fprintf(h, "data%d:%s", len(data), data)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
