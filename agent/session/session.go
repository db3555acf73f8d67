package session

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"ostiary/decision"
	"ostiary/internal/strictjson"
	"ostiary/sanitize"
	"ostiary/tool"
)

// Record is what outlives the process. Labels are stored before the answer that gave them is sent.
type Record struct {
	Tenant    string
	ID        string
	Agent     string
	Parent    string
	Labels    []tool.Label
	TaintedAt time.Time // zero while untainted
	Epoch     string    // the process that wrote it: another epoch's provenance index is gone
	Inherited bool      // it looked into other sessions' indexes too
}

// indexed reports whether the session had a provenance index worth missing.
func (r Record) indexed() bool { return r.Inherited || slices.Contains(r.Labels, tool.LabelUntrusted) }

// Session is one run of one agent. It is safe for concurrent use.
type Session struct {
	book   *Book
	tenant string
	agent  string
	scope  *sanitize.Scope
	used   uint64 // guarded by book.mu

	mu        sync.Mutex
	rec       Record
	carried   bool
	user      *index
	untrusted []*index // the session's own first, then inherited ones
	endorsed  map[uint64]bool
	calls     int
	streak    int
}

// putAway stores what must be known when the session comes back without its provenance index.
func (s *Session) putAway(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.rec.indexed() {
		return nil
	}
	s.rec.Epoch = ""
	return s.book.cfg.Store.Save(ctx, s.rec)
}

// Facts returns what policy sees of the session.
func (s *Session) Facts(iteration int) decision.SessionFacts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return decision.SessionFacts{
		Labels:        slices.Clone(s.rec.Labels),
		Tainted:       slices.Contains(s.rec.Labels, tool.LabelUntrusted),
		ErrorStreak:   s.streak,
		IterationOver: iteration > s.book.cfg.MaxIterations,
		OverBudget:    s.calls > s.book.cfg.MaxCalls,
		Carried:       s.carried,
	}
}

// Labels returns the session's labels.
func (s *Session) Labels() []tool.Label {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rec.Labels)
}

// Agent returns the subject that the session belongs to.
func (s *Session) Agent() string { return s.agent }

// Scope numbers the placeholders of this session, so that one value has one placeholder throughout.
func (s *Session) Scope() *sanitize.Scope { return s.scope }

// CountCall counts one decided call against the budget.
func (s *Session) CountCall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
}

// Say takes in the user's own words. Spans (byte ranges) that the user pasted from elsewhere count as untrusted instead.
func (s *Session) Say(ctx context.Context, text string, untrusted [][2]int) error {
	own, pasted := split(text, untrusted)
	s.mu.Lock()
	if s.user == nil {
		s.user = newIndex()
	}
	s.user.add(own, "user")
	s.mu.Unlock()
	for _, p := range pasted {
		if err := s.Learn(ctx, p, "user's paste", []tool.Label{tool.LabelUntrusted}); err != nil {
			return err
		}
	}
	return nil
}

// split cuts text into what is outside the spans, joined by line breaks, and what is inside. Spans out of range are cut to fit.
func split(text string, spans [][2]int) (own string, inside []string) {
	at := 0
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	for _, sp := range spans {
		start, end := max(at, min(sp[0], len(text))), min(sp[1], len(text))
		if start >= end {
			continue
		}
		own += text[at:start] + "\n"
		inside = append(inside, text[start:end])
		at = end
	}
	return own + text[at:], inside
}

// Learn takes in a result: its labels join the session's, durably, and when untrusted its text feeds the provenance index.
func (s *Session) Learn(ctx context.Context, text, source string, labels []tool.Label) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(labels, tool.LabelUntrusted) {
		s.untrusted[0].add(text, source)
	}
	joined := tool.Join(s.rec.Labels, labels)
	if slices.Equal(joined, s.rec.Labels) && !s.staleTaint() {
		return nil
	}
	rec := s.rec
	rec.Labels = joined
	if slices.Contains(joined, tool.LabelUntrusted) {
		rec.TaintedAt = s.book.cfg.Now().UTC()
	}
	if err := s.book.cfg.Store.Save(ctx, rec); err != nil {
		return err
	}
	s.rec = rec
	return nil
}

// staleTaint reports that the stored time of the taint is too old to tell a later session of it.
func (s *Session) staleTaint() bool {
	return !s.rec.TaintedAt.IsZero() && s.book.cfg.Now().Sub(s.rec.TaintedAt) > s.book.cfg.TaintCarry/4
}

// Outcome counts how a call ended, for the error streak.
func (s *Session) Outcome(failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !failed {
		s.streak = 0
		return
	}
	s.streak++
}

// KnowsRequest reports whether the user's words are known.
func (s *Session) KnowsRequest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user != nil
}

// Trace says of every string and number in the arguments where it came from. roles gives the role of a place.
func (s *Session) Trace(leaves []strictjson.Leaf, toolName string, roles func(pointer string) tool.Role) []decision.ArgOrigin {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]decision.ArgOrigin, 0, len(leaves))
	for _, leaf := range leaves {
		if leaf.Kind != '"' && leaf.Kind != '0' || leaf.Text == "" {
			continue
		}
		role := roles(leaf.Pointer)
		origin, source := s.origin(leaf.Text)
		if origin == decision.OriginUntrusted && s.endorsed[s.book.endorsement(leaf.Text, role, toolName)] {
			origin = decision.OriginEndorsed
		}
		out = append(out, decision.ArgOrigin{Pointer: leaf.Pointer, Role: string(role), Origin: origin, Source: source})
	}
	return out
}

// origin is "user" only when the user's words hold the value, and "untrusted" when an untrusted text holds it, or a telling part of it.
func (s *Session) origin(value string) (decision.Origin, string) {
	if s.user == nil && len(s.untrusted) == 0 {
		return decision.OriginModel, ""
	}
	n := normalise(value)
	if s.user != nil && n != "" && s.user.holds(n) {
		return decision.OriginUser, ""
	}
	for _, x := range s.untrusted {
		if source, found := s.seenIn(x, n); found {
			return decision.OriginUntrusted, source
		}
	}
	return decision.OriginModel, ""
}

func (s *Session) seenIn(x *index, n string) (string, bool) {
	for _, a := range atoms(n) {
		if src, ok := x.source(a); ok && !s.userSaid(a) {
			return src, true
		}
	}
	matches := 0
	for _, sh := range shingles(n) {
		if src, ok := x.source(sh); ok && !s.userSaid(sh) {
			if matches++; matches >= shinglesMatch {
				return src, true
			}
		}
	}
	if utf8.RuneCountInString(n) >= minValue && x.holds(n) {
		return "", true
	}
	return "", x.overflowed()
}

func (s *Session) userSaid(fragment string) bool {
	return s.user != nil && s.user.holds(fragment)
}

// Endorse marks values that a reviewer approved: for this session, that role and that tool they no longer count as untrusted.
func (s *Session) Endorse(leaves []strictjson.Leaf, toolName string, origins []decision.ArgOrigin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range origins {
		if o.Origin != decision.OriginUntrusted {
			continue
		}
		for _, leaf := range leaves {
			if leaf.Pointer == o.Pointer {
				s.endorsed[s.book.endorsement(leaf.Text, tool.Role(o.Role), toolName)] = true
			}
		}
	}
}

// endorsement is the key of one endorsed value; hashed, so that no value is kept for it.
func (b *Book) endorsement(value string, role tool.Role, toolName string) uint64 {
	return maphash.String(b.seed, normalise(value)+"\x00"+string(role)+"\x00"+toolName)
}
