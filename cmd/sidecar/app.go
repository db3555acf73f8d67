package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"slices"
	"time"

	"github.com/google/uuid"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/credential"
	"ostiary/agent/session"
	"ostiary/agent/session/localsession"
	"ostiary/audit"
	"ostiary/decision/permit"
	"ostiary/decision/rego/bundle"
	"ostiary/decision/shadow"
	"ostiary/decision/workbench/draft"
	"ostiary/enforce"
	"ostiary/enforce/httpapi"
	"ostiary/enforce/phases"
	"ostiary/internal/config"
	"ostiary/internal/datadir"
	"ostiary/internal/localdb"
	"ostiary/queue"
	"ostiary/queue/localqueue"
	"ostiary/sanitize"
	"ostiary/sanitize/shipped"
	"ostiary/tool/registry"
	"ostiary/web"
)

// app is one sidecar, wired: everything that serve starts and closes.
type app struct {
	cfg      config.Config
	policies *shadow.Policies
	decider  *shadow.Beside // the policies, with room for a candidate at their side
	bundle   *bundle.Source // nil when there is none
	dir      *datadir.Dir
	db       *localdb.DB
	log      *audit.Log
	adviser  *phases.Adviser
	desk     *queue.Desk
	issuer   *credential.Issuer
	api      *httpapi.Server
	console  *web.Console
	token    string // of the agent.token file
}

// build wires a sidecar. What it opened before a failure it closes again.
func build(ctx context.Context, cfg config.Config, ls *listeners, log *slog.Logger) (_ *app, err error) {
	a := &app{cfg: cfg}
	defer func() {
		if err != nil {
			a.close(log)
		}
	}()
	if err := a.policiesAndDirectory(ctx); err != nil {
		return nil, err
	}
	if err := ls.openSocket(cfg.Socket); err != nil {
		return nil, err
	}
	if err := a.openStores(ctx); err != nil {
		return nil, err
	}
	enforcer, tools, permits, err := a.enforcer()
	if err != nil {
		return nil, err
	}
	if err := a.credentials(); err != nil {
		return nil, err
	}
	if err := a.faces(enforcer, tools, permits, ls, log); err != nil {
		return nil, err
	}
	return a, a.log.AppendDurable(audit.Event{Class: audit.SidecarStarted, Revision: a.policies.Revision()})
}

func (a *app) openStores(ctx context.Context) (err error) {
	if a.db, err = localdb.Open(ctx, a.dir.Path("ostiary.db")); err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the state file cannot be opened").WithFix("look at the cause; the file is ostiary.db in the data directory")
	}
	if err := os.Chmod(a.dir.Path("ostiary.db"), 0o600); err != nil {
		return err
	}
	a.log, err = audit.Open(audit.Config{Dir: a.dir.Path("audit"), Now: now, Always: a.cfg.Audit.Sync == "always"})
	if err != nil {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the audit log cannot be opened").WithFix("look at the cause; the log is the audit folder of the data directory")
	}
	return nil
}

