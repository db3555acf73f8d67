package web

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// How long the other end of a connection may take. net/http clears both deadlines before the connection's next request.
const (
	bodyWindow   = 30 * time.Second // for a whole body to arrive
	answerWindow = 30 * time.Second // for a whole answer to be taken
	streamWindow = 5 * time.Second  // for one message of a stream to be taken
)

// connection controls the connection of a request. It goes around gin's writer, whose Flush says nothing of a write that failed.
func connection(g *gin.Context) *http.ResponseController {
	var w http.ResponseWriter = g.Writer
	if gins, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		w = gins.Unwrap()
	}
	return http.NewResponseController(w)
}

// limitBody gives the body its time, signed in or not. It ends also the wait of net/http for what a handler left unread.
func limitBody(g *gin.Context) {
	if g.Request.ContentLength != 0 {
		setReadDeadline(g, time.Now().Add(bodyWindow))
	}
}

// A connection's deadlines are wall time, whatever the console's clock says. A writer without a connection, such as a test's recorder, has
// none.

func setReadDeadline(g *gin.Context, t time.Time) { _ = connection(g).SetReadDeadline(t) }

func setWriteDeadline(g *gin.Context, t time.Time) { _ = connection(g).SetWriteDeadline(t) }

// put writes a whole answer; without a body when that is nil. Nothing but it and [stream] writes, so nobody holds us by not reading.
func put(g *gin.Context, status int, mediaType string, body []byte) {
	setWriteDeadline(g, time.Now().Add(answerWindow))
	if body == nil {
		g.Status(status)
		g.Writer.WriteHeaderNow()
		return
	}
	g.Data(status, mediaType, body)
}

// stream writes an answer that has no end of its own, message by message.
type stream struct{ g *gin.Context }

// send reports whether a message was taken in time. The pause after it is nobody's fault, and has no deadline.
func (s stream) send(message []byte) bool {
	setWriteDeadline(s.g, time.Now().Add(streamWindow))
	if _, err := s.g.Writer.Write(message); err != nil {
		return false
	}
	if err := connection(s.g).Flush(); err != nil {
		return false
	}
	setWriteDeadline(s.g, time.Time{})
	return true
}

// end gives the end of the stream its time: net/http writes it after the handler.
func (s stream) end() { setWriteDeadline(s.g, time.Now().Add(streamWindow)) }
