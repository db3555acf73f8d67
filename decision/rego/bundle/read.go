package bundle

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"

	opa "github.com/open-policy-agent/opa/v1/bundle"

	"ostiary"
)

// Limits of a bundle, in bytes: as it travels, and unpacked.
const (
	maxPacked   = 16 << 20
	maxUnpacked = 64 << 20
)

// Bundle is what an operator adds to the shipped policies.
type Bundle struct {
	Modules map[string]string // by path in the bundle
	Tests   map[string]string // the files that end in _test.rego, the same way
	// Data overlays data.ostiary: top key, then member.
	Data map[string]map[string]any
	// Serial is metadata.serial of the manifest; 0 when there is none. It never goes down.
	Serial int64
}

// keyID is how OPA's verifier finds our one key, whatever the signature calls it.
const keyID = "operator"

// verifier takes a PEM public key. Secrets that sign and verify alike are refused: whoever reads our settings could then sign.
func verifier(key []byte) (*opa.VerificationConfig, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("it is no PEM file")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it holds no public key (PEM type PUBLIC KEY)")
	}
	algorithm := ""
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		algorithm = map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Curve.Params().BitSize]
	case *rsa.PublicKey:
		algorithm = "RS256"
	}
	if algorithm == "" {
		return nil, fmt.Errorf("a key of the type %T cannot verify a bundle; ECDSA and RSA keys can", public)
	}
	return opa.NewVerificationConfig(map[string]*opa.KeyConfig{keyID: {Key: string(key), Algorithm: algorithm}}, keyID, "", nil), nil
}

// read unpacks and verifies a bundle.
func read(packed []byte, key *opa.VerificationConfig) (*Bundle, error) {
	plain, err := unpack(packed)
	if err != nil {
		return nil, refused(err, "the bundle cannot be unpacked")
	}
	raw, err := opa.NewCustomReader(opa.NewTarballLoader(bytes.NewReader(plain))).WithBundleVerificationConfig(key).WithSizeLimitBytes(maxUnpacked).Read()
	if err != nil {
		return nil, refused(err, "the bundle is not what the operator's key signed")
	}
	return sort(raw)
}

// unpack bounds what a small file can become, and packs it again without compression for OPA's reader.
func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	tar, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err != nil {
		return nil, err
	}
	if len(tar) > maxUnpacked {
		return nil, fmt.Errorf("unpacked it is larger than %d MiB", maxUnpacked>>20)
	}
	var plain bytes.Buffer
	w, err := gzip.NewWriterLevel(&plain, gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(tar); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return plain.Bytes(), nil
}

// sort takes apart what a verified bundle holds.
func sort(raw opa.Bundle) (*Bundle, error) {
	if len(raw.WasmModules) > 0 || len(raw.PlanModules) > 0 {
		return nil, refused(nil, "the bundle holds compiled policies, which cannot be looked into")
	}
	b := &Bundle{Modules: map[string]string{}, Tests: map[string]string{}}
	for _, m := range raw.Modules {
		name := strings.TrimPrefix(m.Path, "/")
		if strings.HasSuffix(name, "_test.rego") {
			b.Tests[name] = string(m.Raw)
		} else {
			b.Modules[name] = string(m.Raw)
		}
	}
	var err error
	if b.Serial, err = serial(raw.Manifest.Metadata["serial"]); err != nil {
		return nil, err
	}
	b.Data, err = data(raw.Data)
	return b, err
}

func serial(value any) (int64, error) {
	switch v := value.(type) {
	case nil:
		return 0, nil
	case json.Number:
		if n, err := v.Int64(); err == nil && n > 0 {
			return n, nil
		}
	case float64:
		if n := int64(v); n > 0 && float64(n) == v {
			return n, nil
		}
	}
	return 0, refused(nil, "metadata.serial of the bundle's manifest is %v, want a whole number above 0", value)
}

// data refuses what would land outside the documents that rules of ours read.
func data(raw map[string]any) (map[string]map[string]any, error) {
	out := map[string]map[string]any{}
	for top, value := range raw {
		documents, ok := value.(map[string]any)
		if top != "ostiary" || !ok {
			return nil, refused(nil, "the bundle's data has the top key %q; data stands below ostiary", top)
		}
		for key, value := range documents {
			members, ok := value.(map[string]any)
			if !ok {
				return nil, refused(nil, "the bundle's data ostiary.%s is no object", key)
			}
			out[key] = members
		}
	}
	return out, nil
}

func refused(cause error, format string, args ...any) error {
	return ostiary.Wrap(ostiary.KindPolicyBroken, cause, fmt.Sprintf(format, args...)).
		WithFix("build the bundle again and sign it: opa build --bundle DIR --signing-key KEY --signing-alg ES256")
}
