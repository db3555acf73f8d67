package arguments

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/decision"
	"ostiary/enforce/parse"
	"ostiary/internal/strictjson"
	"ostiary/sanitize"
	"ostiary/tool"
)

// Contract is what this package needs of the stored declarations. Both answers follow from the declaration's digest alone.
type Contract interface {
	// Faults says how arguments do not fit the declared input schema.
	Faults(r tool.Resolved, input jsontext.Value) ([]tool.Fault, error)
	// Role says what the argument at a place is for.
	Role(r tool.Resolved, pointer string) tool.Role
}

// maxLogged bounds the arguments in one event, in bytes; longer ones are told by their keyed digest alone.
const maxLogged = 4 << 10

// Arguments is what is true of arguments whatever tool they are for. Nothing changes it.
type Arguments struct {
	Input     jsontext.Value // as it came, byte for byte (B5)
	Canonical string
	Digest    string            // "sha256:<hex>" of the canonical form
	MAC       string            // "hmac-sha256:<hex>" of the canonical form: short arguments could be guessed from a plain digest
	Leaves    []strictjson.Leaf // every scalar, in document order
	Logged    jsontext.Value    // without secrets and personal data; nil when they are too long or cannot be made so

	contract Contract
	latest   atomic.Pointer[Call] // what the arguments were last for
}

// Call is what is true of arguments for one declaration, called from one directory. Nothing changes it.
type Call struct {
	Faults []tool.Fault // how the arguments do not fit the declared schema

	tool      tool.Name
	digest    string // of the declaration
	cwd       string
	roles     map[string]tool.Role
	parsed    decision.Parsed
	parsedErr error
}

// size is about the memory that a call takes beside its arguments, in bytes. Every path can be as long as the caller's directory.
func (c *Call) size() int {
	n := len(c.cwd)
	for _, list := range [][]string{c.parsed.Paths, c.parsed.Files, c.parsed.Hosts} {
		for _, text := range list {
			n += len(text) + word
		}
	}
	for _, command := range c.parsed.Commands {
		n += word * (4 + len(command.Args) + 4*len(command.Redirects))
	}
	return n
}

// Role says what the argument at a place is for; "" where nothing is.
func (c *Call) Role(pointer string) tool.Role { return c.roles[pointer] }

// Parsed is what the arguments name and run. Arguments that name more than policy can be shown are refused as invalid_field.
func (c *Call) Parsed() (decision.Parsed, error) { return c.parsed, c.parsedErr }

// read takes input apart; it must have passed [strictjson.Check].
func (r *Reader) read(input jsontext.Value) (a *Arguments, whole bool, err error) {
	canonical, err := strictjson.Canonical(input)
	if err != nil {
		return nil, false, err
	}
	leaves, err := strictjson.Leaves(input)
	if err != nil {
		return nil, false, err
	}
	a = &Arguments{Input: input, Canonical: string(canonical), Digest: tool.BytesDigest(canonical), MAC: r.mac(canonical), Leaves: leaves, contract: r.contract}
	if len(input) > maxLogged {
		return a, true, nil
	}
	masked, err := r.masker.JSON(context.Background(), sanitize.NewScope(), input, sanitize.Options{})
	if err != nil {
		return a, false, nil //nolint:nilerr // what cannot be masked is not logged, and asked again the next time
	}
	a.Logged = masked.JSON
	return a, true, nil
}

func (r *Reader) mac(canonical []byte) string {
	h := hmac.New(sha256.New, r.key)
	h.Write(canonical)
	return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
}

// For takes the arguments as those of a tool, with relative paths starting at cwd.
func (a *Arguments) For(t tool.Resolved, cwd string) (*Call, error) {
	if c := a.latest.Load(); c != nil && c.tool == t.ID() && c.digest == t.Digest && c.cwd == cwd {
		return c, nil
	}
	c := &Call{tool: t.ID(), digest: t.Digest, cwd: cwd, roles: make(map[string]tool.Role, len(a.Leaves))}
	for _, l := range a.Leaves {
		c.roles[l.Pointer] = a.contract.Role(t, l.Pointer)
	}
	var err error
	if c.Faults, err = a.contract.Faults(t, a.Input); err != nil {
		return nil, err
	}
	c.parsed, c.parsedErr = parse.Arguments(c.tool, a.Leaves, c.Role, cwd)
	if c.size() <= maxCall {
		a.latest.Store(c)
	}
	return c, nil
}
