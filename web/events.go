package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/queue"
)

// events streams the ids of items that changed (Server-Sent Events). The message is a hint to read the item again, never its state of
// record. The stream ends with the login, with the console, or when its reader is too slow.
func (c *Console) events(g *gin.Context) {
	select {
	case <-c.done:
		c.fail(g, ostiary.Wrap(ostiary.KindShuttingDown, errStopped, "the console is stopping"))
		return
	default:
	}
	ctx, cancel := context.WithCancelCause(g.Request.Context())
	defer cancel(errStopped)
	out := stream{g}
	defer out.end()
	g.Header("Content-Type", "text/event-stream")
	g.Header("X-Accel-Buffering", "no")
	g.Status(http.StatusOK)
	changed := c.cfg.Desk.Watch(ctx)
	beat := time.NewTicker(c.cfg.Heartbeat)
	defer beat.Stop()
	for ok := out.send([]byte("retry: 2000\n: hello\n\n")); ok; {
		select {
		case <-c.done:
			return
		case <-ctx.Done():
			return
		case <-beat.C:
			// The credential may have ended meanwhile.
			if _, err := c.identify(g); err != nil {
				return
			}
			ok = out.send([]byte(": still here\n\n"))
		case id, open := <-changed:
			if !open {
				return
			}
			if data := c.change(ctx, callerOf(g), id); data != nil {
				ok = out.send(slices.Concat([]byte("event: change\ndata: "), data, []byte("\n\n")))
			}
		}
	}
}

// change describes a changed item to who, or is nil when it is none of theirs.
func (c *Console) change(ctx context.Context, who caller, id string) []byte {
	it, err := c.cfg.Desk.Get(ctx, who.who, id)
	if err != nil {
		return nil
	}
	data, err := json.Marshal(struct {
		ID      string      `json:"id"`
		State   queue.State `json:"state"`
		Version int64       `json:"version"`
	}{it.ID, it.State, it.Version})
	if err != nil { // invalid UTF-8 in an id: nothing a browser could ask for
		return nil
	}
	return data
}
