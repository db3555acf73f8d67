package arguments

import (
	"fmt"
	"hash/maphash"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/maypok86/otter/v2"

	"ostiary/sanitize"
)

// Bounds of what is remembered, in bytes. Longer arguments are documents, which hardly ever come twice.
const (
	maxRemembered = 4 << 10
	memoryBytes   = 16 << 20
	maxCall       = 4 << 10 // what the arguments were last for, beside them
	word          = 16      // of the memory that holds a text
)

// Reader reads arguments and remembers them. It is safe for concurrent use.
type Reader struct {
	contract Contract
	masker   *sanitize.Cleaner
	key      []byte
	seed     maphash.Seed // so that nobody can make two texts meet
	known    *otter.Cache[uint64, *Arguments]
}

// NewReader returns a Reader that masks with masker what may be logged, and keys digests with key.
func NewReader(contract Contract, masker *sanitize.Cleaner, key []byte) (*Reader, error) {
	known, err := otter.New(&otter.Options[uint64, *Arguments]{
		MaximumWeight: memoryBytes,
		Weigher:       func(_ uint64, a *Arguments) uint32 { return a.weight() },
		Executor:      func(f func()) { f() }, // no goroutine outlives a call
	})
	if err != nil {
		return nil, fmt.Errorf("arguments: memory: %w", err)
	}
	return &Reader{contract: contract, masker: masker, key: key, seed: maphash.MakeSeed(), known: known}, nil
}

// weight is about the memory that arguments take, in bytes: the text in its forms, scalars with their roles, and what they name.
func (a *Arguments) weight() uint32 {
	const entry, leaf, forms = 1000, 150, 8
	return uint32(entry + maxCall + leaf*len(a.Leaves) + forms*len(a.Input))
}

// Read takes arguments apart, which must have passed [strictjson.Check].
func (r *Reader) Read(input jsontext.Value) (*Arguments, error) {
	key := maphash.Bytes(r.seed, input)
	if a, ok := r.known.GetIfPresent(key); ok && string(a.Input) == string(input) {
		return a, nil
	}
	a, whole, err := r.read(input)
	if err != nil {
		return nil, err
	}
	if whole && len(input) <= maxRemembered {
		a.Input = append(jsontext.Value(nil), input...) // not all of the request's body
		r.known.Set(key, a)
	}
	return a, nil
}
