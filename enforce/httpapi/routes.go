package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

func (s *Server) decide(c *gin.Context) {
	var req wire.DecisionRequest
	if err := decode(c, maxBody, &req); err != nil {
		s.fail(c, err)
		return
	}
	if req.RequestID == "" {
		req.RequestID = c.GetString(requestKey)
	}
	ctx, cancel := s.whileWaiting(c.Request.Context(), req.WaitMS > 0)
	defer cancel()
	d, err := s.cfg.Enforcer.Decide(ctx, who(c), req)
	s.answerWait(c, d, err, req.WaitMS > 0)
}

func (s *Server) review(c *gin.Context) {
	wait, err := readWait(c.Query("wait"))
	if err != nil {
		s.fail(c, err)
		return
	}
	ctx, cancel := s.whileWaiting(c.Request.Context(), wait > 0)
	defer cancel()
	d, err := s.cfg.Enforcer.Review(ctx, who(c), c.Param("id"), wait)
	s.answerWait(c, d, err, wait > 0)
}

// answerWait writes a decision. A request that a shutdown has cut short is told so: its review stays open, and the agent may ask again.
func (s *Server) answerWait(c *gin.Context, d wire.Decision, err error, waited bool) {
	c.Set(volatileKey, d.Source == decision.SourceError)
	ours := err != nil && wire.Status(ostiary.KindOf(err)) >= http.StatusInternalServerError
	if s.isDraining() && (ours || d.Source == decision.SourceError || waited && d.Behavior == decision.Ask.String()) {
		err = shuttingDown()
	}
	var body []byte
	if err == nil {
		body, err = d.JSON()
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	write(c, http.StatusOK, "application/json", body)
}

func shuttingDown() *ostiary.Error {
	return ostiary.Errorf(ostiary.KindShuttingDown, "the sidecar is shutting down; the review stays open").WithFix("send the same request again in a moment")
}

// readWait reads a duration such as 25s, or a bare number of seconds.
func readWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		text = strconv.Itoa(n) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, &ostiary.Error{Kind: ostiary.KindInvalidField, Msg: "wait must be a duration such as 25s"}
	}
	return d, nil
}

// whileWaiting returns a context that also ends when the server drains, for a request that waits. One that does not wait is let finish.
func (s *Server) whileWaiting(ctx context.Context, waits bool) (context.Context, context.CancelFunc) {
	if !waits {
		return ctx, func() {}
	}
	return s.untilDraining(ctx)
}

// untilDraining returns a context that also ends when the server drains.
func (s *Server) untilDraining(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

func (s *Server) cancelReview(c *gin.Context) {
	d, err := s.cfg.Enforcer.Cancel(c.Request.Context(), who(c), c.Param("id"))
	s.answer(c, d, err)
}

func (s *Server) redeem(c *gin.Context) {
	var req wire.RedeemRequest
	if err := decode(c, maxBody, &req); err != nil {
		s.fail(c, err)
		return
	}
	resp, err := s.cfg.Enforcer.Redeem(c.Request.Context(), who(c), req)
	s.answer(c, resp, err)
}

func (s *Server) result(c *gin.Context) {
	var req wire.ResultRequest
	if err := decode(c, maxResult, &req); err != nil {
		s.fail(c, err)
		return
	}
	resp, err := s.cfg.Enforcer.Result(c.Request.Context(), who(c), req)
	s.answer(c, resp, err)
}

func (s *Server) conclude(c *gin.Context) {
	var req wire.ConclusionRequest
	if err := decode(c, maxBody, &req); err != nil {
		s.fail(c, err)
		return
	}
	if req.RequestID == "" {
		req.RequestID = c.GetString(requestKey)
	}
	d, err := s.cfg.Adviser.Conclude(c.Request.Context(), who(c), req)
	s.answerWait(c, d, err, false)
}

func (s *Server) visibleTools(c *gin.Context) {
	var req wire.ToolsRequest
	if err := decode(c, maxBody, &req); err != nil {
		s.fail(c, err)
		return
	}
	resp, err := s.cfg.Adviser.Visible(c.Request.Context(), who(c), req.Tools)
	s.answer(c, resp, err)
}

func (s *Server) sanitize(c *gin.Context) {
	var req wire.ResultRequest
	if err := decode(c, maxResult, &req); err != nil {
		s.fail(c, err)
		return
	}
	resp, err := s.cfg.Enforcer.Sanitize(c.Request.Context(), req)
	s.answer(c, resp, err)
}

const sessionKey = "session"

// underSession serves what stands under a session: the last segment names the resource, and all before it is the session's id, which is the
// caller's own and may hold a solidus.
func (s *Server) underSession(resources map[string]gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		path := strings.TrimPrefix(c.Param("path"), "/")
		cut := strings.LastIndexByte(path, '/')
		handler := resources[path[cut+1:]]
		if cut <= 0 || handler == nil {
			s.noRoute(c)
			return
		}
		c.Set(sessionKey, path[:cut])
		handler(c)
	}
}

func (s *Server) message(c *gin.Context) {
	var m wire.MessageRequest
	if err := decode(c, maxBody, &m); err != nil {
		s.fail(c, err)
		return
	}
	err := s.cfg.Enforcer.Message(c.Request.Context(), who(c), c.GetString(sessionKey), m)
	s.answer(c, map[string]bool{"ok": true}, err)
}

