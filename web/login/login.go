package login

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
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

	mu    sync.Mutex
	views map[string]*seen
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

// Open starts a session and returns its id, which exists nowhere else. It lasts the store's time, and no longer than until when that is set.
func (s *Sessions) Open(who agent.Identity, until time.Time) (id string, expires time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var oldest key
	var when time.Time
	for k, v := range s.all {
		if !now.Before(v.Expires) {
			delete(s.all, k)
		} else if when.IsZero() || v.Expires.Before(when) {
			oldest, when = k, v.Expires
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
	id, expires = Random(s.rand), earlier(now.Add(s.ttl), until)
	s.all[keyOf(id)] = &Session{Who: who, Expires: expires, views: map[string]*seen{}}
	return id, expires
}

// earlier is t, or until when that is set and comes first.
func earlier(t, until time.Time) time.Time {
	if !until.IsZero() && until.Before(t) {
		return until
	}
	return t
}

// Find returns the live session of an id, or nil.
func (s *Sessions) Find(id string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.all[keyOf(id)]
	if v == nil || !s.now().Before(v.Expires) {
		return nil
	}
	return v
}

// Close ends the session of an id.
func (s *Sessions) Close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, keyOf(id))
}

// Codes holds the one-time codes and the failures to use one.
type Codes struct {
	now      func() time.Time
	rand     io.Reader
	mu       sync.Mutex
	codes    map[key]code
	failures map[string][]time.Time
}

// Ticket is what a code gives: who is signed in, and until when at most. A zero Until sets no bound.
type Ticket struct {
	Who   agent.Identity
	Until time.Time
}

type code struct {
	Ticket
	expires time.Time
}

// NewCodes returns a store without codes.
func NewCodes(now func() time.Time, rand io.Reader) *Codes {
	return &Codes{now: now, rand: rand, codes: map[key]code{}, failures: map[string][]time.Time{}}
}

// Issue returns a new code for a ticket and how long it can be used.
func (l *Codes) Issue(t Ticket) (s string, usable time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, c := range l.codes {
		if !l.now().Before(c.expires) {
			delete(l.codes, k)
		}
	}
	if len(l.codes) >= maxCodes { // somebody asks for codes without using them: the old ones end
		clear(l.codes)
	}
	now := l.now()
	expires := earlier(now.Add(CodeTTL), t.Until)
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
	if found && now.Before(c.expires) {
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
