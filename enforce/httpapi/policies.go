package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"ostiary"
	"ostiary/audit"
	"ostiary/decision"
)

// Policies is what this face needs of the policies for their authors.
type Policies interface {
	State() (decision.PolicyStatus, *decision.ShadowReport)
	Reload(ctx context.Context) error
	Rollback() error
	Try(ctx context.Context, files map[string]string, ttl time.Duration) error
	EndTry() bool
}

// Drafts is what this face needs to answer authors' questions about policies that are not in force.
type Drafts interface {
	Questions() []string
	// Ask answers one of the questions, put in a strict JSON body, with a report that is written as JSON.
	Ask(ctx context.Context, question string, body []byte) (any, error)
}

// askDrafts answers one question.
func (s *Server) askDrafts(question string) gin.HandlerFunc {
	return func(c *gin.Context) {
		body, err := read(c, maxResult)
		if err != nil {
			s.fail(c, err)
			return
		}
		ctx, cancel := s.untilDraining(c.Request.Context())
		defer cancel()
		report, err := s.cfg.Drafts.Ask(ctx, question, body)
		if err != nil && s.isDraining() {
			err = shuttingDown()
		}
		s.answer(c, report, err)
	}
}

// policyState is the answer of every route about policies.
type policyState struct {
	decision.PolicyStatus `json:",embed"`
	Shadow                *decision.ShadowReport `json:"shadow"`
}

func (s *Server) policies(c *gin.Context) { s.answerPolicies(c, nil) }

func (s *Server) answerPolicies(c *gin.Context, err error) {
	status, report := s.cfg.Policies.State()
	s.answer(c, policyState{status, report}, err)
}

func (s *Server) reloadPolicies(c *gin.Context) {
	s.answerPolicies(c, s.cfg.Policies.Reload(c.Request.Context()))
}

// rollbackPolicies has it on record who goes back before anybody does.
func (s *Server) rollbackPolicies(c *gin.Context) {
	err := s.cfg.Record(audit.Event{Class: audit.PolicyRolledBack, Tenant: who(c).Tenant, Person: who(c).Name})
	if err != nil {
		s.fail(c, ostiary.Wrap(ostiary.KindAuditUnavailable, err, "the audit log cannot be written, so nothing was changed"))
		return
	}
	s.answerPolicies(c, s.cfg.Policies.Rollback())
}

func (s *Server) tryPolicies(c *gin.Context) {
	var req struct {
		Files map[string]string `json:"files"`
		TTL   string            `json:"ttl"`
	}
	if err := decode(c, maxBody, &req); err != nil {
		s.fail(c, err)
		return
	}
	var ttl time.Duration
	if req.TTL != "" {
		var err error
		if ttl, err = time.ParseDuration(req.TTL); err != nil {
			s.fail(c, &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/ttl", Msg: "ttl must be a duration such as 1h"})
			return
		}
	}
	s.answerPolicies(c, s.cfg.Policies.Try(c.Request.Context(), req.Files, ttl))
}

func (s *Server) endTry(c *gin.Context) {
	if !s.cfg.Policies.EndTry() {
		s.fail(c, ostiary.Errorf(ostiary.KindNotFound, "no candidate stands beside the policies in force"))
		return
	}
	c.Status(http.StatusNoContent)
}
