package login_test

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"ostiary/agent"
	"ostiary/web/login"
)

func TestViewsAddUpOnlyForOneVersionAndView(t *testing.T) {
	s := login.NewSessions(time.Now, rand.Reader, time.Hour)
	id, _ := s.Open(login.Ticket{Who: agent.Identity{Subject: "rita"}}, "")
	one := s.Find(id)
	one.Show("rev", 1, "d", []string{"/a"})
	one.Show("rev", 1, "d", []string{"/b"})
	if missing, shown := one.Missing("rev", 1, "d", []string{"/a", "/b", "/c"}); !shown || !slices.Equal(missing, []string{"/c"}) {
		t.Error(missing, shown)
	}
	for _, other := range []struct {
		version int64
		digest  string
	}{{2, "d"}, {1, "e"}} {
		if missing, shown := one.Missing("rev", other.version, other.digest, []string{"/a"}); shown || len(missing) != 1 {
			t.Errorf("version %d, view %s counts as shown", other.version, other.digest)
		}
	}
}

func TestSessionsStayBounded(t *testing.T) {
	s := login.NewSessions(time.Now, rand.Reader, time.Hour)
	first, _ := s.Open(login.Ticket{Who: agent.Identity{Subject: "first"}}, "")
	last := ""
	for range 1000 {
		last, _ = s.Open(login.Ticket{Who: agent.Identity{Subject: "more"}}, "")
	}
	if s.Find(first) != nil || s.Find(last) == nil {
		t.Error("the oldest session must end, the newest must live")
	}
}

func TestFailuresOfOneAddressDoNotLockOutAnother(t *testing.T) {
	c := login.NewCodes(time.Now, rand.Reader)
	for range 6 {
		c.Redeem("10.0.0.1", "guess")
	}
	code, _ := c.Issue(login.Ticket{Who: agent.Identity{Subject: "rita"}})
	if _, ok, throttled := c.Redeem("10.0.0.1", code); ok || !throttled {
		t.Error("the guesser is not throttled")
	}
	if got, ok, _ := c.Redeem("10.0.0.2", code); !ok || got.Who.Subject != "rita" {
		t.Error("a throttled try used up the code")
	}
}

func TestAnEvictedLoginTakesWithItWhatItMade(t *testing.T) {
	now := time.Now()
	s := login.NewSessions(func() time.Time { now = now.Add(time.Millisecond); return now }, rand.Reader, time.Hour)
	id, _ := s.Open(login.Ticket{Who: agent.Identity{Subject: "first"}}, "")
	first := s.Find(id)
	codes := login.NewCodes(time.Now, rand.Reader)
	code, _ := codes.Issue(login.Ticket{Who: first.Who, From: first})
	below, _ := s.Open(login.Ticket{Who: first.Who, From: first}, "")
	for range 1000 {
		s.Open(login.Ticket{Who: agent.Identity{Subject: "more"}}, "")
	}
	if s.Find(below) != nil {
		t.Error("it lives on")
	}
	if _, ok, _ := codes.Redeem("10.0.0.1", code); ok {
		t.Error("its code can still be used")
	}
	late, _ := s.Open(login.Ticket{Who: first.Who, From: first}, "") // its code was used just before
	if s.Find(late) != nil {
		t.Error("a login was made from one that had ended")
	}
}
