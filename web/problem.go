package web

import (
	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/enforce/wire"
)

// problem is the body of every error: the document of the agents' API, and what only the console has to tell.
type problem struct {
	wire.Problem
	// Winner and Item tell who was first (already_decided).
	Winner *ruling   `json:"winner,omitempty"`
	Item   *document `json:"item,omitempty"`
	// Missing lists the arguments a browser has not shown yet (view_incomplete).
	Missing []string `json:"missing,omitempty"`
}

// fail is the only writer of errors: it says what may be said, and leaves the cause to the request's record.
func (c *Console) fail(g *gin.Context, err error) { c.failWith(g, err, problem{}) }

// failWith fails with the extra members of p.
func (c *Console) failWith(g *gin.Context, err error, p problem) {
	p.Problem = wire.ProblemOf(err, g.GetString(requestKey))
	_ = g.Error(err) // picked up by record
	switch ostiary.Kind(p.Kind) {
	case ostiary.KindUnauthorized:
		g.Header("WWW-Authenticate", `Bearer realm="ostiary"`)
	case ostiary.KindShuttingDown:
		g.Header("Retry-After", "2")
	}
	write(g, p.Status, "application/problem+json", p)
	g.Abort()
}

// answer writes v as JSON.
func answer(g *gin.Context, status int, v any) { write(g, status, "application/json", v) }

func write(g *gin.Context, status int, mediaType string, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only our own types come here, so this is a programming error; the recovery answers 500
		panic("web: encode answer: " + err.Error())
	}
	put(g, status, mediaType, body)
}

func notFound() error { return ostiary.Errorf(ostiary.KindNotFound, "there is nothing here") }

func (c *Console) noRoute(g *gin.Context) { c.fail(g, notFound()) }

// noMethod answers a known path; the router has set Allow.
func (c *Console) noMethod(g *gin.Context) {
	c.fail(g, ostiary.Errorf(ostiary.KindMethod, "this address does not take %s", g.Request.Method).WithFix("use a method of the Allow header"))
}
