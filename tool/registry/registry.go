package registry

import (
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"ostiary"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Store keeps the declarations that came through the API; implementations are safe for concurrent use.
type Store interface {
	// Get returns the stored JSON of a declaration, or ErrNotFound.
	Get(ctx context.Context, tenant string, name tool.Name) ([]byte, error)
	// Put stores a declaration; it is on disk when Put returns.
	Put(ctx context.Context, tenant string, name tool.Name, doc []byte) error
	// Delete removes a declaration; ErrNotFound when there is none.
	Delete(ctx context.Context, tenant string, name tool.Name) error
	// List returns up to limit declarations whose name sorts behind after.
	List(ctx context.Context, tenant string, after tool.Name, limit int) ([][]byte, error)
}

// ErrNotFound is returned by a Store that has no such declaration.
var ErrNotFound = errors.New("registry: no such declaration")

// Registry resolves names. It is safe for concurrent use.
type Registry struct {
	store   Store
	shipped map[tool.Name]tool.Resolved
	files   map[tool.Name]tool.Resolved
	cache   sync.Map // tenant and name → tool.Resolved, of stored declarations

	mu      sync.Mutex // orders what is read into the cache against changes, so that an old declaration cannot come back
	changes int
	absent  atomic.Int64
	schemas sync.Map // schema text → *contract
}

// New returns a registry over store, with the declarations in dir/*.yaml (empty: none) beside the shipped ones.
func New(store Store, dir string) (*Registry, error) {
	if store == nil {
		return nil, errors.New("registry: Store is required")
	}
	r := &Registry{store: store}
	sub, err := fs.Sub(builtin, "builtin")
	if err != nil {
		return nil, err
	}
	if r.shipped, err = r.readFiles(sub, "builtin", tool.FromShipped); err != nil {
		return nil, err
	}
	if dir == "" {
		return r, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, "the tool directory "+dir+" cannot be read").WithFix("create it, or start without --tools")
	}
	r.files, err = r.readFiles(os.DirFS(dir), dir, tool.FromOperator)
	return r, err
}

// readFiles reads every *.yaml and *.json of a folder: each holds one declaration, or a list of them under "tools" that share a namespace.
func (r *Registry) readFiles(fsys fs.FS, dir string, source tool.Source) (map[tool.Name]tool.Resolved, error) {
	found := map[tool.Name]tool.Resolved{}
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		raw, err := fs.ReadFile(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
		if err := r.readFile(raw, source, found); err != nil {
			said := ostiary.Public(err)
			return nil, ostiary.Wrap(ostiary.KindConfigInvalid, err, filepath.Join(dir, e.Name())+": "+said.Msg).WithFix("mend the file and start again")
		}
	}
	return found, nil
}

func (r *Registry) readFile(raw []byte, source tool.Source, found map[tool.Name]tool.Resolved) error {
	doc, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "not valid YAML: "+err.Error())
	}
	var list struct {
		Namespace string           `json:"namespace"`
		Tools     []jsontext.Value `json:"tools"`
	}
	if err := json.Unmarshal(doc, &list); err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "not a tool declaration")
	}
	if list.Tools == nil {
		list.Tools = []jsontext.Value{doc}
	}
	for _, one := range list.Tools {
		d, err := r.parse(one, list.Namespace)
		if err != nil {
			return err
		}
		if _, twice := found[d.ID()]; twice {
			return ostiary.Errorf(ostiary.KindConfigInvalid, "%s is declared twice", d.ID())
		}
		if found[d.ID()], err = resolve(d, source); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads and checks one declaration: its name, its enumerations and its schemas.
func (r *Registry) parse(raw []byte, namespace string) (tool.Declaration, error) {
	var d tool.Declaration
	if err := strictjson.Check(raw); err != nil {
		return d, err
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, ostiary.Wrap(ostiary.KindInvalidField, err, "a member of the declaration has the wrong type")
	}
	if d.Namespace == "" {
		d.Namespace = namespace
	}
	if err := d.ID().Check(); err != nil {
		return d, ostiary.Errorf(ostiary.KindInvalidField, "%s", err)
	}
	if d.OutputTrust != "" && d.OutputTrust != tool.Trusted && d.OutputTrust != tool.Untrusted {
		return d, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/output_trust", Msg: "output_trust must be trusted or untrusted"}
	}
	for place, schema := range map[string]jsontext.Value{"/input_schema": d.InputSchema, "/output_schema": d.OutputSchema} {
		if _, err := r.contract(schema); err != nil {
			return d, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: place, Msg: "the schema of " + d.ID().String() + " is not a valid JSON Schema", Err: err}
		}
	}
	return d, nil
}

func resolve(d tool.Declaration, source tool.Source) (tool.Resolved, error) {
	digest, err := tool.DefinitionDigest(d)
	if err != nil {
		return tool.Resolved{}, err
	}
	return tool.NewResolved(d, source, digest), nil
}

