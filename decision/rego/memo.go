package rego

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/maypok86/otter/v2"

	"ostiary/decision"
)

// memoBytes bounds what one snapshot remembers.
const memoBytes = 32 << 20

// memo remembers answers by the text of what they were made from. A text is compared whole, so that a collision of hashes is a miss, and
// the hash is seeded, so that nobody can make one. It is safe for concurrent use.
type memo struct {
	seed     maphash.Seed
	answers  *otter.Cache[uint64, *remembered]
	off      atomic.Bool
	hits     atomic.Uint64 // whole decisions
	misses   atomic.Uint64
	partHits atomic.Uint64 // packages within a missed decision
	parts    atomic.Uint64
}

// remembered is one answer; nothing changes it.
type remembered struct {
	text     string
	outcome  decision.Outcome   // of a whole decision
	verdicts []decision.Verdict // of one package
}

func newMemo() (*memo, error) {
	answers, err := otter.New(&otter.Options[uint64, *remembered]{
		MaximumWeight: memoBytes,
		Weigher:       func(_ uint64, r *remembered) uint32 { return r.weight() },
		Executor:      func(f func()) { f() }, // no goroutine outlives a call
	})
	if err != nil {
		return nil, fmt.Errorf("rego: memo: %w", err)
	}
	return &memo{seed: maphash.MakeSeed(), answers: answers}, nil
}

// weight is about the memory that an answer takes, in bytes.
func (r *remembered) weight() uint32 {
	const entry, verdict = 200, 150
	n := entry + len(r.text)
	for _, v := range append(r.outcome.Verdicts[:len(r.outcome.Verdicts):len(r.outcome.Verdicts)], r.verdicts...) {
		n += verdict + len(v.Reason) + len(v.BlockedPath)
	}
	return uint32(n) // a text is at most as long as a request
}

func (m *memo) get(text []byte) (*remembered, bool) {
	r, ok := m.answers.GetIfPresent(maphash.Bytes(m.seed, text))
	return r, ok && r.text == string(text)
}

func (m *memo) put(text []byte, r *remembered) {
	r.text = string(text)
	m.answers.Set(maphash.Bytes(m.seed, text), r)
}
