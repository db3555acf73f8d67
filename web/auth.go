package web

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ostiary"
	"ostiary/agent"
	"ostiary/web/login"
)

// CookieName is the login cookie. The __Host- prefix makes browsers hold it to Secure, Path=/ and no Domain.
const CookieName = "__Host-ostiary"

const callerKey = "caller"

// caller is who made a request; session is nil for a bearer token.
type caller struct {
	who     agent.Identity
	session *login.Session
}

func callerOf(g *gin.Context) caller {
	return g.MustGet(callerKey).(caller) //nolint:forcetypeassert // authenticated sets nothing else
}

// identify verifies the credential of a request. A token, when there is one, is the only credential looked at.
func (c *Console) identify(g *gin.Context) (caller, error) {
	bad := ostiary.Errorf(ostiary.KindUnauthorized, "sign in first").WithFix("open a login link, or send a reviewer's bearer token")
	if header := g.GetHeader("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return caller{}, bad
		}
		who, err := c.cfg.Authenticate(token)
		if ostiary.KindOf(err) == ostiary.KindRole { // a good token of another door
			return caller{}, err
		}
		if err != nil {
			return caller{}, ostiary.Wrap(ostiary.KindUnauthorized, err, "the token is not valid here").WithFix("mint a new one: sidecar token mint")
		}
		return caller{who: who}, nil
	}
	cookie, err := g.Request.Cookie(CookieName)
	if err != nil {
		return caller{}, bad
	}
	s := c.sessions.Find(cookie.Value)
	if s == nil {
		return caller{}, bad
	}
	return caller{who: s.Who, session: s}, nil
}

// authenticated lets in whoever may read the console.
func (c *Console) authenticated(g *gin.Context) {
	who, err := c.identify(g)
	if err == nil && !who.who.CanRead() {
		err = ostiary.Errorf(ostiary.KindRole, "an agent's credential cannot use the console")
	}
	if err != nil {
		c.fail(g, err)
		return
	}
	g.Set(callerKey, who)
}

// optional notes the caller of a page; without one the page is served too, since it holds no data and has to say how to sign in.
func (c *Console) optional(g *gin.Context) {
	who, err := c.identify(g)
	switch {
	case err != nil:
	case !who.who.CanRead():
		c.fail(g, ostiary.Errorf(ostiary.KindRole, "an agent's credential cannot use the console"))
	default:
		g.Set(callerKey, who)
	}
}

// mayRule lets in whoever may rule.
func (c *Console) mayRule(g *gin.Context) {
	if who := callerOf(g).who; !who.CanRule() {
		c.fail(g, ostiary.Errorf(ostiary.KindRole, "your role (%s) may look but not rule", who.Role))
	}
}

func (c *Console) signIn(g *gin.Context) {
	var body struct {
		Code string `json:"code"`
	}
	if !c.read(g, &body) {
		return
	}
	source, _, err := net.SplitHostPort(g.Request.RemoteAddr)
	if err != nil {
		source = g.Request.RemoteAddr
	}
	ticket, ok, throttled := c.logins.Redeem(source, body.Code)
	switch {
	case throttled:
		g.Header("Retry-After", "60")
		c.fail(g, ostiary.Errorf(ostiary.KindTooManyTries, "too many failed logins").WithFix("wait a minute, then use a new login link"))
		return
	case !ok:
		c.fail(g, ostiary.Errorf(ostiary.KindUnauthorized, "this login link was used already or is too old").WithFix("restart the sidecar, or ask for a new link from a console that is signed in"))
		return
	}
	old := ""
	if cookie, err := g.Request.Cookie(CookieName); err == nil {
		old = cookie.Value
	}
	id, expires := c.sessions.Open(ticket, old)
	setCookie(g, id, expires)
	answer(g, http.StatusOK, person(caller{who: ticket.Who}))
}

func (c *Console) signOut(g *gin.Context) {
	if cookie, err := g.Request.Cookie(CookieName); err == nil {
		c.sessions.Close(cookie.Value)
	}
	setCookie(g, "", time.Unix(1, 0))
	put(g, http.StatusNoContent, "", nil)
}

func setCookie(g *gin.Context, value string, expires time.Time) {
	http.SetCookie(g.Writer, &http.Cookie{
		Name: CookieName, Value: value, Path: "/", Expires: expires, Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// loginCode gives a login link to someone who is signed in already, for another browser of the same person. The new login ends when
// this one does, be it by sign-out, and so does a code not used by then. A token makes none: it would turn a credential with an end of its
// own into a login that outlives it.
func (c *Console) loginCode(g *gin.Context) {
	who := callerOf(g)
	if who.session == nil {
		c.fail(g, ostiary.Errorf(ostiary.KindRole, "a login link is made in a browser that is signed in, not with a token").WithFix("open a login link first, or use the token itself"))
		return
	}
	var body struct{}
	if !c.read(g, &body) {
		return
	}
	code, usable := c.logins.Issue(login.Ticket{Who: who.who, From: who.session})
	answer(g, http.StatusCreated, map[string]any{"code": code, "path": "/login?code=" + code, "expires_in": int(usable.Seconds())})
}

func (c *Console) me(g *gin.Context) { answer(g, http.StatusOK, person(callerOf(g))) }

// me is what the page knows of its user.
type me struct {
	Subject string     `json:"subject"`
	Name    string     `json:"name"`
	Role    agent.Role `json:"role"`
	Tenant  string     `json:"tenant"`
	CanRule bool       `json:"can_rule"`
	Expires *time.Time `json:"expires_at,omitempty"`
}

func person(c caller) me {
	m := me{Subject: c.who.Subject, Name: nameOf(c.who), Role: c.who.Role, Tenant: c.who.Tenant, CanRule: c.who.CanRule()}
	if c.session != nil {
		m.Expires = &c.session.Expires
	}
	return m
}

// nameOf is how a person is written in rulings.
func nameOf(who agent.Identity) string {
	if who.Name != "" {
		return who.Name
	}
	return who.Subject
}

var errStopped = errors.New("the console is stopping")
