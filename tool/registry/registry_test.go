package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/internal/localdb"
	"ostiary/tool"
	"ostiary/tool/registry"
)

func open(t testing.TB, dir string) *registry.Registry {
	t.Helper()
	r, err := registry.New(store(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func store(t testing.TB) registry.Store {
	t.Helper()
	db, err := localdb.Open(context.Background(), filepath.Join(t.TempDir(), "r.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return registry.NewLocalStore(db)
}

func files(t testing.TB, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func resolve(t testing.TB, r *registry.Registry, namespace, name string) tool.Resolved {
	t.Helper()
	got, err := r.Resolve(context.Background(), "t", tool.Name{Namespace: namespace, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func put(t testing.TB, r *registry.Registry, namespace, name, doc string) tool.Resolved {
	t.Helper()
	got, err := r.Put(context.Background(), "t", tool.Name{Namespace: namespace, Name: name}, []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Covers: A1, A2, B3
func TestDeclarationsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	r := open(t, files(t, map[string]string{
		"one.yaml":  "namespace: crm\nname: lookup\ndescription: reads a customer\nannotations: {read_only: true, open_world: false, sensitive_sink: false}\n",
		"list.yml":  "namespace: mail\ntools:\n  - {name: send, annotations: {}}\n  - {namespace: post, name: send, annotations: {sensitive_sink: false}}\n",
		"json.json": `{"namespace":"n","name":"j","annotations":{"read_only":true},"output_trust":"trusted"}`,
		"notes.txt": "not: [a declaration",
	}))
	if got := resolve(t, r, "crm", "lookup"); got.Source != tool.FromOperator || got.Risk != (tool.Risk{ReadOnly: true}) || got.Digest == "" || got.Output() != tool.Trusted {
		t.Errorf("%+v", got)
	}
	if got := resolve(t, r, "mail", "send"); got.Source != tool.FromOperator || !got.Risk.Destructive || !got.Risk.SensitiveSink || !got.Risk.OpenWorld || got.Risk.ReadOnly {
		t.Errorf("what is not declared is not dangerous: %+v", got.Risk)
	}
	if got := resolve(t, r, "post", "send"); got.Source != tool.FromOperator || got.Risk.SensitiveSink {
		t.Errorf("%+v", got)
	}
	if got := resolve(t, r, "n", "j"); got.Output() != tool.Trusted {
		t.Errorf("%+v", got)
	}
	if got := resolve(t, r, "", "unheard-of"); got.Source != tool.Undeclared || got.Digest != "" || !got.Risk.Destructive || got.Output() != tool.Untrusted {
		t.Errorf("%+v", got)
	}
}

func TestAFaultyFileIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"broken YAML":              {"namespace: [", "YAML"},
		"a member twice":           {"name: a\nname: b\n", "YAML"},
		"no name":                  {"namespace: a\n", "no name"},
		"an empty file":            {"", "no name"},
		"a list":                   {"- name: a\n", "not a tool declaration"},
		"a name with a space":      {"name: a b\n", "characters"},
		"an unknown trust":         {"name: a\noutput_trust: sometimes\n", "output_trust"},
		"a wrong type":             {"name: a\nannotations: {read_only: maybe}\n", "wrong type"},
		"declared twice":           {"namespace: n\ntools: [{name: a}, {name: a}]\n", "twice"},
		"a schema that is none":    {"name: a\ninput_schema: {type: strng}\n", "not a valid JSON Schema"},
		"an output schema":         {"name: a\noutput_schema: {type: [1]}\n", "not a valid JSON Schema"},
		"a schema of the network":  {"name: a\ninput_schema: {$ref: 'https://evil.example/s.json'}\n", "not a valid JSON Schema"},
		"a schema of our files":    {"name: a\ninput_schema: {$ref: 'file:///etc/passwd'}\n", "not a valid JSON Schema"},
		"a pattern that is broken": {"name: a\ninput_schema: {pattern: '('}\n", "not a valid JSON Schema"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files(t, map[string]string{"bad.yaml": c.text})
			_, err := registry.New(store(t), dir)
			var e *ostiary.Error
			if !errors.As(err, &e) || e.Kind != ostiary.KindConfigInvalid || !strings.Contains(e.Msg, filepath.Join(dir, "bad.yaml")) || !strings.Contains(e.Msg, c.says) || e.Fix == "" {
				t.Errorf("%v", err)
			}
		})
	}
	for name, dir := range map[string]string{"a folder that is not there": filepath.Join(t.TempDir(), "no"), "a file": filepath.Join(files(t, map[string]string{"f": ""}), "f")} {
		if _, err := registry.New(store(t), dir); ostiary.KindOf(err) != ostiary.KindConfigInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := registry.New(nil, ""); err == nil {
		t.Error("a registry without a store")
	}
}

func TestAnOperatorsWordBeatsOurs(t *testing.T) {
	t.Parallel()
	shipped := open(t, "")
	if got := resolve(t, shipped, "claude-code", "Bash"); got.Source != tool.FromShipped || !got.Risk.Destructive {
		t.Errorf("%+v", got)
	}
	r := open(t, files(t, map[string]string{"a.yaml": "namespace: claude-code\nname: Bash\ndescription: file\nannotations: {}\n"}))
	if got := resolve(t, r, "claude-code", "Bash"); got.Source != tool.FromOperator || got.Description != "file" {
		t.Errorf("%+v", got)
	}
	declared := put(t, r, "claude-code", "Bash", `{"namespace":"claude-code","name":"Bash","description":"API","annotations":{}}`)
	if got := resolve(t, r, "claude-code", "Bash"); got.Description != "API" || got.Digest != declared.Digest {
		t.Errorf("%+v", got)
	}
	if got, err := r.Resolve(context.Background(), "another tenant", tool.Name{Namespace: "claude-code", Name: "Bash"}); err != nil || got.Description != "file" {
		t.Errorf("another tenant sees %q, %v", got.Description, err)
	}
	if err := r.Delete(context.Background(), "t", tool.Name{Namespace: "claude-code", Name: "Bash"}); err != nil {
		t.Fatal(err)
	}
	if got := resolve(t, r, "claude-code", "Bash"); got.Description != "file" {
		t.Errorf("after the removal: %q", got.Description)
	}
	if err := r.Delete(context.Background(), "t", tool.Name{Namespace: "claude-code", Name: "Bash"}); ostiary.KindOf(err) != ostiary.KindNotFound {
		t.Errorf("a second removal: %v", err)
	}
}

// Covers: B1, B22
func TestMembersWeDoNotKnowAreKeptAndPinned(t *testing.T) {
	t.Parallel()
	r := open(t, "")
	const doc = `{"schema_version":"0.2.0","namespace":"n","name":"a","annotations":{"read_only":true},"tool_id":"x-1","aliases":["b"],"lifecycle":{"since":9007199254740993}}`
	first := put(t, r, "n", "a", doc)
	second := put(t, r, "n", "a", strings.Replace(doc, "9007199254740993", "9007199254740992", 1))
	if first.Digest == second.Digest {
		t.Error("a member we do not know is not covered by the pin")
	}
	items, _, err := r.List(context.Background(), "t", "", 10)
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	back, err := json.Marshal(items[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"schema_version":"0.2.0"`, `"tool_id":"x-1"`, `"aliases":["b"]`, `"since":9007199254740992`} {
		if !strings.Contains(string(back), part) {
			t.Errorf("%s was lost: %s", part, back)
		}
	}
	if again := put(t, r, "n", "a", strings.Replace(doc, `"namespace":"n","name":"a"`, `"name":"a","namespace":"n"`, 1)); again.Digest != first.Digest {
		t.Error("the order of members changes the pin")
	}
}

func TestADeclarationThatCannotBeStoredIsRefused(t *testing.T) {
	t.Parallel()
	r := open(t, "")
	for name, c := range map[string]struct {
		doc  string
		kind ostiary.Kind
	}{
		"another name":         {`{"namespace":"n","name":"b"}`, ostiary.KindInvalidField},
		"another namespace":    {`{"namespace":"m","name":"a"}`, ostiary.KindInvalidField},
		"a twofold member":     {`{"namespace":"n","name":"a","x":{"y":1,"y":2}}`, ostiary.KindDuplicateKey},
		"no JSON":              {`name: a`, ostiary.KindMalformedJSON},
		"a remote schema":      {`{"namespace":"n","name":"a","input_schema":{"$ref":"http://evil.example/x"}}`, ostiary.KindInvalidField},
		"an unknown trust":     {`{"namespace":"n","name":"a","output_trust":"yes"}`, ostiary.KindInvalidField},
		"a schema of a string": {`{"namespace":"n","name":"a","input_schema":"x"}`, ostiary.KindInvalidField},
	} {
		if _, err := r.Put(context.Background(), "t", tool.Name{Namespace: "n", Name: "a"}, []byte(c.doc)); ostiary.KindOf(err) != c.kind {
			t.Errorf("%s: %v, want %s", name, err, c.kind)
		}
	}
	if got := resolve(t, r, "n", "a"); got.Source != tool.Undeclared {
		t.Errorf("something was stored: %+v", got)
	}
}

// Covers: A5, E2
func TestEveryFaultOfTheArgumentsHasItsPlace(t *testing.T) {
	t.Parallel()
	r := open(t, "")
	got := put(t, r, "n", "a", `{"namespace":"n","name":"a","input_schema":{"type":"object","required":["id"],"additionalProperties":false,
		"properties":{"id":{"type":"integer"},"list":{"type":"array","items":{"type":"string","maxLength":2}},"a/b":{"enum":["x"]}}}}`)
	for args, places := range map[string]string{
		`{"id":1}`: "", `{"id":9007199254740993}`: "", `{"id":1,"list":["ab"]}`: "",
		`{}`: "[]", `{"id":"1"}`: "[/id]", `{"id":1.5}`: "[/id]", `{"id":1,"list":["a","abc"]}`: "[/list/1]", `{"id":1,"a/b":"y"}`: "[/a~1b]", `{"id":1,"extra":1}`: "[]", `{"id":null}`: "[/id]",
	} {
		faults, err := r.Faults(got, jsontext.Value(args))
		if err != nil {
			t.Fatal(err)
		}
		var at []string
		for _, f := range faults {
			at = append(at, f.Pointer)
			if f.Message == "" {
				t.Errorf("%s: a fault without a word", args)
			}
		}
		if places == "" && len(at) > 0 || places != "" && fmt.Sprint(at) != places {
			t.Errorf("%s: %v, want %s", args, at, places)
		}
	}
	many := `{"id":1,"list":[` + strings.Repeat(`"abc",`, 99) + `"abc"]}`
	if faults, err := r.Faults(got, jsontext.Value(many)); err != nil || len(faults) != 20 {
		t.Errorf("%d faults, %v", len(faults), err)
	}
}

func TestRolesComeFromTheSchemaThenFromTheName(t *testing.T) {
	t.Parallel()
	r := open(t, "")
	got := put(t, r, "n", "a", `{"namespace":"n","name":"a","input_schema":{"type":"object","properties":{
		"x":{"x-ostiary-role":"recipient"},"command":{"x-ostiary-role":"text"},"link":{"type":"string","format":"uri"},
		"rows":{"type":"array","items":{"type":"object","properties":{"y":{"x-ostiary-role":"shell_command"}}}}}}}`)
	for place, want := range map[string]tool.Role{"/x": tool.RoleRecipient, "/command": tool.RoleText, "/rows/7/y": tool.RoleShell, "/path": tool.RolePath, "/rows/7/to": tool.RoleRecipient, "/nothing": "", "/link": tool.RoleURL} {
		if role := r.Role(got, place); role != want {
			t.Errorf("%s is %q, want %q", place, role, want)
		}
	}
}

func TestTheListComesInPages(t *testing.T) {
	t.Parallel()
	r := open(t, "")
	for i := range 7 {
		name := fmt.Sprintf("t%d", i)
		put(t, r, "n", name, `{"namespace":"n","name":"`+name+`"}`)
	}
	var seen []string
	cursor := ""
	for page := 0; page == 0 || cursor != ""; page++ {
		items, next, err := r.List(context.Background(), "t", cursor, 3)
		if err != nil || len(items) > 3 || page > 3 {
			t.Fatal(page, items, err)
		}
		for _, d := range items {
			seen = append(seen, d.Name)
		}
		if cursor = next; strings.ContainsFunc(cursor, func(c rune) bool { return c < 0x2d || c > 0x7a }) {
			t.Errorf("cursor %q needs escapes", cursor)
		}
	}
	if fmt.Sprint(seen) != "[t0 t1 t2 t3 t4 t5 t6]" {
		t.Error(seen)
	}
	for _, bad := range []string{"!", "bm8", "n\x00t1"} {
		if _, _, err := r.List(context.Background(), "t", bad, 3); ostiary.KindOf(err) != ostiary.KindInvalidField {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
	if items, _, err := r.List(context.Background(), "another", "", 3); err != nil || len(items) != 0 {
		t.Errorf("another tenant sees %v, %v", items, err)
	}
}

// slowStore holds a reader between what it read and what it returns.
type slowStore struct {
	registry.Store
	read, release chan struct{}
}

func (s *slowStore) Get(ctx context.Context, tenant string, name tool.Name) ([]byte, error) {
	doc, err := s.Store.Get(ctx, tenant, name)
	if s.read != nil {
		s.read <- struct{}{}
		<-s.release
	}
	return doc, err
}

func TestAnOldDeclarationDoesNotComeBack(t *testing.T) {
	t.Parallel()
	inner := store(t)
	name := tool.Name{Namespace: "n", Name: "a"}
	if err := inner.Put(context.Background(), "t", name, []byte(`{"namespace":"n","name":"a","description":"old"}`)); err != nil {
		t.Fatal(err)
	}
	slow := &slowStore{inner, make(chan struct{}), make(chan struct{})}
	r, err := registry.New(slow, "")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := r.Resolve(context.Background(), "t", name); err != nil {
			t.Error(err)
		}
	}()
	<-slow.read // the old one is read, and not yet remembered
	put(t, r, "n", "a", `{"namespace":"n","name":"a","description":"new"}`)
	slow.release <- struct{}{}
	<-done
	slow.read = nil
	if got := resolve(t, r, "n", "a"); got.Description != "new" {
		t.Errorf("resolved to the %s one", got.Description)
	}
}
