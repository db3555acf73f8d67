package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ostiary/audit"
)

func open(t *testing.T, dir string) *audit.Log {
	t.Helper()
	l, err := audit.Open(audit.Config{Dir: dir, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func shut(t *testing.T, l *audit.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func session(t *testing.T, l *audit.Log, id string) []audit.Event {
	t.Helper()
	events, err := l.Session("t", id)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// Covers: A28
func TestASessionsEventsComeBackInOrderAfterARestart(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	for n := range 10 {
		if err := l.Append(audit.Event{Class: audit.CallDecided, Tenant: "t", Session: fmt.Sprint("s", n%2), Reason: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, l)
	l = open(t, dir)
	defer shut(t, l)
	if err := l.AppendDurable(audit.Event{Class: audit.CallDecided, Tenant: "t", Session: "s1", Reason: "last"}); err != nil {
		t.Fatal(err)
	}
	events := session(t, l, "s1")
	if len(events) != 6 || events[0].Reason != "1" || events[5].Reason != "last" || events[5].Seq != 11 {
		t.Errorf("got %+v", events)
	}
	if other, err := l.Session("another tenant", "s1"); err != nil || len(other) != 0 {
		t.Errorf("another tenant sees %v, %v", other, err)
	}
}

func TestATornLastLineIsCutAndNothingBeforeItIsLost(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	for range 3 {
		if err := l.Append(audit.Event{Class: audit.CallDecided, Tenant: "t", Session: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, l)
	name := filepath.Join(dir, "000001.jsonl")
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, raw[:len(raw)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir)
	defer shut(t, l)
	if got := session(t, l, "s"); len(got) != 2 {
		t.Errorf("%d events, want 2", len(got))
	}
	if err := l.Append(audit.Event{Class: audit.CallDecided, Tenant: "t", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	if got := session(t, l, "s"); len(got) != 3 || got[2].Seq != 3 {
		t.Errorf("got %+v", got)
	}
}

// Covers: B21
func TestADamagedLogIsNotOpened(t *testing.T) {
	for name, damage := range map[string]func(string) string{
		"a line is missing":  func(s string) string { return s[strings.IndexByte(s, '\n')+1:] },
		"a line is doubled":  func(s string) string { return s[:strings.IndexByte(s, '\n')+1] + s },
		"a line is garbage":  func(s string) string { return "x" + s },
		"a key occurs twice": func(s string) string { return `{"seq":1,` + s[1:] },
	} {
		dir := t.TempDir()
		l := open(t, dir)
		for range 3 {
			if err := l.Append(audit.Event{Class: audit.CallDecided}); err != nil {
				t.Fatal(err)
			}
		}
		shut(t, l)
		file := filepath.Join(dir, "000001.jsonl")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(damage(string(raw))), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := audit.Open(audit.Config{Dir: dir, Now: time.Now}); err == nil {
			t.Errorf("%s: opened", name)
			shut(t, l)
		}
	}
}

func TestParallelEventsAreAllKeptOnce(t *testing.T) {
	l := open(t, t.TempDir())
	defer shut(t, l)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for range 25 {
				add := l.Append
				if w%2 == 0 {
					add = l.AppendDurable
				}
				if err := add(audit.Event{Class: audit.CallDecided, Tenant: "t", Session: "s"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	events := session(t, l, "s")
	if len(events) != 200 {
		t.Fatalf("%d events", len(events))
	}
	for n, e := range events {
		if e.Seq != uint64(n+1) || e.ID == "" || e.Time.IsZero() {
			t.Errorf("event %d: %+v", n, e)
		}
	}
}

func TestAClosedLogTakesNothing(t *testing.T) {
	l := open(t, t.TempDir())
	shut(t, l)
	if err := l.Append(audit.Event{Class: audit.CallDecided}); err == nil {
		t.Error("an event was taken")
	}
	if l.Check() == nil {
		t.Error("the check passes")
	}
}

func TestFilesOfTheLogAreTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l := open(t, dir)
	defer shut(t, l)
	for _, name := range []string{dir, filepath.Join(dir, "000001.jsonl")} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l, err := audit.Open(audit.Config{Dir: b.TempDir(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		if err := l.Append(audit.Event{Class: audit.CallDecided, Tenant: "t", Session: "s", Tool: "crm.send", Behavior: "allow"}); err != nil {
			b.Fatal(err)
		}
	}
}
