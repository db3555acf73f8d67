package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"ostiary"
	"ostiary/agent"
)

type contextKey int

const peerKey contextKey = 0

// WithPeer is the ConnContext of the Unix socket's server: it notes the uid of the process at the other end. A connection whose peer
// cannot be told stays without one and needs a token.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	if uid, err := peerUID(c); err == nil {
		return context.WithValue(ctx, peerKey, uid)
	}
	return ctx
}

const (
	identityKey = "identity"
	requestKey  = "request_id"
	maxID       = 128
)

// observe gives the request an id and writes one record about it. Neither headers nor bodies are logged.
func (s *Server) observe(c *gin.Context) {
	start := s.cfg.Now()
	id := c.GetHeader("X-Request-ID")
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		id = "req_" + uuid.NewString()
	}
	c.Set(requestKey, id)
	c.Header("X-Request-ID", id)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Cache-Control", "no-store")
	c.Next()
	level := slog.LevelDebug // what went well is told by the audit log
	if c.Writer.Status() >= http.StatusBadRequest {
		level = slog.LevelInfo
	}
	if ctx := c.Request.Context(); s.cfg.Log.Enabled(ctx, level) {
		s.cfg.Log.Log(ctx, level, "request", "request_id", id, "method", c.Request.Method, "route", c.FullPath(), "status", c.Writer.Status(),
			"duration_ms", s.cfg.Now().Sub(start).Milliseconds())
	}
}

// recovered answers a panic as an internal error and logs its stack; what was not decided is not allowed.
func (s *Server) recovered(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		s.cfg.Log.Error("panic", "request_id", c.GetString(requestKey), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		c.Abort()
		if !c.Writer.Written() {
			s.fail(c, errors.New("panic"))
		}
	}()
	c.Next()
}

// guard refuses what a web page could send: another Host (DNS rebinding) and every cross-origin request.
func (s *Server) guard(c *gin.Context) {
	if _, socket := c.Request.Context().Value(peerKey).(int); !socket && !slices.Contains(s.cfg.Hosts, c.Request.Host) {
		s.fail(c, ostiary.Errorf(ostiary.KindForbiddenHost, "this Host is not served here").WithFix("use the address that sidecar serve printed"))
		return
	}
	if origin := c.GetHeader("Origin"); origin != "" && origin != "http://"+c.Request.Host && origin != "https://"+c.Request.Host {
		s.fail(c, ostiary.Errorf(ostiary.KindCrossOrigin, "requests from other origins are refused"))
		return
	}
	if site := c.GetHeader("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		s.fail(c, ostiary.Errorf(ostiary.KindCrossOrigin, "requests from other origins are refused"))
		return
	}
	c.Next()
}

// authenticate wants a bearer token, or on the Unix socket a peer of our own uid.
func (s *Server) authenticate(c *gin.Context) {
	who, err := s.identify(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Set(identityKey, who)
	c.Next()
}

func (s *Server) identify(c *gin.Context) (agent.Identity, error) {
	if scheme, token, _ := strings.Cut(c.GetHeader("Authorization"), " "); scheme != "" {
		if !strings.EqualFold(scheme, "Bearer") { // RFC 9110, §11.1
			return agent.Identity{}, ostiary.Errorf(ostiary.KindUnauthorized, "the Authorization scheme is not Bearer").WithFix("send Authorization: Bearer <token>")
		}
		return s.cfg.Authenticate(token)
	}
	uid, socket := c.Request.Context().Value(peerKey).(int)
	switch {
	case !socket:
		return agent.Identity{}, ostiary.Errorf(ostiary.KindUnauthorized, "a bearer token is missing").
			WithFix("send Authorization: Bearer <token>; the token file's path is printed by sidecar serve")
	case uid != ownUID():
		return agent.Identity{}, ostiary.Errorf(ostiary.KindRole, "this socket serves the user who runs the sidecar")
	}
	return agent.Identity{Tenant: "default", Subject: "uid:" + strconv.Itoa(uid), Name: "uid " + strconv.Itoa(uid), Role: agent.RoleAgent, Profile: agent.ProfileAPI}, nil
}

// requireAgent lets only agents make and follow calls.
func (s *Server) requireAgent(c *gin.Context) {
	if who(c).Role != agent.RoleAgent {
		s.fail(c, ostiary.Errorf(ostiary.KindRole, "only an agent's credential makes calls").WithFix("sidecar token mint --role agent --name …"))
		return
	}
	c.Next()
}

// requireAuthor lets only authors and admins change declarations.
func (s *Server) requireAuthor(c *gin.Context) {
	if !who(c).CanAuthor() {
		s.fail(c, ostiary.Errorf(ostiary.KindRole, "this needs the author or admin role").WithFix("sidecar token mint --role author --name …"))
		return
	}
	c.Next()
}

// who returns the identity that authenticate set.
func who(c *gin.Context) agent.Identity {
	return c.MustGet(identityKey).(agent.Identity) //nolint:forcetypeassert // authenticate sets nothing else
}

func (s *Server) noRoute(c *gin.Context) {
	s.fail(c, ostiary.Errorf(ostiary.KindNotFound, "there is no such route"))
}

func (s *Server) noMethod(c *gin.Context) {
	s.fail(c, ostiary.Errorf(ostiary.KindMethod, "this route does not take %s", c.Request.Method))
}
