package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"ostiary"
	"ostiary/audit"
	"ostiary/queue"
)

// page is a list on the wire (wire.md §5).
type page struct {
	Items      []document `json:"items"`
	NextCursor string     `json:"next_cursor"`
	Total      int        `json:"total"`
}

func (c *Console) list(g *gin.Context) {
	who := callerOf(g).who
	f, err := filter(g)
	if err != nil {
		c.fail(g, err)
		return
	}
	f.Tenant = who.Tenant
	found, err := c.cfg.Desk.List(g.Request.Context(), who, f)
	if err != nil {
		c.fail(g, err)
		return
	}
	out := page{Items: []document{}, NextCursor: found.NextCursor, Total: found.Total}
	for _, it := range found.Items {
		out.Items = append(out.Items, c.summarize(it))
	}
	answer(g, http.StatusOK, out)
}

// filter reads the query of a list. A parameter that is unknown, repeated or has an unknown value is refused: a filter that is silently
// ignored shows more than was asked for.
func filter(g *gin.Context) (queue.Filter, error) {
	bad := func(name, why string) (queue.Filter, error) {
		return queue.Filter{}, ostiary.Errorf(ostiary.KindInvalidField, "query parameter %s %s", name, why)
	}
	var f queue.Filter
	for name, values := range g.Request.URL.Query() {
		v := values[0]
		if len(values) > 1 {
			return bad(strconv.Quote(name), "occurs twice")
		}
		switch name {
		case "state":
			if f.State = queue.State(v); v != "" && !f.State.Known() {
				return bad(name, "is no state")
			}
		case "risk":
			f.Tier = queue.Tier(v)
			if v != "" && !slices.Contains([]queue.Tier{queue.TierLow, queue.TierMedium, queue.TierHigh}, f.Tier) {
				return bad(name, "must be low, medium or high")
			}
		case "tool":
			f.Tool = v
		case "agent":
			f.Agent = v
		case "session":
			f.Session = v
		case "q":
			f.Text = v
		case "cursor":
			f.Cursor = v
		case "sort":
			if v != "" && v != "urgency" {
				return bad(name, "must be urgency")
			}
		case "limit":
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > 200 {
				return bad(name, "must be a number from 1 to 200")
			}
			f.Limit = n
		default:
			return bad(strconv.Quote(name), "is not known here")
		}
	}
	return f, nil
}

func (c *Console) item(g *gin.Context) {
	who := callerOf(g).who
	it, err := c.cfg.Desk.Get(g.Request.Context(), who, g.Param("id"))
	if err != nil {
		c.fail(g, err)
		return
	}
	c.show(g, it)
}

// show answers with an item as the caller may see it.
func (c *Console) show(g *gin.Context, it queue.Item) {
	d, err := c.detail(callerOf(g).who, it)
	if err != nil {
		c.fail(g, err)
		return
	}
	answer(g, http.StatusOK, d)
}

func (c *Console) timeline(g *gin.Context) {
	events, err := c.cfg.Desk.Timeline(g.Request.Context(), callerOf(g).who, g.Param("id"))
	if err != nil {
		c.fail(g, err)
		return
	}
	answer(g, http.StatusOK, struct {
		Items []audit.Event `json:"items"`
	}{append([]audit.Event{}, events...)})
}

func (c *Console) health(g *gin.Context) {
	checks := append([]Check{}, c.cfg.Desk.Health(g.Request.Context())...)
	status := "ok"
	for _, check := range checks {
		switch {
		case check.Status == "failed":
			status = "failed"
		case check.Status != "ok" && status == "ok":
			status = "degraded"
		}
	}
	answer(g, http.StatusOK, struct {
		Status string  `json:"status"`
		Checks []Check `json:"checks"`
	}{status, checks})
}
