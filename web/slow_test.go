package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ostiary"
)

// line is the far end of a console's only connection. It buffers nothing: what is not read is not written.
type line struct {
	*bench
	net.Conn
	t       *testing.T
	answers *bufio.Reader
	closed  chan struct{} // the console has let go of the connection
}

// oneConn is a listener with a single connection.
type oneConn struct {
	conns chan net.Conn
	net.Conn
}

func (l oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l oneConn) Addr() net.Addr { return l.LocalAddr() }

// overLine runs a test on a connection in a bubble of its own, where waiting takes no time.
func overLine(t *testing.T, test func(l *line)) { overLineWith(t, 0, test) }

// overLineWith sets the pause between two signs of life of a stream.
func overLineWith(t *testing.T, beat time.Duration, test func(l *line)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		only := oneConn{make(chan net.Conn, 1), ours}
		only.conns <- ours
		l := &line{bench: &bench{log: &strings.Builder{}, beat: beat}, Conn: theirs, t: t, answers: bufio.NewReader(theirs), closed: make(chan struct{})}
		l.desk = &fakeDesk{now: l.now, watchers: map[chan string]bool{}}
		l.build(t, l.desk, "console.test")
		s := &http.Server{Handler: l.console.Handler(), ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(l.closed)
			}
		}}
		go s.Serve(only)
		defer func() {
			theirs.Close()
			close(only.conns)
			s.Close()
		}()
		test(l)
	})
}

// send sends a request; the headers are whole lines.
func (l *line) send(request, body string, headers ...string) {
	l.t.Helper()
	headers = append([]string{request + " HTTP/1.1", "Host: console.test"}, headers...)
	if _, err := io.WriteString(l.Conn, strings.Join(headers, "\r\n")+"\r\n\r\n"+body); err != nil {
		l.t.Fatal(err)
	}
}

// answer reads the head of an answer, which has a minute to come.
func (l *line) answer() *http.Response {
	l.t.Helper()
	if err := l.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		l.t.Fatal(err)
	}
	res, err := http.ReadResponse(l.answers, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return res
}

// whole reads a whole answer.
func (l *line) whole() (*http.Response, string) {
	l.t.Helper()
	res := l.answer()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return res, string(body)
}

// dropped reports whether the console lets go of the connection by then.
func (l *line) dropped(within time.Duration) bool {
	select {
	case <-l.closed:
		return true
	case <-time.After(within):
		return false
	}
}

const viewerToken = "Authorization: Bearer viewer-token"

func TestABodyThatDoesNotArriveIsNotWaitedForForever(t *testing.T) {
	const media = "Content-Type: application/json"
	overLine(t, func(l *line) {
		l.send("POST /login", `{"code":"guess"}`, media, "Content-Length: 16")
		if res, body := l.whole(); res.StatusCode != 401 {
			t.Errorf("a body that came: %d %s", res.StatusCode, body)
		}
		time.Sleep(time.Hour) // the connection is idle, and that is nobody's fault
		l.send("POST /login", `{`, media, "Content-Length: 10")
		res, body := l.whole()
		if want(t, res, body, 400, ostiary.KindMalformedJSON); !strings.Contains(body, "did not arrive in time") {
			t.Error(body)
		}
		if !l.dropped(time.Minute) {
			t.Error("the connection stays")
		}
	})
	for _, request := range []string{"GET /login", "GET /api/me", "POST /logout", "GET /api/nothing", "GET /api/events"} { // handlers that read no body
		overLine(t, func(l *line) {
			l.send(request, `{`, media, "Content-Length: 10")
			if err := l.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(l.Conn); err != nil {
				t.Errorf("%s: the connection stays: %v", request, err)
			}
		})
	}
}

func TestWhoDoesNotReadIsDropped(t *testing.T) {
	for _, request := range []string{"GET /login", "GET /api/me", "GET /api/reviews", "GET /api/nothing", "GET /api/events"} {
		overLine(t, func(l *line) {
			l.send(request, "", viewerToken)
			if !l.dropped(time.Minute) {
				t.Errorf("%s: the connection stays", request)
			}
			if synctest.Wait(); l.desk.watching() != 0 {
				t.Error("the desk is still being watched")
			}
		})
	}
}

