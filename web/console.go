package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/agent"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/queue"
	"ostiary/web/login"
)

// Desk is what the console needs of the review desk. Errors are [ostiary.Error]s of the kinds of wire.md §3; anything else is said as
// "internal error". Every method is safe for concurrent use and answers only for the tenant of who.
type Desk interface {
	List(ctx context.Context, who agent.Identity, f queue.Filter) (queue.Page, error)
	// Get returns not_found for an item of another tenant.
	Get(ctx context.Context, who agent.Identity, id string) (queue.Item, error)
	// Rule applies one ruling. On already_decided the returned item is the one that was decided; its last ruling won.
	Rule(ctx context.Context, who agent.Identity, id string, r queue.Ruling) (queue.Item, error)
	// Revoke withdraws an approval that was not used yet.
	Revoke(ctx context.Context, who agent.Identity, id string) (queue.Item, error)
	// Reveal records that who is about to see the masked value at place: a JSON pointer into the arguments, or "approved_input" and a
	// pointer into what a reviewer made of them. Without the record nothing is shown.
	Reveal(ctx context.Context, who agent.Identity, id, place string) error
	// TryEdit says what policy would answer to the edited call, without any effect.
	TryEdit(ctx context.Context, who agent.Identity, id string, edited jsontext.Value) (decision.Decision, error)
	// Timeline returns the events of the item's session, oldest first.
	Timeline(ctx context.Context, who agent.Identity, id string) ([]audit.Event, error)
	// Watch sends the ids of items that changed until ctx ends, then closes the channel. It may drop ids to a slow reader.
	Watch(ctx context.Context) <-chan string
	Health(ctx context.Context) []Check
}

// Check is one line of the health strip.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, degraded, failed
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Config is what a console is made of.
type Config struct {
	Desk Desk
	// Authenticate verifies a bearer token. Required.
	Authenticate func(bearer string) (agent.Identity, error)
	// LoginAs is who a login link of this machine signs in. Its role must be able to read the console. Zero: no login links, tokens only.
	LoginAs agent.Identity
	// Hosts are the exact values of the Host header that are answered, such as "127.0.0.1:7071". At least one.
	Hosts []string
	// Now is the clock. Required.
	Now func() time.Time
	// Log receives one record per request. Required.
	Log *slog.Logger
	// Rand is the source of session ids and login codes. Default crypto/rand.Reader.
	Rand io.Reader
	// SessionTTL is how long a login lasts. Default 8h.
	SessionTTL time.Duration
	// Heartbeat is the pause between two signs of life on an idle event stream. Default 15s.
	Heartbeat time.Duration
}

// Console serves the page and its API.
type Console struct {
	cfg      Config
	hosts    map[string]bool
	sessions *login.Sessions
	logins   *login.Codes
	pages    *pages
	reveals  *login.Reveals
	handler  http.Handler
	done     chan struct{} // closed by Stop
	stop     sync.Once
}

// New returns a console, or every reason why the configuration cannot be used.
func New(cfg Config) (*Console, error) {
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.SessionTTL == 0 {
		cfg.SessionTTL = 8 * time.Hour
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 15 * time.Second
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	pages, err := loadPages(dist)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	c := &Console{
		cfg: cfg, hosts: map[string]bool{}, pages: pages, done: make(chan struct{}),
		sessions: login.NewSessions(cfg.Now, cfg.Rand, cfg.SessionTTL),
		logins:   login.NewCodes(cfg.Now, cfg.Rand),
		reveals:  login.NewReveals(),
	}
	for _, h := range cfg.Hosts {
		c.hosts[h] = true
	}
	c.handler = c.routes()
	return c, nil
}

func (cfg Config) check() error {
	var errs []error
	need := func(ok bool, msg string) {
		if !ok {
			errs = append(errs, errors.New(msg))
		}
	}
	need(cfg.Desk != nil, "Desk is required")
	need(cfg.Authenticate != nil, "Authenticate is required")
	need(len(cfg.Hosts) > 0, "Hosts is required: an empty allowlist would answer nobody")
	for _, h := range cfg.Hosts {
		need(h != "", "Hosts has an empty entry")
	}
	need(cfg.Now != nil, "Now is required")
	need(cfg.Log != nil, "Log is required")
	need(cfg.LoginAs == agent.Identity{} || cfg.LoginAs.CanRead() && cfg.LoginAs.Subject != "", "LoginAs must have a subject and a role that can read the console")
	need(cfg.SessionTTL > 0, fmt.Sprintf("SessionTTL is %s, want > 0", cfg.SessionTTL))
	need(cfg.Heartbeat > 0, fmt.Sprintf("Heartbeat is %s, want > 0", cfg.Heartbeat))
	return errors.Join(errs...)
}

// Handler serves every route of the console. Its server needs a ReadHeaderTimeout but no WriteTimeout: event streams stay open.
func (c *Console) Handler() http.Handler { return c.handler }

// Stop ends all event streams, so that a server's Shutdown does not wait for them (http.Server.RegisterOnShutdown). It may be called
// more than once; requests after it still work, except streams.
func (c *Console) Stop() { c.stop.Do(func() { close(c.done) }) }

// NewLoginCode returns a code that signs in LoginAs once, within ten minutes. It is empty when the console has no login links.
func (c *Console) NewLoginCode() string {
	if c.cfg.LoginAs == (agent.Identity{}) {
		return ""
	}
	code, _ := c.logins.Issue(login.Ticket{Who: c.cfg.LoginAs})
	return code
}

// LoginURL returns a one-time login link below base, such as "http://127.0.0.1:7071".
func (c *Console) LoginURL(base string) string { return base + "/login?code=" + c.NewLoginCode() }

func (c *Console) routes() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	// The remote address is the only one we believe; an error is only possible for a malformed list.
	_ = r.SetTrustedProxies(nil)
	r.RedirectTrailingSlash = false
	r.Use(c.record, c.recovered, limitBody, headers, c.knownHost, c.sameOrigin)
	r.HandleMethodNotAllowed = true
	r.NoRoute(c.noRoute)
	r.NoMethod(c.noMethod)

	r.GET("/login", c.page)
	r.POST("/login", c.signIn)
	r.GET("/assets/:name", c.asset)
	r.GET("/", c.optional, c.page)
	r.GET("/reviews/:id", c.optional, c.page)

	in := r.Group("/", c.authenticated)
	in.POST("/logout", c.signOut)
	in.GET("/api/me", c.me)
	in.GET("/api/health", c.health)
	in.GET("/api/events", c.events)
	in.GET("/api/reviews", c.list)
	in.GET("/api/reviews/:id", c.item)
	in.GET("/api/reviews/:id/timeline", c.timeline)
	in.POST("/api/reviews/:id/views", c.viewed)

	rule := in.Group("/", c.mayRule)
	rule.POST("/api/login-codes", c.loginCode)
	rule.POST("/api/reviews/:id/try", c.try)
	rule.POST("/api/reviews/:id/rulings", c.rule)
	rule.POST("/api/reviews/:id/reveal", c.reveal)
	rule.POST("/api/reviews/:id/revoke", c.revoke)
	return r
}
