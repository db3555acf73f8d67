package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"ostiary"
	"ostiary/agent"
	"ostiary/sanitize"
)

// ErrNotFound is returned by a Store that has no such session.
var ErrNotFound = errors.New("session: no such session")

// Store keeps records durably; implementations are safe for concurrent use.
type Store interface {
	// Load returns a record, or ErrNotFound.
	Load(ctx context.Context, tenant, id string) (Record, error)
	// Save stores a record; it is on disk when Save returns.
	Save(ctx context.Context, rec Record) error
	// TaintedElsewhere reports whether a session of the agent was tainted after since in another run than epoch: its provenance index is gone.
	TaintedElsewhere(ctx context.Context, tenant, agent, epoch string, since time.Time) (bool, error)
}

// Config of a Book.
type Config struct {
	Store Store            // required
	Now   func() time.Time // required
	// Epoch names this run of the process; required.
	Epoch string
	// TaintCarry is how long a tainted session's provenance is handed to new sessions of the same agent. Default 1h.
	TaintCarry time.Duration
	// MaxIterations is the iteration after which calls ask. Default 50.
	MaxIterations int
	// MaxSessions is how many sessions are held in memory; past it the longest unused are put away. Default 2000.
	MaxSessions int
	// MaxCalls is the number of calls of one session after which calls ask. Default 1000.
	MaxCalls int
}

// MaxIDLen bounds a session id, in bytes.
const MaxIDLen = 256

// Book holds the sessions of this process. It is safe for concurrent use.
type Book struct {
	cfg  Config
	seed maphash.Seed

	entering singleflight.Group // by key: whatever puts a session into memory runs once at a time

	pins pins

	mu       sync.Mutex
	sessions map[string]*Session
	uses     uint64 // counts entries; a session's own number says how recently it was used
}

// NewBook returns a Book, or an error that names every missing part.
func NewBook(cfg Config) (*Book, error) {
	if cfg.Store == nil || cfg.Now == nil || cfg.Epoch == "" {
		return nil, errors.New("session: Store, Now and Epoch are required")
	}
	if cfg.TaintCarry == 0 {
		cfg.TaintCarry = time.Hour
	}
	if cfg.MaxIterations == 0 {
		cfg.MaxIterations = 50
	}
	if cfg.MaxSessions == 0 {
		cfg.MaxSessions = 2000
	}
	if cfg.MaxCalls == 0 {
		cfg.MaxCalls = 1000
	}
	return &Book{pins: pins{digest: map[string]string{}}, cfg: cfg, seed: maphash.MakeSeed(), sessions: map[string]*Session{}}, nil
}

// Enter returns the caller's session of that id, opening it when it is new. Another agent's session is refused as wrong_session; records
// that cannot be read are taint_unknown.
func (b *Book) Enter(ctx context.Context, who agent.Identity, id, parent string) (*Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if who.Session != "" && who.Session != id {
		return nil, ostiary.Errorf(ostiary.KindWrongSession, "this credential is for another session")
	}
	s := b.remembered(key(who.Tenant, id))
	var p *Session
	var noParent error
	if s == nil && parent != "" {
		p, noParent = b.Peek(ctx, who.Tenant, parent)
	}
	for s == nil { // once more when it joined a Peek that found none
		var err error
		s, err = b.once(key(who.Tenant, id), func() (*Session, error) {
			// Whoever else waits for the session must not go without because this caller leaves.
			return b.loadOrOpen(context.WithoutCancel(ctx), who, id, parent, p, noParent)
		})
		if err != nil {
			return nil, err
		}
	}
	if s.agent != who.Subject {
		return nil, ostiary.Errorf(ostiary.KindWrongSession, "the session belongs to another agent").WithFix("use a session id of your own")
	}
	return s, nil
}

// once runs enter for a key unless it runs already, and returns what came of it; a nil session when there is none.
func (b *Book) once(key string, enter func() (*Session, error)) (*Session, error) {
	v, err, _ := b.entering.Do(key, func() (any, error) {
		if s := b.remembered(key); s != nil {
			return s, nil
		}
		return enter()
	})
	if err != nil {
		return nil, err
	}
	return v.(*Session), nil //nolint:forcetypeassert // nothing else is returned
}

func (b *Book) loadOrOpen(ctx context.Context, who agent.Identity, id, parent string, p *Session, noParent error) (*Session, error) {
	s, err := b.load(ctx, who.Tenant, id)
	if err != nil {
		return nil, ostiary.Wrap(ostiary.KindTaintUnknown, err, "what this session has touched cannot be read")
	}
	if s != nil {
		return s, nil
	}
	if noParent != nil {
		return nil, ostiary.Wrap(ostiary.KindTaintUnknown, fmt.Errorf("parent session: %w", noParent), "the parent session is not known")
	}
	return b.open(ctx, who, id, parent, p)
}

// key is a session's name in memory.
func key(tenant, id string) string { return tenant + "\x00" + id }

// remembered returns a session that is in memory, or nil.
func (b *Book) remembered(key string) *Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[key]
	if s != nil {
		b.uses++
		s.used = b.uses
	}
	return s
}

// keep puts a session into memory.
func (b *Book) keep(ctx context.Context, s *Session) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.makeRoom(ctx); err != nil {
		return err
	}
	b.uses++
	s.used = b.uses
	b.sessions[key(s.tenant, s.rec.ID)] = s
	return nil
}

