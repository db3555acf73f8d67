// Package bundletest makes signed bundles for tests, with OPA's own tools.
package bundletest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	opa "github.com/open-policy-agent/opa/v1/bundle"
)

// Signer is a security team with a key. The zero Signer signs nothing.
type Signer struct {
	Private string // PEM
	Public  string // path of the PEM file
}

// New returns a Signer with a key of its own.
func New(t testing.TB) Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	s := Signer{Private: string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})), Public: filepath.Join(t.TempDir(), "key.pem")}
	if err := os.WriteFile(s.Public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Bundle packs one file, t.rego, with one setting of the baseline, and signs it. change may bend the bundle
// before it is signed.
func (s Signer) Bundle(t testing.TB, rego string, serial int, change func(*opa.Bundle)) []byte {
	t.Helper()
	parsed, err := ast.ParseModuleWithOpts("t.rego", rego, ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		t.Fatal(err)
	}
	b := opa.Bundle{
		Manifest: opa.Manifest{Revision: "r", Roots: &[]string{"policies", "ostiary"}, Metadata: map[string]any{"serial": serial}},
		Data:     map[string]any{"ostiary": map[string]any{"baseline": map[string]any{"much_pii": 7}}},
		Modules:  []opa.ModuleFile{{URL: "/t.rego", Path: "/t.rego", Raw: []byte(rego), Parsed: parsed}},
	}
	if change != nil {
		change(&b)
	}
	b.Manifest.SetRegoVersion(ast.RegoV1)
	if s.Private != "" {
		if err := b.GenerateSignature(opa.NewSigningConfig(s.Private, "ES256", ""), "anything", false); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	if err := opa.NewWriter(&packed).DisableFormat(true).Write(b); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
