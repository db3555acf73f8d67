package sanitize

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strconv"
	"sync"
)

// scopeLimit bounds the values one Scope remembers. A value seen after that
// shares the number 0 of its type: still redacted, no longer told apart.
const scopeLimit = 65536

// Scope numbers placeholders so that one value keeps one number for as long as
// the Scope lives: usually one session. It holds keyed hashes under a random
// key, never a value. It is safe for concurrent use.
type Scope struct {
	key [32]byte

	mu      sync.Mutex
	numbers map[[16]byte]int
	next    map[string]int
}

// NewScope returns an empty Scope.
func NewScope() *Scope {
	s := &Scope{numbers: make(map[[16]byte]int), next: make(map[string]int)}
	rand.Read(s.key[:]) // never fails, by its contract
	return s
}

// placeholder returns the text that stands for value in cleaned text.
func (s *Scope) placeholder(family Family, kind, value string) string {
	name := string(family) + ":" + kind
	return "[" + name + "#" + strconv.Itoa(s.number(name, value)) + "]"
}

func (s *Scope) number(name, value string) int {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte(name))
	mac.Write([]byte{0})
	mac.Write([]byte(value))
	var id [16]byte
	copy(id[:], mac.Sum(nil))

	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.numbers[id]; ok {
		return n
	}
	if len(s.numbers) >= scopeLimit {
		return 0
	}
	s.next[name]++
	s.numbers[id] = s.next[name]
	return s.next[name]
}