func (s *Server) history(c *gin.Context) {
	labels, events, err := s.cfg.Enforcer.History(c.Request.Context(), who(c), c.GetString(sessionKey))
	if err != nil {
		s.fail(c, err)
		return
	}
	h := wire.History{SessionID: c.GetString(sessionKey), Labels: labels, Events: make([]jsontext.Value, 0, len(events))}
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			s.fail(c, err)
			return
		}
		h.Events = append(h.Events, raw)
	}
	s.send(c, http.StatusOK, h)
}

func toolName(c *gin.Context) tool.Name {
	return tool.Name{Namespace: c.Param("namespace"), Name: c.Param("name")}
}

func (s *Server) putTool(c *gin.Context) {
	raw, err := read(c, maxBody)
	if err != nil {
		s.fail(c, err)
		return
	}
	if err := s.cfg.Registry.Check(toolName(c), raw); err != nil {
		s.fail(c, err)
		return
	}
	if err := s.recordTool(c, audit.ToolDeclared); err != nil {
		s.fail(c, err)
		return
	}
	resolved, err := s.cfg.Registry.Put(c.Request.Context(), who(c).Tenant, toolName(c), raw)
	s.answer(c, document(resolved), err)
}

func (s *Server) deleteTool(c *gin.Context) {
	if err := s.recordTool(c, audit.ToolRemoved); err != nil {
		s.fail(c, err)
		return
	}
	if err := s.cfg.Registry.Delete(c.Request.Context(), who(c).Tenant, toolName(c)); err != nil {
		s.fail(c, err)
		return
	}
	c.Status(http.StatusNoContent)
}

// recordTool tells of a change to a declaration before it happens.
func (s *Server) recordTool(c *gin.Context, class audit.Class) error {
	err := s.cfg.Record(audit.Event{Class: class, Tenant: who(c).Tenant, Person: who(c).Name, Tool: toolName(c).String()})
	if err != nil {
		return ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be written, so nothing was changed")
	}
	return nil
}

// declared is a declaration as it is resolved.
type declared struct {
	tool.Declaration `json:",embed"`
	Source           tool.Source `json:"source"`
	Digest           string      `json:"definition_digest"`
	Risk             tool.Risk   `json:"risk"`
}

func document(r tool.Resolved) declared {
	return declared{Declaration: r.Declaration, Source: r.Source, Digest: r.Digest, Risk: r.Risk}
}

func (s *Server) getTool(c *gin.Context) {
	r, err := s.cfg.Registry.Resolve(c.Request.Context(), who(c).Tenant, toolName(c))
	if err == nil && r.Source == tool.Undeclared {
		err = ostiary.Errorf(ostiary.KindNotFound, "the tool is not declared")
	}
	s.answer(c, document(r), err)
}

const (
	defaultPage = 50
	maxPage     = 200
)

func (s *Server) listTools(c *gin.Context) {
	limit, err := strconv.Atoi(c.DefaultQuery("limit", strconv.Itoa(defaultPage)))
	if err != nil || limit < 1 || limit > maxPage {
		s.fail(c, ostiary.Errorf(ostiary.KindInvalidField, "limit must lie between 1 and %d", maxPage))
		return
	}
	items, next, err := s.cfg.Registry.List(c.Request.Context(), who(c).Tenant, c.Query("cursor"), limit)
	if err == nil && who(c).Role == agent.RoleAgent {
		items, err = s.shown(c, items)
	}
	s.answer(c, map[string]any{"items": append([]tool.Declaration{}, items...), "next_cursor": next}, err)
}

// shown leaves out the declarations that policy keeps from an agent.
func (s *Server) shown(c *gin.Context, items []tool.Declaration) ([]tool.Declaration, error) {
	names := make([]tool.Name, len(items))
	for i, d := range items {
		names[i] = d.ID()
	}
	resp, err := s.cfg.Adviser.Visible(c.Request.Context(), who(c), names)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(items, func(d tool.Declaration) bool { return !slices.Contains(resp.Visible, d.ID()) }), nil
}

func (s *Server) health(c *gin.Context) {
	if nonce := c.GetHeader("Ostiary-Challenge"); nonce != "" {
		if len(nonce) > maxID {
			s.fail(c, ostiary.Errorf(ostiary.KindInvalidField, "the challenge is longer than %d bytes", maxID))
			return
		}
		c.Header("Ostiary-Proof", s.cfg.Prove(nonce))
	}
	s.send(c, http.StatusOK, map[string]string{"status": "ok", "version": ostiary.Version})
}

// ready tells the checks to those with a credential, and only the word to everybody else.
func (s *Server) ready(c *gin.Context) {
	checks := s.cfg.Ready(c.Request.Context())
	status, code := "ready", http.StatusOK
	for _, check := range checks {
		switch check.Status {
		case "failed":
			status, code = "not_ready", http.StatusServiceUnavailable
		case "degraded":
			if status == "ready" {
				status = "degraded"
			}
		}
	}
	doc := map[string]any{"status": status}
	if _, err := s.identify(c); err == nil {
		doc["checks"] = checks
	}
	s.send(c, code, doc)
}

func (s *Server) jwks(c *gin.Context) { s.send(c, http.StatusOK, s.cfg.JWKS) }