func TestWhoStopsReadingAStreamIsDropped(t *testing.T) {
	for name, event := range map[string]func(*line){
		"at a message": func(*line) {},
		"at its end":   func(l *line) { l.console.Stop() },
	} {
		overLine(t, func(l *line) {
			l.send("GET /api/events", "", viewerToken)
			until(bufio.NewScanner(l.answer().Body), ": hello")
			event(l)
			if !l.dropped(10 * time.Second) {
				t.Errorf("%s: the connection stays", name)
			}
		})
	}
}

func TestAStreamThatWasQuietEndsWellAndLeavesTheConnection(t *testing.T) {
	overLineWith(t, time.Hour, func(l *line) {
		l.send("GET /api/events", "", viewerToken)
		res := l.answer()
		lines := bufio.NewScanner(res.Body)
		until(lines, ": hello")
		time.Sleep(50 * time.Second) // longer than any answer may take
		l.console.Stop()
		if until(lines, "never") != "" || lines.Err() != nil {
			t.Fatalf("the stream did not end cleanly: %v", lines.Err())
		}
		time.Sleep(time.Hour)
		l.send("GET /api/me", "", viewerToken)
		if res, body := l.whole(); res.StatusCode != 200 {
			t.Errorf("the next request: %d %s", res.StatusCode, body)
		}
	})
}

// deafWriter is a connection whose reader takes nothing: what is flushed runs out of time.
type deafWriter struct{ *httptest.ResponseRecorder }

func (deafWriter) SetWriteDeadline(time.Time) error { return nil }
func (deafWriter) FlushError() error                { return os.ErrDeadlineExceeded }

func TestAStreamEndsWhenAMessageWasNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{log: &strings.Builder{}}
		b.desk = &fakeDesk{now: b.now, watchers: map[chan string]bool{}}
		b.build(t, b.desk, "console.test")
		defer b.console.Stop()
		req := httptest.NewRequestWithContext(t.Context(), "GET", "http://console.test/api/events", nil)
		req.Header.Set("Authorization", "Bearer viewer-token")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.console.Handler().ServeHTTP(deafWriter{httptest.NewRecorder()}, req)
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the stream runs on")
		}
	})
}

// timedWriter notes an answer that is begun without a time limit.
type timedWriter struct {
	*httptest.ResponseRecorder
	deadline time.Time
	endless  bool
}

func (w *timedWriter) SetWriteDeadline(t time.Time) error {
	w.deadline = t
	return nil
}

func (w *timedWriter) WriteHeader(status int) {
	w.endless = w.endless || w.deadline.IsZero()
	w.ResponseRecorder.WriteHeader(status)
}

func TestEveryAnswerIsWrittenWithinATime(t *testing.T) {
	b := open(t, makeItem(t, "rev_1", mail, time.Now(), nil))
	for request, status := range map[string]int{
		"GET /login": 200, "GET /": 200, "GET /reviews/rev_1": 200, "GET /assets/icon.svg": 200, "GET /assets/nothing": 404, "POST /login": 401, "POST /logout": 204,
		"GET /api/me": 200, "GET /api/health": 200, "GET /api/reviews": 200, "GET /api/reviews/rev_1": 200, "GET /api/reviews/rev_1/timeline": 200,
		"POST /api/reviews/rev_1/views": 409, "POST /api/login-codes": 403, "POST /api/reviews/rev_1/try": 400, "POST /api/reviews/rev_1/rulings": 400,
		"POST /api/reviews/rev_1/reveal": 400, "POST /api/reviews/rev_1/revoke": 409, "GET /api/nothing": 404, "DELETE /api/reviews": 405, "HEAD /login": 405,
	} {
		method, path, _ := strings.Cut(request, " ")
		req := httptest.NewRequestWithContext(t.Context(), method, b.server.URL+path, strings.NewReader("{}"))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer reviewer-token")
		w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
		b.console.Handler().ServeHTTP(w, req)
		if w.Code != status || w.endless {
			t.Errorf("%s: %d, without a limit: %t: %s", request, w.Code, w.endless, w.Body)
		}
	}
}
