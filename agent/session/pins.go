package session

import "sync"

// maxPins bounds how many declarations are remembered. Only declared tools count, and only operators declare.
const maxPins = 100_000

// pins are the digests of the declarations that agents first called tools with, or that a person accepted since, in this run of the
// process. They are the agent's and not a session's, so that a new session sheds nothing. It is safe for concurrent use.
type pins struct {
	mu     sync.Mutex
	digest map[string]string // by tenant, agent and tool
}

// Drifted reports whether a tool's declaration is another one than when this agent first called it. An undeclared tool has no digest, and
// does not drift.
func (s *Session) Drifted(toolName, digest string) bool {
	p, key := &s.book.pins, s.tenant+"\x00"+s.agent+"\x00"+toolName
	p.mu.Lock()
	defer p.mu.Unlock()
	first, known := p.digest[key]
	if !known && digest != "" && len(p.digest) < maxPins {
		p.digest[key] = digest
	}
	return known && digest != "" && first != digest
}

// Accept takes a declaration as the one that the agent calls the tool with from now on: a person has approved a call under it.
func (s *Session) Accept(toolName, digest string) {
	p, key := &s.book.pins, s.tenant+"\x00"+s.agent+"\x00"+toolName
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.digest[key] != "" && digest != "" {
		p.digest[key] = digest
	}
}
