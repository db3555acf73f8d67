package web

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/enforce/wire"
)

// problem is the body of every error (RFC 9457).
type problem struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Kind    string `json:"kind"`
	Detail  string `json:"detail,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Pointer string `json:"pointer,omitempty"`
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
	said := ostiary.Public(err)
	status := wire.Status(said.Kind)
	_ = g.Error(err) // picked up by record
	if status == http.StatusUnauthorized {
		g.Header("WWW-Authenticate", `Bearer realm="ostiary"`)
	}
	p.Type = "urn:ostiary:problem:" + string(said.Kind)
	p.Title = strings.ReplaceAll(string(said.Kind), "_", " ")
	p.Status, p.Kind, p.Detail, p.Fix, p.Pointer = status, string(said.Kind), said.Msg, said.Fix, said.Pointer
	write(g, status, "application/problem+json", p)
	g.Abort()
}

// answer writes v as JSON.
func answer(g *gin.Context, status int, v any) { write(g, status, "application/json", v) }

func write(g *gin.Context, status int, mediaType string, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only our own types come here, so this is a programming error; the recovery answers 500
		panic("web: encode answer: " + err.Error())
	}
	g.Data(status, mediaType, body)
}

func notFound() error { return ostiary.Errorf(ostiary.KindNotFound, "there is nothing here") }
