package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"ostiary"
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

// statuses maps every kind the console can answer with; a kind that is not here is a fault of ours.
func statuses() map[ostiary.Kind]int {
	return map[ostiary.Kind]int{
		ostiary.KindMalformedJSON:    http.StatusBadRequest,
		ostiary.KindDuplicateKey:     http.StatusBadRequest,
		ostiary.KindInvalidUTF8:      http.StatusBadRequest,
		ostiary.KindUnsafeNumber:     http.StatusBadRequest,
		ostiary.KindTrailingData:     http.StatusBadRequest,
		ostiary.KindUnknownField:     http.StatusBadRequest,
		ostiary.KindMissingField:     http.StatusBadRequest,
		ostiary.KindInvalidField:     http.StatusBadRequest,
		ostiary.KindTooDeep:          http.StatusBadRequest,
		ostiary.KindTooManyKeys:      http.StatusBadRequest,
		ostiary.KindTooLarge:         http.StatusRequestEntityTooLarge,
		ostiary.KindUnsupportedMedia: http.StatusUnsupportedMediaType,
		ostiary.KindUnauthorized:     http.StatusUnauthorized,
		ostiary.KindRole:             http.StatusForbidden,
		ostiary.KindForbiddenHost:    http.StatusForbidden,
		ostiary.KindCrossOrigin:      http.StatusForbidden,
		ostiary.KindNotFound:         http.StatusNotFound,
		ostiary.KindConflict:         http.StatusConflict,
		ostiary.KindTooManyTries:     http.StatusTooManyRequests,
		ostiary.KindSelfApproval:     http.StatusForbidden,
		ostiary.KindSamePerson:       http.StatusForbidden,
		ostiary.KindAlreadyDecided:   http.StatusConflict,
		ostiary.KindStaleVersion:     http.StatusConflict,
		ostiary.KindReviewExpired:    http.StatusGone,
		ostiary.KindEditDenied:       http.StatusUnprocessableEntity,
		ostiary.KindLeased:           http.StatusLocked,
		ostiary.KindViewIncomplete:   http.StatusPreconditionRequired,
		ostiary.KindReasonRequired:   http.StatusPreconditionRequired,
		ostiary.KindNotDurable:       http.StatusServiceUnavailable,
		ostiary.KindAuditUnavailable: http.StatusServiceUnavailable,
		ostiary.KindPolicyTimeout:    http.StatusServiceUnavailable,
		ostiary.KindPolicyError:      http.StatusServiceUnavailable,
		ostiary.KindPolicyBroken:     http.StatusServiceUnavailable,
		ostiary.KindPolicyUndefined:  http.StatusServiceUnavailable,
		ostiary.KindNoPolicy:         http.StatusServiceUnavailable,
		ostiary.KindTaintUnknown:     http.StatusServiceUnavailable,
		ostiary.KindNoKey:            http.StatusServiceUnavailable,
		ostiary.KindShuttingDown:     http.StatusServiceUnavailable,
		ostiary.KindInternal:         http.StatusInternalServerError,
	}
}

// fail is the only writer of errors: it says what may be said, and leaves the cause to the request's record.
func (c *Console) fail(g *gin.Context, err error) { c.failWith(g, err, problem{}) }

// failWith fails with the extra members of p.
func (c *Console) failWith(g *gin.Context, err error, p problem) {
	said := ostiary.Public(err)
	status, known := statuses()[said.Kind]
	if !known {
		err = errors.Join(err, errors.New("the console has no status for this kind"))
		said, status = ostiary.Public(errors.New("")), http.StatusInternalServerError
	}
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
