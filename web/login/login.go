package login

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"ostiary/agent"
)

// CodeTTL is how long a login link can be used.
const CodeTTL = 10 * time.Minute

const (
	maxSessions = 1000 // more logins at once end the oldest
	maxCodes    = 100
	maxFailures = 5 // failed logins from one address within failWindow
	failWindow  = time.Minute
	maxSources  = 1000 // addresses whose failures are remembered
	revealTTL   = time.Minute
	maxViews    = 2000 // items whose views one login remembers
)

// key is the hash of a session id or login code: what is kept in memory cannot be used as a credential.
type key [sha256.Size]byte

func keyOf(secret string) key { return sha256.Sum256([]byte(secret)) }

// Session is one login of one browser.
type Session struct {
	Who     agent.Identity
	Expires time.Time

	from *Session    // the login it was made in, and ends with; nil for one of this machine
	over atomic.Bool // ended before its time

	mu    sync.Mutex
	views map[string]*seen
}

// live reports whether neither the session nor a login it comes from was ended. What comes from none depends on none.
func (s *Session) live() bool {
	for ; s != nil; s = s.from {
		if s.over.Load() {
			return false
		}
	}
	return true
}

// comesFrom reports whether the session is another, or was made in it or in what was made in it.
func (s *Session) comesFrom(another *Session) bool {
	for ; s != nil; s = s.from {
		if s == another {
			return true
		}
	}
	return false
}

// seen is what a browser has shown of one version of an item.
type seen struct {
	version  int64
	digest   string
	pointers map[string]bool
}

// Show adds pointers to what was shown of an item; another version or view starts from nothing.
func (s *Session) Show(id string, version int64, digest string, pointers []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	if v == nil || v.version != version || v.digest != digest {
		if len(s.views) >= maxViews { // forgetting costs a second look, never an approval
			clear(s.views)
		}
		v = &seen{version: version, digest: digest, pointers: map[string]bool{}}
		s.views[id] = v
	}
	for _, p := range pointers {
		v.pointers[p] = true
	}
}

// Missing lists which of the pointers were not shown in this version and view; shown is false when nothing of it was.
func (s *Session) Missing(id string, version int64, digest string, pointers []string) (missing []string, shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	if v == nil || v.version != version || v.digest != digest {
		return pointers, false
	}
	for _, p := range pointers {
		if !v.pointers[p] {
			missing = append(missing, p)
		}
	}
	return missing, true
}

// Sessions holds the logins in memory: a restart ends them.
type Sessions struct {
	now  func() time.Time
	rand io.Reader
	ttl  time.Duration
	mu   sync.Mutex
	all  map[key]*Session
}

// NewSessions returns a store whose sessions last ttl.
func NewSessions(now func() time.Time, rand io.Reader, ttl time.Duration) *Sessions {
	return &Sessions{now: now, rand: rand, ttl: ttl, all: map[key]*Session{}}
}

// Open starts a session and returns its id, which exists nowhere else. It lasts the store's time, and no longer than the login that the
// ticket was made in. The session of old, the id that the browser had, ends; a ticket that comes from that very session opens one in its
// place, which would otherwise end with it.
func (s *Sessions) Open(t Ticket, old string) (id string, expires time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := t.From
	if was := s.all[keyOf(old)]; was != nil {
		if from.comesFrom(was) {
			from = was.from
		}
		s.end(was)
	}
	now := s.now()
	maps.DeleteFunc(s.all, func(_ key, v *Session) bool { return !now.Before(v.Expires) })
	if len(s.all) >= maxSessions {
		s.end(s.oldest())
	}
	id, expires = Random(s.rand), t.until(now.Add(s.ttl))
	s.all[keyOf(id)] = &Session{Who: t.Who, Expires: expires, from: from, views: map[string]*seen{}}
	return id, expires
}

// oldest is the session that expires first. The lock must be held.
func (s *Sessions) oldest() (first *Session) {
	for _, v := range s.all {
		if first == nil || v.Expires.Before(first.Expires) {
			first = v
		}
	}
	return first
}

