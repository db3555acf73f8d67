package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/enforce/wire"
	"ostiary/internal/strictjson"
)

// Limits of a body, in bytes (wire.md §1).
const (
	maxBody   = 1 << 20
	maxResult = 8 << 20
)

// bodyWindow is how long a body may take to arrive. A local client needs milliseconds.
const bodyWindow = 30 * time.Second

// firstRoom is what a body gets at once, in bytes, on its sender's word alone.
const firstRoom = 64 << 10

// writeWindow is how long a reader may be stuck before it is dropped.
const writeWindow = 10 * time.Second

// limits gives the body its time, which also ends the wait of net/http for what a handler left unread, and takes away what the last answer
// on this connection left of its own.
func limits(c *gin.Context) {
	if c.Request.ContentLength != 0 {
		setReadDeadline(c, time.Now().Add(bodyWindow)) // a connection's deadline is wall time
	}
	setWriteDeadline(c, time.Time{})
}

// Deadlines do nothing where there is no connection, as in a test's recorder.
func setReadDeadline(c *gin.Context, t time.Time) {
	_ = http.NewResponseController(c.Writer).SetReadDeadline(t)
}

func setWriteDeadline(c *gin.Context, t time.Time) {
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(t)
}

// write writes a whole answer.
func write(c *gin.Context, status int, media string, body []byte) {
	setWriteDeadline(c, time.Now().Add(writeWindow))
	c.Data(status, media, body)
}

// read reads the whole body within the limit; its Content-Type must be application/json. What follows may then take its time.
func read(c *gin.Context, limit int64) ([]byte, error) {
	media, _, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, ostiary.Errorf(ostiary.KindUnsupportedMedia, "Content-Type must be application/json")
	}
	body, err := readAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit), min(c.Request.ContentLength, firstRoom))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, ostiary.Wrap(ostiary.KindTooLarge, err, "the body is larger than allowed")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ostiary.Wrap(ostiary.KindMalformedJSON, err, "the body did not arrive in time")
	case err != nil:
		return nil, ostiary.Wrap(ostiary.KindMalformedJSON, err, "the body could not be read")
	}
	setReadDeadline(c, time.Time{})
	return body, nil
}

// readAll reads a body of about size bytes.
func readAll(r io.Reader, size int64) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(max(size, 0)) + bytes.MinRead)
	_, err := body.ReadFrom(r)
	return body.Bytes(), err
}

// decode reads a strict JSON body into v.
func decode(c *gin.Context, limit int64, v any) error {
	body, err := read(c, limit)
	if err != nil {
		return err
	}
	return strictjson.Decode(body, v)
}

// send writes an answer. Strings that came as raw JSON keep their escapes.
func (s *Server) send(c *gin.Context, status int, v any) {
	body, err := json.Marshal(v, jsontext.PreserveRawStrings(true), json.FormatNilSliceAsNull(false))
	if err != nil {
		s.fail(c, err)
		return
	}
	write(c, status, "application/json", body)
}

// answer writes v, or the problem when err is set.
func (s *Server) answer(c *gin.Context, v any, err error) {
	if err != nil {
		s.fail(c, err)
		return
	}
	s.send(c, http.StatusOK, v)
}

// fail writes the problem document of an error and logs its cause. Nothing else writes errors.
func (s *Server) fail(c *gin.Context, err error) {
	id := c.GetString(requestKey)
	p := wire.ProblemOf(err, id)
	if p.Status >= http.StatusInternalServerError && c.Request.Context().Err() == nil { // nobody is served who has left
		s.cfg.Log.Error("request failed", "request_id", id, "kind", p.Kind, "cause", err)
	}
	switch ostiary.Kind(p.Kind) {
	case ostiary.KindShuttingDown:
		c.Header("Retry-After", "2")
	case ostiary.KindUnauthorized:
		c.Header("WWW-Authenticate", `Bearer realm="ostiary"`)
	}
	body, marshalErr := json.Marshal(p)
	if marshalErr != nil {
		c.AbortWithStatus(http.StatusInternalServerError)
		return
	}
	c.Abort()
	write(c, p.Status, "application/problem+json", body)
}
