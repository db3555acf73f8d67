package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	opa "github.com/open-policy-agent/opa/v1/bundle"

	"ostiary"
	"ostiary/decision/rego/bundle"
	"ostiary/decision/rego/bundle/bundletest"
)

const rule = "package policies.operator.t\n\nimport rego.v2\n"

// inFile is a source over one file.
func inFile(t *testing.T, packed []byte, key string) *bundle.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	return source(t, bundle.Config{Location: path, KeyFile: key})
}

func source(t *testing.T, cfg bundle.Config) *bundle.Source {
	t.Helper()
	s, err := bundle.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASignedBundleIsTakenApart(t *testing.T) {
	team := bundletest.New(t)
	packed := team.Bundle(t, rule, 3, func(b *opa.Bundle) {
		b.Modules = append(b.Modules, opa.ModuleFile{URL: "/t_test.rego", Path: "/t_test.rego", Raw: []byte("package policies.operator.t_test\n"), Parsed: b.Modules[0].Parsed})
	})
	b, err := inFile(t, packed, team.Public).Fetch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if b.Modules["t.rego"] != rule || len(b.Tests) != 1 || b.Serial != 3 || b.Data["baseline"]["much_pii"] == nil {
		t.Errorf("%+v", b)
	}
}

func TestWhatTheKeyDidNotSignIsRefused(t *testing.T) {
	team, other := bundletest.New(t), bundletest.New(t)
	good := team.Bundle(t, rule, 1, nil)
	for name, c := range map[string]struct {
		packed []byte
		want   string
	}{
		"unsigned":  {bundletest.Signer{}.Bundle(t, rule, 1, nil), "signed"},
		"another's": {other.Bundle(t, rule, 1, nil), "signed"},
		"a changed file": {repack(t, good, func(name string, body []byte) []byte {
			return bytes.ReplaceAll(body, []byte("import"), []byte("#mport"))
		}), "signed"},
		"an added file": {repack(t, good, nil, "/u.rego"), "signed"},
		"cut off":       {good[:len(good)/2], "unpacked"},
		"no bundle":     {[]byte("not gzip"), "unpacked"},
		"empty":         {nil, "unpacked"},
		"a bomb":        {bomb(t), "larger than 64 MiB"},
		"compiled": {team.Bundle(t, rule, 1, func(b *opa.Bundle) {
			b.WasmModules = []opa.WasmModuleFile{{URL: "/policy.wasm", Path: "/policy.wasm", Raw: []byte("x")}}
		}), "compiled"},
		"foreign data":    {team.Bundle(t, rule, 1, func(b *opa.Bundle) { b.Manifest.Roots, b.Data = &[]string{""}, map[string]any{"users": 1} }), "top key"},
		"a serial of 1.5": {team.Bundle(t, rule, 1, func(b *opa.Bundle) { b.Manifest.Metadata["serial"] = 1.5 }), "metadata.serial"},
		"a serial of 0":   {team.Bundle(t, rule, 0, nil), "metadata.serial"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inFile(t, c.packed, team.Public).Fetch(context.Background())
			var said *ostiary.Error
			if !errors.As(err, &said) || said.Kind != ostiary.KindPolicyBroken || said.Fix == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// repack changes files of a bundle behind its signature.
func repack(t *testing.T, packed []byte, change func(name string, body []byte) []byte, add ...string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	w := tar.NewWriter(zw)
	write := func(h *tar.Header, body []byte) {
		h.Size = int64(len(body))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	r := tar.NewReader(z)
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil && strings.HasSuffix(h.Name, ".rego") {
			body = change(h.Name, body)
		}
		write(h, body)
	}
	for _, name := range add {
		write(&tar.Header{Name: name, Mode: 0o600, Typeflag: tar.TypeReg}, []byte(rule))
	}
	if err := errors.Join(w.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bomb is small, and large when it is unpacked.
func bomb(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	zeros := make([]byte, 1<<20)
	for range 100 {
		if _, err := zw.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAKeyThatCannotVerifyIsRefused(t *testing.T) {
	for name, text := range map[string]string{"no PEM": "secret", "a private key": bundletest.New(t).Private, "nothing": ""} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bundle.New(bundle.Config{Location: "x", KeyFile: path}); ostiary.KindOf(err) != ostiary.KindConfigInvalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := bundle.New(bundle.Config{Location: "x", KeyFile: filepath.Join(t.TempDir(), "absent")}); ostiary.KindOf(err) != ostiary.KindConfigInvalid {
		t.Errorf("an absent file: %v", err)
	}
}

func TestAnOldBundleIsRefusedAlsoAfterARestart(t *testing.T) {
	team := bundletest.New(t)
	dir := t.TempDir()
	cfg := bundle.Config{Location: filepath.Join(dir, "b.tar.gz"), KeyFile: team.Public, FloorFile: filepath.Join(dir, "serial")}
	put := func(serial int) {
		t.Helper()
		if err := os.WriteFile(cfg.Location, team.Bundle(t, rule, serial, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(7)
	s := source(t, cfg)
	b, err := s.Fetch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(b); err != nil {
		t.Fatal(err)
	}
	put(6)
	for name, s := range map[string]*bundle.Source{"at once": s, "after a restart": source(t, cfg)} {
		if _, err := s.Fetch(context.Background()); ostiary.KindOf(err) != ostiary.KindPolicyBroken || !strings.Contains(err.Error(), "serial is 6, and 7") {
			t.Errorf("%s: %v", name, err)
		}
	}
	put(7)
	if _, err := s.Fetch(context.Background()); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := os.WriteFile(cfg.FloorFile, []byte("many"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.New(cfg); ostiary.KindOf(err) != ostiary.KindConfigInvalid {
		t.Errorf("a damaged memory: %v", err)
	}
}

// server is a bundle server as they are: it knows ETags and wants a token.
type server struct {
	mu     sync.Mutex
	packed []byte
	etag   string
	status int
	sent   int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer let-me":
		w.WriteHeader(http.StatusUnauthorized)
	case s.status != 0:
		w.WriteHeader(s.status)
	case r.Header.Get("If-None-Match") == s.etag:
		w.WriteHeader(http.StatusNotModified)
	default:
		s.sent++
		w.Header().Set("ETag", s.etag)
		w.Write(s.packed)
	}
}

func TestABundleComesFromAServer(t *testing.T) {
	team := bundletest.New(t)
	served := &server{packed: team.Bundle(t, rule, 1, nil), etag: `"1"`}
	web := httptest.NewServer(served)
	defer web.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("let-me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := source(t, bundle.Config{Location: web.URL + "/bundle.tar.gz", KeyFile: team.Public, TokenFile: token})
	fetch := func(want int64) {
		t.Helper()
		if b, err := s.Fetch(context.Background()); err != nil || b.Serial != want {
			t.Errorf("got %+v, %v, want %d", b, err, want)
		}
	}
	fetch(1)
	fetch(1)
	if served.sent != 1 {
		t.Errorf("what did not change was sent %d times", served.sent)
	}
	served.mu.Lock()
	served.packed, served.etag = team.Bundle(t, rule, 2, nil), `"2"`
	served.mu.Unlock()
	fetch(2)
	for name, break_ := range map[string]func(){
		"an error":  func() { served.status = http.StatusInternalServerError },
		"not found": func() { served.status = http.StatusNotFound },
		"another's work": func() {
			served.status, served.packed, served.etag = 0, bundletest.New(t).Bundle(t, rule, 3, nil), `"3"`
		},
		"without end": func() { served.packed, served.etag = make([]byte, 17<<20), `"4"` },
	} {
		served.mu.Lock()
		break_()
		served.mu.Unlock()
		if _, err := s.Fetch(context.Background()); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