// end ends a session and what was made in it. The lock must be held.
func (s *Sessions) end(v *Session) {
	v.over.Store(true)
	maps.DeleteFunc(s.all, func(_ key, v *Session) bool { return !v.live() })
}

// Find returns the live session of an id, or nil.
func (s *Sessions) Find(id string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.all[keyOf(id)]
	if v == nil || !s.now().Before(v.Expires) || !v.live() {
		return nil
	}
	return v
}

// Close ends the session of an id, the sessions made in it, and the codes made in any of them.
func (s *Sessions) Close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.all[keyOf(id)]; v != nil {
		s.end(v)
	}
}

// Codes holds the one-time codes and the failures to use one.
type Codes struct {
	now      func() time.Time
	rand     io.Reader
	mu       sync.Mutex
	codes    map[key]code
	failures map[string][]time.Time
}

// Ticket is what a code gives: who is signed in, and the login that it was made in, with which it ends. A ticket of this machine has none.
type Ticket struct {
	Who  agent.Identity
	From *Session
}

// until is when, or the end of the ticket's login when that comes first.
func (t Ticket) until(when time.Time) time.Time {
	if t.From != nil && t.From.Expires.Before(when) {
		return t.From.Expires
	}
	return when
}

type code struct {
	Ticket
	expires time.Time
}

func (c code) usable(now time.Time) bool { return now.Before(c.expires) && c.From.live() }

// NewCodes returns a store without codes.
func NewCodes(now func() time.Time, rand io.Reader) *Codes {
	return &Codes{now: now, rand: rand, codes: map[key]code{}, failures: map[string][]time.Time{}}
}

// Issue returns a new code for a ticket and how long it can be used.
func (l *Codes) Issue(t Ticket) (s string, usable time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	maps.DeleteFunc(l.codes, func(_ key, c code) bool { return !c.usable(now) })
	if len(l.codes) >= maxCodes { // somebody asks for codes without using them: the old ones end
		clear(l.codes)
	}
	expires := t.until(now.Add(CodeTTL))
	s = Random(l.rand)
	l.codes[keyOf(s)] = code{t, expires}
	return s, expires.Sub(now)
}

// Redeem uses a code up. throttled is true when the source has failed too often, whatever the code.
func (l *Codes) Redeem(source, s string) (t Ticket, ok, throttled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	recent := l.failures[source][:0:0]
	for _, t := range l.failures[source] {
		if now.Sub(t) < failWindow {
			recent = append(recent, t)
		}
	}
	if len(recent) >= maxFailures {
		l.failures[source] = recent
		return Ticket{}, false, true
	}
	k := keyOf(s)
	c, found := l.codes[k]
	delete(l.codes, k)
	if found && c.usable(now) {
		delete(l.failures, source)
		return c.Ticket, true, false
	}
	if len(l.failures) >= maxSources {
		clear(l.failures)
	}
	l.failures[source] = append(recent, now)
	return Ticket{}, false, false
}

// Reveals remembers, per person, which masked values were asked for within the last minute.
type Reveals struct {
	mu  sync.Mutex
	all map[[3]string]time.Time // subject, item, pointer → until
}

// NewReveals returns an empty memory.
func NewReveals() *Reveals { return &Reveals{all: map[[3]string]time.Time{}} }

// Show remembers a reveal until the returned moment.
func (r *Reveals) Show(who, id, pointer string, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, until := range r.all {
		if !now.Before(until) {
			delete(r.all, k)
		}
	}
	until := now.Add(revealTTL)
	r.all[[3]string{who, id, pointer}] = until
	return until
}

// Shown reports whether the value may be shown now.
func (r *Reveals) Shown(who, id, pointer string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.all[[3]string{who, id, pointer}])
}

// Random returns 128 bits of r in hex.
func Random(r io.Reader) string {
	var b [16]byte
	if _, err := io.ReadFull(r, b[:]); err != nil { // better no console than a guessable id
		panic("login: no randomness: " + err.Error())
	}
	return hex.EncodeToString(b[:])
}
