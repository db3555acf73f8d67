package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"ostiary/agent"
	"ostiary/audit"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// Enforcer is what this face needs of the enforcement point.
type Enforcer interface {
	Decide(ctx context.Context, who agent.Identity, req wire.DecisionRequest) (wire.Decision, error)
	Review(ctx context.Context, who agent.Identity, id string, wait time.Duration) (wire.Decision, error)
	Cancel(ctx context.Context, who agent.Identity, id string) (wire.Decision, error)
	Redeem(ctx context.Context, who agent.Identity, req wire.RedeemRequest) (wire.RedeemResponse, error)
	Result(ctx context.Context, who agent.Identity, req wire.ResultRequest) (wire.ResultResponse, error)
	Sanitize(ctx context.Context, req wire.ResultRequest) (wire.ResultResponse, error)
	Message(ctx context.Context, who agent.Identity, id string, m wire.MessageRequest) error
	History(ctx context.Context, who agent.Identity, id string) ([]tool.Label, []audit.Event, error)
}

// Adviser is what this face needs to answer for what is no call.
type Adviser interface {
	Conclude(ctx context.Context, who agent.Identity, req wire.ConclusionRequest) (wire.Decision, error)
	Visible(ctx context.Context, who agent.Identity, names []tool.Name) (wire.ToolsResponse, error)
}

// Registry is what this face needs of the stored declarations.
type Registry interface {
	// Check says why Put would refuse a declaration.
	Check(name tool.Name, raw []byte) error
	Put(ctx context.Context, tenant string, name tool.Name, raw []byte) (tool.Resolved, error)
	Delete(ctx context.Context, tenant string, name tool.Name) error
	Resolve(ctx context.Context, tenant string, name tool.Name) (tool.Resolved, error)
	List(ctx context.Context, tenant, cursor string, limit int) ([]tool.Declaration, string, error)
}

// Check is one line of /readyz.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, degraded, failed
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// Config of the face. Every field but Log is required.
type Config struct {
	Enforcer Enforcer
	Adviser  Adviser
	Registry Registry
	Policies Policies
	Drafts   Drafts
	// Authenticate checks a bearer token; its error has the kind unauthorized or role.
	Authenticate func(token string) (agent.Identity, error)
	// Prove answers a client's challenge, so that a client can tell us from an impostor before it shows its token.
	Prove func(nonce string) string
	// JWKS is the document of /.well-known/jwks.json.
	JWKS any
	// Hosts are the allowed values of the Host header.
	Hosts []string
	// Ready reports the checks of /readyz.
	Ready func(ctx context.Context) []Check
	// Record appends an event about a declaration before it changes.
	Record func(audit.Event) error
	Now    func() time.Time
	// Log gets one record per request. Default: none.
	Log *slog.Logger
}

// Server serves the agents' API. It is safe for concurrent use.
type Server struct {
	cfg      Config
	engine   *gin.Engine
	draining chan struct{}
	answers  *answers
}

// New returns a Server, or an error that names every missing part.
func New(cfg Config) (*Server, error) {
	var errs []error
	for name, missing := range map[string]bool{
		"Enforcer": cfg.Enforcer == nil, "Adviser": cfg.Adviser == nil, "Registry": cfg.Registry == nil, "Policies": cfg.Policies == nil, "Drafts": cfg.Drafts == nil, "Authenticate": cfg.Authenticate == nil, "Prove": cfg.Prove == nil,
		"JWKS": cfg.JWKS == nil, "Hosts": len(cfg.Hosts) == 0, "Ready": cfg.Ready == nil, "Record": cfg.Record == nil, "Now": cfg.Now == nil,
	} {
		if missing {
			errs = append(errs, errors.New(name+" is required"))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("httpapi: %w", errors.Join(errs...))
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, draining: make(chan struct{}), answers: newAnswers()}
	return s, s.routes()
}

// Handler returns the API as a handler.
func (s *Server) Handler() http.Handler { return s.engine }

// Drain ends every wait: who waits for a review gets shutting_down, and the review stays open. Call it once, before Shutdown.
func (s *Server) Drain() { close(s.draining) }

func (s *Server) routes() error {
	gin.SetMode(gin.ReleaseMode)
	s.engine = gin.New()
	s.engine.HandleMethodNotAllowed = true
	s.engine.UseRawPath = true // a tool's name may hold an escaped solidus
	if err := s.engine.SetTrustedProxies(nil); err != nil {
		return fmt.Errorf("httpapi: %w", err)
	}
	s.engine.Use(s.observe, s.recovered, limits, s.guard)
	s.engine.NoRoute(s.noRoute)
	s.engine.NoMethod(s.noMethod)

	open := s.engine.Group("")
	open.GET("/healthz", s.health)
	open.GET("/readyz", s.ready)
	open.GET("/.well-known/jwks.json", s.jwks)

	v1 := s.engine.Group("/v1", s.authenticate)
	v1.POST("/sanitize", s.sanitize)
	v1.GET("/sessions/*path", s.underSession(map[string]gin.HandlerFunc{"history": s.history}))

	// Who may rule never calls: a token that could do both could approve itself.
	calls := v1.Group("", s.requireAgent)
	calls.POST("/decisions", s.idempotent(maxBody), s.decide)
	calls.GET("/reviews/:id", s.review)
	calls.GET("/reviews/:id/events", s.reviewEvents)
	calls.POST("/reviews/:id/cancel", s.cancelReview)
	calls.POST("/permits/redeem", s.redeem)
	calls.POST("/results", s.idempotent(maxResult), s.result)
	calls.POST("/conclusions", s.idempotent(maxBody), s.conclude)
	calls.POST(`/tools\:visible`, s.visibleTools)
	calls.POST("/sessions/*path", s.underSession(map[string]gin.HandlerFunc{"messages": s.message}))

	v1.GET("/tools", s.listTools)
	v1.GET("/tools/:namespace/:name", s.getTool)
	author := v1.Group("", s.requireAuthor)
	author.PUT("/tools/:namespace/:name", s.putTool)
	author.DELETE("/tools/:namespace/:name", s.deleteTool)
	author.GET("/policies", s.policies)
	author.POST("/policies/reload", s.reloadPolicies)
	author.POST("/policies/rollback", s.rollbackPolicies)
	author.PUT("/policies/shadow", s.tryPolicies)
	author.DELETE("/policies/shadow", s.endTry)
	for _, question := range s.cfg.Drafts.Questions() {
		author.POST("/policies/"+question, s.askDrafts(question))
	}
	return nil
}
