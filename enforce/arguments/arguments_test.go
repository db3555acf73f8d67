package arguments_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"ostiary"
	"ostiary/enforce/arguments"
	"ostiary/internal/localdb"
	"ostiary/sanitize"
	"ostiary/sanitize/shipped"
	"ostiary/tool"
	"ostiary/tool/registry"
)

func reader(t testing.TB) *arguments.Reader {
	t.Helper()
	db, err := localdb.Open(t.Context(), filepath.Join(t.TempDir(), "o.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	declarations, err := registry.New(registry.NewLocalStore(db), "")
	if err != nil {
		t.Fatal(err)
	}
	masker, err := shipped.NewMasker(sanitize.Config{Now: time.Now, Deadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	r, err := arguments.NewReader(declarations, masker, []byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, r *arguments.Reader, text string) *arguments.Arguments {
	t.Helper()
	a, err := r.Read(jsontext.Value(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func declared(digest, schema string) tool.Resolved {
	return tool.NewResolved(tool.Declaration{Namespace: "files", Name: "open", InputSchema: jsontext.Value(schema)}, tool.FromOperator, digest)
}

func taken(t testing.TB, a *arguments.Arguments, by tool.Resolved, cwd string) *arguments.Call {
	t.Helper()
	c, err := a.For(by, cwd)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOneCallInTwoSpellingsHasOneDigest(t *testing.T) {
	r := reader(t)
	a, b, other := read(t, r, `{"a":1,"b":[2]}`), read(t, r, "{ \"b\" : [ 2 ],\n\"a\":1}"), read(t, r, `{"a":1.0,"b":[2]}`)
	if a.Digest != b.Digest || a.MAC != b.MAC || a.Canonical != b.Canonical {
		t.Errorf("one call has two digests: %+v, %+v", a, b)
	}
	if string(a.Input) == string(b.Input) {
		t.Error("the bytes were rewritten")
	}
	if a.Digest == other.Digest || a.MAC == other.MAC {
		t.Error("two calls have one digest")
	}
}

// What comes again is answered from memory; it must read the same.
func TestArgumentsThatComeAgainReadTheSame(t *testing.T) {
	texts := []string{`{}`, `{"path":"a/b","n":[1,{"to":"x@y.example"}]}`, `{"command":"rm -rf $(pwd)"}`, `{"key":"ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5F6g7H8"}`, `{"text":"` + strings.Repeat("long ", 2000) + `"}`}
	warm := reader(t)
	for range 3 {
		for _, text := range texts {
			a, b := read(t, warm, text), read(t, reader(t), text)
			x, y := taken(t, a, declared("d", `{}`), "/w"), taken(t, b, declared("d", `{}`), "/w")
			px, _ := x.Parsed()
			py, _ := y.Parsed()
			if a.Digest != b.Digest || string(a.Input) != text || string(a.Logged) != string(b.Logged) || !slices.Equal(a.Leaves, b.Leaves) || !cmp.Equal(px, py) {
				t.Errorf("%.40s:\n%+v %+v\n%+v %+v", text, a, px, b, py)
			}
		}
	}
}

func TestTheSameArgumentsAreAnotherCallElsewhere(t *testing.T) {
	a := read(t, reader(t), `{"path":"notes","to":"a"}`)
	paths := func(c *arguments.Call) []string {
		p, err := c.Parsed()
		if err != nil {
			t.Fatal(err)
		}
		return p.Paths
	}
	for range 2 {
		if got := paths(taken(t, a, declared("d", `{}`), "/here")); !slices.Equal(got, []string{"/here/notes"}) {
			t.Errorf("got %q", got)
		}
		if got := paths(taken(t, a, declared("d", `{}`), "/there")); !slices.Equal(got, []string{"/there/notes"}) {
			t.Errorf("got %q", got)
		}
		changed := taken(t, a, declared("e", `{"properties":{"path":{"x-ostiary-role":"text","maxLength":2}}}`), "/there")
		if changed.Role("/path") != tool.RoleText || len(changed.Faults) != 1 || changed.Role("/nowhere") != "" {
			t.Errorf("a changed declaration: role %q, faults %v", changed.Role("/path"), changed.Faults)
		}
	}
}

// Covers: A27
func TestWhatIsLoggedHoldsNoSecretAndIsShort(t *testing.T) {
	r := reader(t)
	secret := "ghp_" + "a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5F6g7H8"
	if a := read(t, r, `{"key":"`+secret+`","x":1}`); strings.Contains(string(a.Logged), secret) || !strings.Contains(string(a.Logged), `"x":1`) {
		t.Errorf("logged: %s", a.Logged)
	}
	if a := read(t, r, `{"x":"`+strings.Repeat("a", 5000)+`"}`); a.Logged != nil || a.MAC == "" {
		t.Errorf("logged: %.20s", a.Logged)
	}
}

func TestArgumentsThatNameTooMuchAreRefused(t *testing.T) {
	c := taken(t, read(t, reader(t), `{"command":"ls`+paths(2000)+`"}`), declared("d", `{}`), "/")
	if _, err := c.Parsed(); ostiary.KindOf(err) != ostiary.KindInvalidField {
		t.Errorf("got %v", err)
	}
}

func paths(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(" /tmp/" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + strings.Repeat("y", i/50))
	}
	return b.String()
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	r := reader(t)
	cwd := "/" + strings.Repeat("d", 4000)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 300 {
		a := read(t, r, `{"command":"ls`+paths(90)+` `+strconv.Itoa(i)+`"}`)
		if _, err := taken(t, a, declared("d", `{}`), cwd).Parsed(); err != nil {
			t.Fatal(err)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 2*16<<20 {
		t.Errorf("300 calls take %d MB", grown>>20)
	}
	runtime.KeepAlive(r)
}

func BenchmarkRead(b *testing.B) {
	for name, n := range map[string]int{"again": 1, "new": 100_000} {
		b.Run(name, func(b *testing.B) {
			r, t := reader(b), declared("d", `{"type":"object","properties":{"path":{"type":"string"}}}`)
			texts := make([]string, n)
			for i := range texts {
				texts[i] = `{"path":"/repo/` + strconv.Itoa(i) + `.txt","limit":20}`
			}
			for i := 0; b.Loop(); i++ {
				taken(b, read(b, r, texts[i%n]), t, "/")
			}
		})
	}
}
