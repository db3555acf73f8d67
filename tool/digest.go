package tool

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"

	"ostiary/internal/strictjson"
)

// Action is everything that makes two calls the same call.
type Action struct {
	Tenant, Agent, Session, Server string
	Tool                           Name
	Definition                     string // the declaration's pin, empty when undeclared
	Arguments                      string // in canonical form (wire.md §5)
}

// Digest returns "sha256:<hex>" over a domain tag and every field of the action, each length-prefixed. Equal digests mean equal calls; key
// order and white space of the arguments do not matter.
func (a Action) Digest() string {
	return digest("ostiary.action.v1", a.Tenant, a.Agent, a.Session, a.Server, a.Tool.Namespace, a.Tool.Name, a.Definition, a.Arguments)
}

// BytesDigest returns "sha256:<hex>" of exactly these bytes.
func BytesDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// DefinitionDigest pins a declaration: any change of it, unknown members included, gives another digest.
func DefinitionDigest(d Declaration) (string, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("declaration of %s: %w", d.ID(), err)
	}
	canonical, err := strictjson.Canonical(raw)
	if err != nil {
		return "", fmt.Errorf("declaration of %s: %w", d.ID(), err)
	}
	return digest("ostiary.definition.v1", string(canonical)), nil
}

func digest(parts ...string) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
