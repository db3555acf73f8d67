package web_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ostiary/queue"
	"ostiary/web"
)

// stream opens the event stream and returns its lines.
func (b *bench) stream(t *testing.T, ctx context.Context, headers ...string) *bufio.Scanner {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", b.server.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	return bufio.NewScanner(res.Body)
}

// until reads lines up to one that starts with prefix; it returns "" when the stream ends before.
func until(lines *bufio.Scanner, prefix string) string {
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), prefix) {
			return lines.Text()
		}
	}
	return ""
}

func TestStreamTellsOnlyItsTenant(t *testing.T) {
	b := open(t)
	lines := b.stream(t, t.Context(), bearer("viewer")...)
	until(lines, ": hello")
	b.desk.add(makeItem(t, "rev_other", mail, b.now(), func(it *queue.Item) { it.Tenant = "globex" }))
	b.desk.add(makeItem(t, "rev_mine", mail, b.now(), nil))
	if got := until(lines, "data:"); got != `data: {"id":"rev_mine","state":"open","version":1}` {
		t.Error(got)
	}
}

func TestStreamEndsWithItsLogin(t *testing.T) {
	b := open(t)
	cookie := b.signIn(t)
	lines := b.stream(t, t.Context(), "Cookie", cookie)
	until(lines, ": hello")
	b.call(t, "POST", "/logout", "{}", "Cookie", cookie)
	if until(lines, "never") != "" || lines.Err() != nil {
		t.Error("the stream did not end cleanly")
	}
}

func TestStopEndsStreamsAndLeavesNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := open(t)
	lines := b.stream(t, t.Context(), bearer("viewer")...)
	until(lines, ": hello")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := b.server.Config.Shutdown(ctx); err != nil {
		t.Fatalf("shutdown hangs on a stream: %v", err)
	}
	b.console.Stop()
	if until(lines, "never") != "" || b.desk.watching() != 0 {
		t.Error("the desk is still being watched")
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestHealthIsAsBadAsItsWorstCheck(t *testing.T) {
	b := open(t)
	for _, c := range []struct{ a, b, want string }{{"ok", "ok", "ok"}, {"ok", "degraded", "degraded"}, {"failed", "degraded", "failed"}} {
		b.desk.checks = []web.Check{{Name: "a", Status: c.a}, {Name: "b", Status: c.b}}
		if _, body := b.call(t, "GET", "/api/health", "", bearer("viewer")...); !strings.HasPrefix(body, `{"status":"`+c.want+`"`) {
			t.Error(body)
		}
	}
}

func FuzzRuling(f *testing.F) {
	b := open(f)
	it := makeItem(f, "rev_1", mail, b.now(), nil)
	b.desk.add(it)
	for _, s := range []string{`{}`, ruling(it, `"kind":"approve"`), `{"kind":"edit","edited_input":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if bytes.Contains(raw, []byte(it.ViewDigest)) {
			t.Skip() // an honest approval
		}
		b.call(t, "POST", "/api/reviews/rev_1/rulings", string(raw)+" ", bearer("reviewer")...)
		if b.desk.state("rev_1") == queue.Approved {
			t.Fatalf("approved without the view digest: %s", raw)
		}
	})
}
