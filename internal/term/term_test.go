package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestNothingThatWasReadMovesTheCursor(t *testing.T) {
	var b bytes.Buffer
	o := New(&b)
	o.Line("%s %s %d", "a\x1b[31mb\u202ec\nd\u009bx", o.Red("e\x1b]0;f\a"), 7)
	if got, want := b.String(), "a\\u{1b}[31mb\\u{202e}c\\u{a}d\\u{9b}x e\\u{1b}]0;f\\u{7} 7\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if o.color = true; string(o.Red("é\x1b")) != "\x1b[31mé\\u{1b}\x1b[0m" {
		t.Errorf("%q", o.Red("é\x1b"))
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if New(f).color || New(&bytes.Buffer{}).color {
		t.Error("a file got colours")
	}
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this machine gives out no terminals, and nothing else is one:", err)
	}
	defer tty.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !New(tty).color {
		t.Error("a terminal got no colours")
	}
	if t.Setenv("NO_COLOR", "1"); New(tty).color {
		t.Error("NO_COLOR was not heard")
	}
}

func TestProgressIsToldAfterASecond(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(&b, "replaying", func() time.Time { return now })
	p.At(1, 10)
	if b.Len() > 0 {
		t.Errorf("told at once: %q", b.String())
	}
	now = now.Add(time.Second)
	p.At(5, 10)
	p.At(6, 10)
	p.End()
	if got := b.String(); strings.Count(got, "replaying") != 1 || !strings.Contains(got, "5 of 10, 1s") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("%q", got)
	}
	NewProgress(&b, "x").At(1, 1) // no terminal, no progress
}