// enforcer wires the pipeline.
func (a *app) enforcer() (*enforce.Enforcer, *registry.Registry, *permit.Authority, error) {
	tools, err := registry.New(registry.NewLocalStore(a.db), a.cfg.Tools)
	if err != nil {
		return nil, nil, nil, err
	}
	sessions, err := session.NewBook(session.Config{Store: localsession.New(a.db), Now: now, Epoch: uuid.NewString(), TaintCarry: a.cfg.TaintCarry})
	if err != nil {
		return nil, nil, nil, err
	}
	a.desk, err = queue.NewDesk(queue.DeskConfig{
		Store: localqueue.New(a.db), Record: a.log.AppendDurable, Now: now, Caps: queue.Caps(a.cfg.Caps),
		ReviewTTL: a.cfg.Review.TTL, ApprovalTTL: a.cfg.Approval.TTL, VetoTTL: a.cfg.Veto.TTL,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	key, err := a.dir.SigningKey("permit")
	if err != nil {
		return nil, nil, nil, err
	}
	// The key's own name makes the audience unique to this data directory: another sidecar's permit is none here.
	server := "ostiary:" + permit.KeyID(publicKey(key))
	permits, err := permit.New(permit.Config{Key: key, Issuer: server, Audience: server, Now: now, TTL: a.cfg.Permit.TTL})
	if err != nil {
		return nil, nil, nil, err
	}
	mac, err := a.dir.MACKey("audit")
	if err != nil {
		return nil, nil, nil, err
	}
	cleaner, err := shipped.New(sanitize.Config{Now: time.Now})
	if err != nil {
		return nil, nil, nil, err
	}
	masker, err := shipped.NewMasker(sanitize.Config{Now: time.Now})
	if err != nil {
		return nil, nil, nil, err
	}
	e, err := enforce.New(enforce.Config{
		Registry: tools, Decider: a.decider, Sessions: sessions, Desk: a.desk, Permits: permits, Journal: a.log, Cleaner: cleaner, Masker: masker,
		Now: now, MACKey: mac, Server: server, Location: time.Local,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	a.adviser, err = phases.New(phases.Config{
		Decide: a.policies.Decide, Resolve: tools.Resolve, Sessions: sessions, Ask: e.Ask, CheckIDs: e.CheckIDs, Record: a.log.Append, RecordDurable: a.log.AppendDurable,
		Now: now, Server: server, Location: time.Local,
	})
	return e, tools, permits, err
}

// localAgent is who uses the token files in the data directory. All of them share one subject, so that a hook and a proxy of one client
// can share a session.
func localAgent(p agent.Profile) agent.Identity {
	return agent.Identity{Tenant: "default", Subject: "local-agent", Name: "local agent", Role: agent.RoleAgent, Profile: p}
}

// tokenFiles are the credentials that local clients find by themselves; their profile says what happens when no rule speaks.
var tokenFiles = map[string]agent.Profile{"agent.token": agent.ProfileAPI, "hook.token": agent.ProfileHook, "mcp.token": agent.ProfileMCP}

const tokenTTL = 365 * 24 * time.Hour

// credentials opens the token issuer and sees to it that every token file holds a good token.
func (a *app) credentials() error {
	key, err := a.dir.SigningKey("access")
	if err != nil {
		return err
	}
	if a.issuer, err = credential.New(key, now); err != nil {
		return err
	}
	for name, profile := range tokenFiles {
		token, err := a.tokenFile(a.dir.Path(name), profile)
		if err != nil {
			return err
		}
		if name == "agent.token" {
			a.token = token
		}
	}
	return nil
}

func (a *app) tokenFile(path string, profile agent.Profile) (string, error) {
	if have, err := os.ReadFile(path); err == nil {
		if _, err := a.issuer.Check(string(have), credential.AudienceAgents); err == nil {
			return string(have), os.Chmod(path, 0o600)
		}
	}
	token, err := a.issuer.Mint(localAgent(profile), tokenTTL)
	if err != nil {
		return "", err
	}
	return token, datadir.WriteFile(path, token)
}

// faces wires the agents' API and the console.
func (a *app) faces(e *enforce.Enforcer, tools *registry.Registry, permits *permit.Authority, ls *listeners, log *slog.Logger) (err error) {
	a.api, err = httpapi.New(httpapi.Config{
		Enforcer: e, Adviser: a.adviser, Registry: tools, Policies: a.policies, Drafts: draft.New(a.policies.Config), Now: now, Log: log, Record: a.log.AppendDurable, JWKS: permits.JWKS(), Hosts: hosts(ls.agents.Addr()),
		Authenticate: func(token string) (agent.Identity, error) { return a.issuer.Check(token, credential.AudienceAgents) },
		Prove:        a.prove,
		Ready:        a.ready,
	})
	if err != nil || ls.console == nil {
		return err
	}
	a.console, err = web.New(web.Config{
		Desk: reviewDesk{e.Reviewers(), a.ready}, Now: now, Log: log, Hosts: hosts(ls.console.Addr()), LoginAs: localReviewer(),
		Authenticate: func(token string) (agent.Identity, error) { return a.issuer.Check(token, credential.AudienceReviewers) },
	})
	return err
}

// localReviewer is the person at this machine, whom a login link signs in.
func localReviewer() agent.Identity {
	name := "reviewer"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	return agent.Identity{Tenant: "default", Subject: "local:" + name, Name: name, Role: agent.RoleAdmin}
}

// hosts lists what a Host header may say for a listener: its own address, and the names of loopback.
func hosts(addr net.Addr) []string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return []string{addr.String()}
	}
	out := []string{net.JoinHostPort(host, port)}
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		out = append(out, net.JoinHostPort(name, port))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prove shows that we know the agent token without showing it.
func (a *app) prove(nonce string) string {
	h := hmac.New(sha256.New, []byte(a.token))
	h.Write([]byte(nonce))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// reviewDesk is what the console works on, with this machine's health.
type reviewDesk struct {
	enforce.Reviewers
	checks func(context.Context) []httpapi.Check
}

// Health implements web.Desk.
func (d reviewDesk) Health(ctx context.Context) []web.Check {
	var out []web.Check
	for _, c := range d.checks(ctx) {
		out = append(out, web.Check(c))
	}
	return out
}

// sweep closes reviews whose time is up, until ctx ends.
func (a *app) sweep(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := a.desk.Sweep(ctx); err != nil && ctx.Err() == nil {
				log.Error("expired reviews could not be closed", "cause", err)
			}
		}
	}
}

func (a *app) addresses(ls *listeners) addresses {
	out := addresses{AgentURL: "http://" + ls.agents.Addr().String(), Socket: a.cfg.Socket, TokenFile: a.dir.Path("agent.token"), PID: os.Getpid()}
	if a.console != nil {
		out.ConsoleURL = "http://" + ls.console.Addr().String()
		out.LoginURL = a.console.LoginURL(out.ConsoleURL)
	}
	return out
}

// close ends in the reverse order of the start: the log last but for the lock, so that everything before it is on record.
func (a *app) close(log *slog.Logger) {
	var errs []error
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	if a.log != nil {
		errs = append(errs, a.log.AppendDurable(audit.Event{Class: audit.SidecarStopped}), a.log.Close())
	}
	if a.dir != nil {
		errs = append(errs, a.dir.Close())
	}
	if err := errors.Join(errs...); err != nil {
		log.Error("the sidecar did not stop cleanly", "cause", fmt.Sprint(err))
	}
}
