package credential

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
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

	mu    sync.Mutex
	known map[[sha256.Size]byte]claims // tokens whose signature was checked: an agent sends one token with every call
}

// maxKnown bounds the checked tokens; past it all are checked anew.
const maxKnown = 1024

// New returns an Issuer; key and clock are required.
func New(key ed25519.PrivateKey, now func() time.Time) (*Issuer, error) {
	if len(key) != ed25519.PrivateKeySize || now == nil {
		return nil, errors.New("credential: key and clock are required")
	}
	return &Issuer{key: key, now: now, known: map[[sha256.Size]byte]claims{}, parser: jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(issuer),
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
	c, err := i.verify(token)
	if err != nil {
		return agent.Identity{}, ostiary.Wrap(ostiary.KindUnauthorized, err, "the token is not valid here").
			WithFix("mint one with: sidecar token mint --role … --name …")
	}
	role, err := agent.ParseRole(string(c.Role))
	if err != nil || c.Subject == "" || c.Tenant == "" {
		return agent.Identity{}, ostiary.Errorf(ostiary.KindUnauthorized, "the token lacks a required claim")
	}
	if !slices.Contains(c.Audience, audience) {
		return agent.Identity{}, ostiary.Errorf(ostiary.KindRole, "the token is valid, but not at this door").
			WithFix("agents call the agent's port, reviewers the console's, each with their own token")
	}
	return agent.Identity{Tenant: c.Tenant, Subject: c.Subject, Name: c.Name, Owner: c.Owner, Role: role, Profile: c.Profile, Session: c.Session}, nil
}

// verify checks signature and times. A signature that was checked is remembered by the token's hash; the times are looked at every time.
func (i *Issuer) verify(token string) (claims, error) {
	hash := sha256.Sum256([]byte(token))
	i.mu.Lock()
	c, known := i.known[hash]
	i.mu.Unlock()
	if known {
		if !i.now().Before(c.ExpiresAt.Time) {
			return claims{}, jwt.ErrTokenExpired
		}
		return c, nil
	}
	_, err := i.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != typ {
			return nil, errors.New("not an access token")
		}
		return i.key.Public(), nil
	})
	if err != nil {
		return claims{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.known) >= maxKnown {
		clear(i.known)
	}
	i.known[hash] = c
	return c, nil
}
