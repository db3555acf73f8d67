package httpapi

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
)

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

// serveOne answers one connection: POST with what read says of the body, GET with a stream that runs until send says that nobody reads it.
func serveOne(t *testing.T) (client net.Conn, dropped <-chan struct{}, stop func()) {
	t.Helper()
	ours, client := net.Pipe()
	l := oneConn{make(chan net.Conn, 1), ours}
	l.conns <- ours
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(limits)
	engine.POST("/", func(c *gin.Context) {
		body, err := read(c, 10)
		if err != nil {
			c.String(http.StatusBadRequest, "%s", err)
			return
		}
		write(c, http.StatusOK, "text/plain", body)
	})
	left := make(chan struct{})
	engine.GET("/", func(c *gin.Context) {
		defer close(left)
		for out := (stream{c}); out.send("more\n"); {
		}
	})
	s := &http.Server{Handler: engine}
	go s.Serve(l)
	return client, left, func() {
		client.Close()
		close(l.conns)
		s.Close()
	}
}

func TestABodyThatDoesNotArriveIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, stop := serveOne(t)
		defer stop()
		answers := bufio.NewReader(client)
		answer := func() string {
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n"
		send := func(text string) {
			if _, err := io.WriteString(client, text); err != nil {
				t.Fatal(err)
			}
		}
		send(head + "whol")
		if got := answer(); got != "whol" {
			t.Errorf("a body that came: %q", got)
		}
		time.Sleep(time.Hour)
		send(head + "ha") // the connection was idle in between, and that is no one's fault
		if got, want := answer(), "malformed_json: the body did not arrive in time"; !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestAReaderWhoIsStuckIsDropped(t *testing.T) {
	for name, request := range map[string]string{
		"of an answer": "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nbody",
		"of a stream":  "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, dropped, stop := serveOne(t)
				defer stop()
				if _, err := io.WriteString(client, request); err != nil {
					t.Fatal(err)
				}
				time.Sleep(writeWindow + time.Second)
				if got, err := io.ReadAll(client); len(got) > 0 || err != nil {
					t.Errorf("the connection is open: %q, %v", got, err)
				}
				if name == "of a stream" {
					<-dropped
				}
			})
		})
	}
}