// Resolve implements enforce.Registry.
func (r *Registry) Resolve(ctx context.Context, tenant string, name tool.Name) (tool.Resolved, error) {
	if stored, err := r.stored(ctx, tenant, name); err != nil || stored.Source != tool.Undeclared {
		return stored, err
	}
	if d, ok := r.files[name]; ok {
		return d, nil
	}
	if d, ok := r.shipped[name]; ok {
		return d, nil
	}
	return tool.UndeclaredTool(name), nil
}

// maxAbsent bounds how many names without a stored declaration are remembered; callers choose names freely.
const maxAbsent = 10_000

// stored returns the declaration that came through the API, or an undeclared tool.
func (r *Registry) stored(ctx context.Context, tenant string, name tool.Name) (tool.Resolved, error) {
	key := tenant + "\x00" + name.Namespace + "\x00" + name.Name
	if hit, ok := r.cache.Load(key); ok {
		return hit.(tool.Resolved), nil //nolint:forcetypeassert // only Resolved goes in
	}
	r.mu.Lock()
	before := r.changes
	r.mu.Unlock()
	raw, err := r.store.Get(ctx, tenant, name)
	if errors.Is(err, ErrNotFound) {
		if r.absent.Add(1) <= maxAbsent {
			// Never over what a Put has stored meanwhile.
			r.cache.LoadOrStore(key, tool.UndeclaredTool(name))
		}
		return tool.UndeclaredTool(name), nil
	}
	if err != nil {
		return tool.Resolved{}, err
	}
	d, err := r.parse(raw, "")
	if err != nil {
		return tool.Resolved{}, err
	}
	resolved, err := resolve(d, tool.FromOperator)
	if err != nil {
		return resolved, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == before {
		r.cache.Store(key, resolved)
	}
	return resolved, nil
}

// Check says why Put would refuse a declaration.
func (r *Registry) Check(name tool.Name, raw []byte) error {
	_, err := r.read(name, raw)
	return err
}

// read parses the declaration that is to stand under a name.
func (r *Registry) read(name tool.Name, raw []byte) (tool.Declaration, error) {
	d, err := r.parse(raw, name.Namespace)
	if err == nil && d.ID() != name {
		err = &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/name", Msg: "the declaration's name is not the one in the path"}
	}
	return d, err
}

// Put stores a declaration as the operator's word.
func (r *Registry) Put(ctx context.Context, tenant string, name tool.Name, raw []byte) (tool.Resolved, error) {
	d, err := r.read(name, raw)
	if err != nil {
		return tool.Resolved{}, err
	}
	resolved, err := resolve(d, tool.FromOperator)
	if err != nil {
		return tool.Resolved{}, err
	}
	doc, err := json.Marshal(d)
	if err != nil {
		return tool.Resolved{}, fmt.Errorf("registry: declaration: %w", err)
	}
	if err := r.store.Put(ctx, tenant, name, doc); err != nil {
		return tool.Resolved{}, err
	}
	r.changed(tenant, name)
	return resolved, nil
}

// Delete removes what was declared through the API.
func (r *Registry) Delete(ctx context.Context, tenant string, name tool.Name) error {
	err := r.store.Delete(ctx, tenant, name)
	if errors.Is(err, ErrNotFound) {
		return ostiary.Wrap(ostiary.KindNotFound, err, "there is no such declaration")
	}
	r.changed(tenant, name)
	return err
}

// changed makes the next Resolve read the declaration anew.
func (r *Registry) changed(tenant string, name tool.Name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	r.cache.Delete(tenant + "\x00" + name.Namespace + "\x00" + name.Name)
}

// List returns declarations that came through the API, in the order of their names; cursor is the last name of the page before.
func (r *Registry) List(ctx context.Context, tenant, cursor string, limit int) ([]tool.Declaration, string, error) {
	after, err := readCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	docs, err := r.store.List(ctx, tenant, after, limit+1)
	if err != nil {
		return nil, "", err
	}
	var out []tool.Declaration
	for _, raw := range docs[:min(len(docs), limit)] {
		d, err := r.parse(raw, "")
		if err != nil {
			return nil, "", err
		}
		out = append(out, d)
	}
	if len(docs) <= limit {
		return out, "", nil
	}
	last := out[len(out)-1]
	return out, writeCursor(last.ID()), nil
}

// writeCursor names a place in the list, in characters that need no escape in a URL.
func writeCursor(n tool.Name) string {
	return base64.RawURLEncoding.EncodeToString([]byte(n.Namespace + "\x00" + n.Name))
}

func readCursor(cursor string) (tool.Name, error) {
	if cursor == "" {
		return tool.Name{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, name, whole := strings.Cut(string(raw), "\x00")
	if err != nil || !whole {
		return tool.Name{}, ostiary.Wrap(ostiary.KindInvalidField, err, "cursor is not one that a list gave").WithFix("send next_cursor of the page before, or none")
	}
	return tool.Name{Namespace: namespace, Name: name}, nil
}
