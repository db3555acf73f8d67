package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/decision"
	"ostiary/enforce/wire"
)

// keepAlive is how often a silent stream sends a comment, so that nothing between us and the client gives up.
const keepAlive = 15 * time.Second

// reviewEvents streams the review's document: now, and once more when it is ruled on. The event id is the state, so a client that comes
// back with the state it has seen gets only what is new.
func (s *Server) reviewEvents(c *gin.Context) {
	ctx, cancel := s.untilDraining(c.Request.Context())
	defer cancel()
	seen := c.GetHeader("Last-Event-ID")
	d, err := s.cfg.Enforcer.Review(ctx, who(c), c.Param("id"), 0)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Header("Content-Type", "text/event-stream")
	c.Status(http.StatusOK)
	out := stream{c}
	c.Writer.WriteHeaderNow()
	for ok := out.send(""); ok; { // the client knows that it is heard, even when there is nothing new
		if d.Review.State != seen {
			if !out.event(d) {
				return
			}
			seen = d.Review.State
		}
		if d.Behavior != decision.Ask.String() || ctx.Err() != nil {
			return
		}
		if d, err = s.cfg.Enforcer.Review(ctx, who(c), c.Param("id"), keepAlive); err != nil {
			return
		}
		ok = out.send(": waiting\n\n")
	}
}

// stream writes events to one client.
type stream struct{ c *gin.Context }

// send reports whether the client took it in time.
func (s stream) send(text string) bool {
	setWriteDeadline(s.c, time.Now().Add(writeWindow))
	if _, err := io.WriteString(s.c.Writer, text); err != nil {
		return false
	}
	return flush(s.c.Writer) == nil
}

// flush does what gin's own Flush does, and says whether it could.
func flush(w http.ResponseWriter) error {
	if wrapped, ok := w.(interface{ Unwrap() http.ResponseWriter }); ok {
		w = wrapped.Unwrap()
	}
	return http.NewResponseController(w).Flush()
}

func (s stream) event(d wire.Decision) bool {
	body, err := json.Marshal(d, jsontext.PreserveRawStrings(true))
	if err != nil {
		return false
	}
	return s.send(fmt.Sprintf("id: %s\nevent: review\ndata: %s\n\n", d.Review.State, body))
}
