package httpapi

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"ostiary"
)

// Bounds of the answers that are kept for repeats of a keyed request; past them the oldest are forgotten first.
const (
	maxKey      = 255 // bytes of one key
	maxAnswers  = 10_000
	answerBytes = 64 << 20
	answerLife  = 24 * time.Hour
)

// volatileKey marks an answer that tells of a failure on our side: a repeat of the request is tried anew.
const volatileKey = "volatile"

// idempotent answers a repeated Idempotency-Key (draft-ietf-httpapi-idempotency-key-header) with the first answer, and refuses a key that
// comes with another body. A repeat that arrives while the first request is under way waits for it.
func (s *Server) idempotent(limit int64) gin.HandlerFunc {
	return func(c *gin.Context) {
		sent := c.Request.Header.Values("Idempotency-Key")
		if len(sent) == 0 {
			c.Next()
			return
		}
		key, ok := readKey(sent)
		if !ok {
			s.fail(c, ostiary.Errorf(ostiary.KindInvalidField, `Idempotency-Key must be one quoted string of 1 to %d printable characters, such as "7f3a"`, maxKey))
			return
		}
		body, err := read(c, limit)
		if err != nil {
			s.fail(c, err)
			return
		}
		c.Request.Body = io.NopCloser(bytes.NewReader(body))
		caller := who(c)
		key = strings.Join([]string{caller.Tenant, caller.Subject, caller.Session, c.FullPath(), key}, "\x00")
		s.once(c, key, sha256.Sum256(body))
	}
}

// readKey reads the header as a structured field string (RFC 9651, §3.3.3).
func readKey(sent []string) (string, bool) {
	text, opened := strings.CutPrefix(strings.Trim(sent[0], " "), `"`)
	text, closed := strings.CutSuffix(text, `"`)
	if len(sent) != 1 || !opened || !closed || text == "" || len(text) > maxKey {
		return "", false
	}
	var key strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\') {
			i++
			c = text[i]
		} else if c == '"' || c == '\\' || c < 0x20 || c > 0x7e {
			return "", false
		}
		key.WriteByte(c)
	}
	return key.String(), true
}

// once runs the request, or answers it as the first one of its key was answered.
func (s *Server) once(c *gin.Context, key string, body [sha256.Size]byte) {
	for {
		k, first := s.answers.claim(key, body, s.cfg.Now())
		if first {
			s.keep(c, key, k)
			return
		}
		if k.body != body {
			s.fail(c, ostiary.Errorf(ostiary.KindIdempotency, "this Idempotency-Key was sent with another body").WithFix("use a new key for every request"))
			return
		}
		select {
		case <-k.done:
		case <-s.draining:
			s.fail(c, shuttingDown())
			return
		case <-c.Request.Context().Done():
			s.fail(c, ostiary.Errorf(ostiary.KindConflict, "a request with this Idempotency-Key is under way"))
			return
		}
		if k.answer != nil {
			c.Abort()
			write(c, k.answer.status, k.answer.media, k.answer.body)
			return
		}
		// The first request failed on our side, so this one may try.
	}
}

// keep runs the request and keeps its answer. Whatever happens, who waits for it is released.
func (s *Server) keep(c *gin.Context, key string, k *keyed) {
	tee := &teeWriter{ResponseWriter: c.Writer}
	var settled *kept
	defer func() { s.answers.settle(key, k, settled) }()
	c.Writer = tee
	c.Next()
	if status := tee.Status(); status < http.StatusInternalServerError && !c.GetBool(volatileKey) {
		settled = &kept{status: status, media: tee.Header().Get("Content-Type"), body: tee.body.Bytes()}
	}
}

// teeWriter keeps what it writes.
type teeWriter struct {
	gin.ResponseWriter
	body bytes.Buffer
}

// Unwrap lets an http.ResponseController reach the connection.
func (w *teeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *teeWriter) Write(p []byte) (int, error) {
	w.body.Write(p)
	return w.ResponseWriter.Write(p)
}

func (w *teeWriter) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

// kept is an answer as it was sent.
type kept struct {
	status int
	media  string
	body   []byte
}

// keyed is one request with a key; answer is set before done is closed, and stays nil when there is none to repeat.
type keyed struct {
	body   [sha256.Size]byte
	at     time.Time
	done   chan struct{}
	answer *kept
}

// answers remembers keyed requests. It is safe for concurrent use.
type answers struct {
	mu    sync.Mutex
	known map[string]*keyed
	order []string // keys with an answer, the oldest first
	bytes int
}

func newAnswers() *answers { return &answers{known: map[string]*keyed{}} }

// claim returns the request of a key, and true when it is the caller's to run.
func (a *answers) claim(key string, body [sha256.Size]byte, now time.Time) (*keyed, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.order) > 0 && now.Sub(a.known[a.order[0]].at) > answerLife {
		a.forget()
	}
	if k := a.known[key]; k != nil {
		return k, false
	}
	k := &keyed{body: body, at: now, done: make(chan struct{})}
	a.known[key] = k
	return k, true
}

// settle keeps an answer, or with nil gives the key free.
func (a *answers) settle(key string, k *keyed, answer *kept) {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer close(k.done)
	if answer == nil {
		delete(a.known, key)
		return
	}
	k.answer = answer
	a.order = append(a.order, key)
	a.bytes += len(answer.body)
	for len(a.order) > maxAnswers || a.bytes > answerBytes && len(a.order) > 1 {
		a.forget()
	}
}

// forget drops the oldest answer; callers hold mu.
func (a *answers) forget() {
	key := a.order[0]
	a.order = a.order[1:]
	a.bytes -= len(a.known[key].answer.body)
	delete(a.known, key)
}