// Peek returns a session without opening one; ErrNotFound when there is none.
func (b *Book) Peek(ctx context.Context, tenant, id string) (*Session, error) {
	if s := b.remembered(key(tenant, id)); s != nil {
		return s, nil
	}
	s, err := b.once(key(tenant, id), func() (*Session, error) { return b.load(context.WithoutCancel(ctx), tenant, id) })
	if err == nil && s == nil {
		err = ErrNotFound
	}
	return s, err
}

func checkID(id string) error {
	if id == "" {
		return &ostiary.Error{Kind: ostiary.KindMissingField, Pointer: "/session_id", Msg: "session_id is missing"}
	}
	if len(id) > MaxIDLen || strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/session_id", Msg: "session_id is longer than 256 bytes or holds control characters"}
	}
	return nil
}

// load brings a session from the store into memory; nil when there is none.
func (b *Book) load(ctx context.Context, tenant, id string) (*Session, error) {
	rec, err := b.cfg.Store.Load(ctx, tenant, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lost := rec.Epoch != b.cfg.Epoch && rec.indexed()
	if !lost {
		rec.Epoch = b.cfg.Epoch // nothing was lost with the other run
	}
	s := b.session(rec)
	// Its provenance index went with the process that held it.
	s.carried = lost
	return s, b.keep(ctx, s)
}

// makeRoom puts away the tenth of the sessions that was unused longest, once the book is full; callers hold mu. A tainted one loses its
// provenance index with that, so its record is marked as another run's: it comes back as carried.
func (b *Book) makeRoom(ctx context.Context) error {
	if len(b.sessions) < b.cfg.MaxSessions {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(b.sessions), func(x, y string) int { return cmp.Compare(b.sessions[x].used, b.sessions[y].used) })
	for _, k := range keys[:len(keys)/10+1] {
		if err := b.sessions[k].putAway(ctx); err != nil {
			return err
		}
		delete(b.sessions, k)
	}
	return nil
}

func (b *Book) session(rec Record) *Session {
	return &Session{book: b, tenant: rec.Tenant, agent: rec.Agent, rec: rec, scope: sanitize.NewScope(), untrusted: []*index{newIndex()}, endorsed: map[uint64]bool{}}
}

// open starts a session: what its parent touched is inherited whole, what other recent sessions of the agent touched only as provenance.
func (b *Book) open(ctx context.Context, who agent.Identity, id, parent string, p *Session) (*Session, error) {
	s := b.session(Record{Tenant: who.Tenant, ID: id, Agent: who.Subject, Parent: parent, Epoch: b.cfg.Epoch})
	if p != nil {
		if err := s.inherit(p); err != nil {
			return nil, err
		}
	}
	if err := b.inheritRecent(ctx, s); err != nil {
		return nil, ostiary.Wrap(ostiary.KindTaintUnknown, err, "what this agent has touched cannot be read")
	}
	if err := b.cfg.Store.Save(ctx, s.rec); err != nil {
		return nil, ostiary.Wrap(ostiary.KindTaintUnknown, err, "the session cannot be stored")
	}
	if err := b.keep(ctx, s); err != nil {
		return nil, ostiary.Wrap(ostiary.KindTaintUnknown, err, "the session cannot be stored")
	}
	return s, nil
}

func (s *Session) inherit(p *Session) error {
	if p.agent != s.agent {
		return ostiary.Errorf(ostiary.KindWrongSession, "the parent session belongs to another agent")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.rec.Labels, s.rec.TaintedAt, s.rec.Inherited, s.carried = slices.Clone(p.rec.Labels), p.rec.TaintedAt, p.rec.Inherited, p.carried
	s.untrusted = append(s.untrusted, p.untrusted...)
	return nil
}

// inherited bounds how many other sessions' indexes one session looks into: the most recently tainted ones.
const inherited = 8

// inheritRecent hands on the indexes of the agent's sessions that were tainted within TaintCarry, so that changing the id sheds nothing.
func (b *Book) inheritRecent(ctx context.Context, s *Session) error {
	since := b.cfg.Now().Add(-b.cfg.TaintCarry)
	recent := b.recentlyTainted(s, since)
	for _, t := range recent[:min(len(recent), inherited)] {
		s.untrusted = append(s.untrusted, t.index)
	}
	s.rec.Inherited = s.rec.Inherited || len(recent) > 0
	lost, err := b.cfg.Store.TaintedElsewhere(ctx, s.tenant, s.agent, b.cfg.Epoch, since)
	s.carried = s.carried || lost
	s.rec.Inherited = s.rec.Inherited || lost
	return err
}

type tainted struct {
	at    time.Time
	index *index
}

// recentlyTainted lists the agent's other sessions in memory, the newest taint first.
func (b *Book) recentlyTainted(s *Session, since time.Time) []tainted {
	var out []tainted
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, other := range b.sessions {
		if other.tenant != s.tenant || other.agent != s.agent {
			continue
		}
		other.mu.Lock()
		if other.rec.TaintedAt.After(since) && !other.carried {
			out = append(out, tainted{other.rec.TaintedAt, other.untrusted[0]})
		}
		other.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b tainted) int { return b.at.Compare(a.at) })
	return out
}
