package credential

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"ostiary"
	"ostiary/agent"
)

const (
	typ    = "access+jwt"
	issuer = "ostiary"
)

// Audiences: which listener a token opens. Authors and admins act at both.
const (
	AudienceAgents    = "ostiary:agents"
	AudienceReviewers = "ostiary:reviewers"
)

type claims struct {
	jwt.RegisteredClaims
	Tenant  string        `json:"tenant"`
	Role    agent.Role    `json:"role"`
	Name    string        `json:"name"`
	Owner   string        `json:"owner,omitempty"`
	Profile agent.Profile `json:"profile,omitempty"`
	Session string        `json:"sid,omitempty"`
}

// Issuer mints and checks tokens with one key. It is safe for concurrent use.
type Issuer struct {
	key    ed25519.PrivateKey
	now    func() time.Time
	parser *jwt.Parser
}

// New returns an Issuer; key and clock are required.
func New(key ed25519.PrivateKey, now func() time.Time) (*Issuer, error) {
	if len(key) != ed25519.PrivateKeySize || now == nil {
		return nil, errors.New("credential: key and clock are required")
	}
	return &Issuer{key: key, now: now, parser: jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(issuer),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(now), jwt.WithStrictDecoding())}, nil
}

// Mint signs a token for an identity that lives for ttl.
func (i *Issuer) Mint(who agent.Identity, ttl time.Duration) (string, error) {
	if who.Name == "" || ttl < time.Second {
		return "", errors.New("credential: a token needs a name and a life of at least 1s")
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("credential: token id: %w", err)
	}
	now := i.now().UTC()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{ID: id.String(), Issuer: issuer, Subject: who.Subject, Audience: audiences(who.Role),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(ttl))},
		Tenant: who.Tenant, Role: who.Role, Name: who.Name, Owner: who.Owner, Profile: who.Profile, Session: who.Session,
	})
	t.Header["typ"] = typ
	signed, err := t.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("credential: sign: %w", err)
	}
	return signed, nil
}

func audiences(r agent.Role) jwt.ClaimStrings {
	switch r {
	case agent.RoleAgent:
		return jwt.ClaimStrings{AudienceAgents}
	case agent.RoleAuthor, agent.RoleAdmin:
		return jwt.ClaimStrings{AudienceAgents, AudienceReviewers}
	default:
		return jwt.ClaimStrings{AudienceReviewers}
	}
}

// Check returns who a token speaks for. Its kind is unauthorized for a bad token, and role for a good one of another listener.
func (i *Issuer) Check(token, audience string) (agent.Identity, error) {
	var c claims
	_, err := i.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != typ {
			return nil, errors.New("not an access token")
		}
		return i.key.Public(), nil
	})
	if err != nil {
		return agent.Identity{}, ostiary.Wrap(ostiary.KindUnauthorized, err, "the token is not valid here").
			WithFix("mint one with: sidecar token mint --role … --name …")
	}
	role, err := agent.ParseRole(string(c.Role))
	if err != nil || c.Subject == "" || c.Tenant == "" {
		return agent.Identity{}, ostiary.Errorf(ostiary.KindUnauthorized, "the token lacks a required claim")
	}
	who := agent.Identity{Tenant: c.Tenant, Subject: c.Subject, Name: c.Name, Owner: c.Owner, Role: role, Profile: c.Profile, Session: c.Session}
	for _, a := range c.Audience {
		if a == audience {
			return who, nil
		}
	}
	return agent.Identity{}, ostiary.Errorf(ostiary.KindRole, "the token is valid, but not at this door").
		WithFix("agents call the agent's port, reviewers the console's, each with their own token")
}
