package web

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ostiary"
	"ostiary/internal/strictjson"
	"ostiary/web/login"
)

const maxBody = 1 << 20

// policy lets the page load its own script and style and talk to its own origin, and nothing else; Trusted Types with no policy at all
// mean that no string can become markup or script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// headers sets what every answer carries; assets loosen the caching.
func headers(g *gin.Context) {
	h := g.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// knownHost refuses names that other people's DNS may point at us.
func (c *Console) knownHost(g *gin.Context) {
	if !c.hosts[g.Request.Host] {
		c.fail(g, ostiary.Errorf(ostiary.KindForbiddenHost, "this host name is not served here").WithFix("use an address of the console's host allowlist"))
	}
}

// sameOrigin refuses what a browser says another site started. Ports of one host are one site, so "same-site" is foreign too. Only
// opening a page may start elsewhere: a link in a chat.
func (c *Console) sameOrigin(g *gin.Context) {
	foreign := func() {
		c.fail(g, ostiary.Errorf(ostiary.KindCrossOrigin, "requests from other sites are refused"))
	}
	if err := http.NewCrossOriginProtection().Check(g.Request); err != nil {
		foreign()
		return
	}
	switch site := g.GetHeader("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
	default:
		navigates := g.GetHeader("Sec-Fetch-Mode") == "navigate" && g.GetHeader("Sec-Fetch-Dest") == "document"
		if g.Request.Method != http.MethodGet || !navigates || strings.HasPrefix(g.Request.URL.Path, "/api/") {
			foreign()
		}
	}
}

// requestKey is where record leaves the request's id.
const requestKey = "request_id"

// record gives the request an id and writes one line about it: no body, no query, no credential.
func (c *Console) record(g *gin.Context) {
	id := g.GetHeader("X-Request-ID")
	if !requestID(id) {
		id = "req_" + login.Random(c.cfg.Rand)
	}
	g.Set(requestKey, id)
	g.Header("X-Request-ID", id)
	began := c.cfg.Now()
	g.Next()
	attrs := []slog.Attr{
		slog.String("request_id", id), slog.String("method", g.Request.Method), slog.String("route", g.FullPath()),
		slog.Int("status", g.Writer.Status()), slog.Int64("duration_ms", c.cfg.Now().Sub(began).Milliseconds()),
	}
	if review := g.Param("id"); requestID(review) {
		attrs = append(attrs, slog.String("review_id", review))
	}
	if who, ok := g.Get(callerKey); ok {
		attrs = append(attrs, slog.String("person", who.(caller).who.Subject)) //nolint:forcetypeassert // authenticated sets nothing else
	}
	level := slog.LevelDebug
	if g.Writer.Status() >= http.StatusBadRequest {
		level = slog.LevelInfo
	}
	if err := g.Errors.Last(); err != nil {
		attrs = append(attrs, slog.String("kind", string(ostiary.KindOf(err.Err))), slog.String("error", err.Error()))
		if g.Writer.Status() >= http.StatusInternalServerError {
			level = slog.LevelError
		}
	}
	c.cfg.Log.LogAttrs(g.Request.Context(), level, "console request", attrs...)
}

// recovered turns a panic into a 500 and a stack in the log.
func (c *Console) recovered(g *gin.Context) {
	defer func() {
		if p := recover(); p != nil {
			c.cfg.Log.Error("console panic", "request_id", g.GetString(requestKey), "panic", p, "stack", string(debug.Stack()))
			if !g.Writer.Written() {
				c.fail(g, errors.New("panic"))
			}
			g.Abort()
		}
	}()
	g.Next()
}

// requestID accepts what the agents' API accepts as an id: printable ASCII without a space.
func requestID(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// read decodes the body strictly into v, and reports false after it has answered with the error. What follows the body may take its time.
func (c *Console) read(g *gin.Context, v any) bool {
	media, _, err := mime.ParseMediaType(g.GetHeader("Content-Type"))
	if err != nil || media != "application/json" {
		c.fail(g, ostiary.Errorf(ostiary.KindUnsupportedMedia, "the body must be application/json"))
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(g.Writer, g.Request.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		err = ostiary.Errorf(ostiary.KindTooLarge, "the body is larger than 1 MiB")
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ostiary.Wrap(ostiary.KindMalformedJSON, err, "the body did not arrive in time")
	case err != nil:
		err = ostiary.Wrap(ostiary.KindMalformedJSON, err, "the body ended early")
	default:
		setReadDeadline(g, time.Time{})
		err = strictjson.Decode(body, v)
	}
	if err != nil {
		c.fail(g, err)
		return false
	}
	return true
}
