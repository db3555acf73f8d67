package permit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ostiary"
)

const typ = "permit+jwt"

// Kinds of permits.
const (
	KindPolicy  = "policy"  // policy allowed the call
	KindApprove = "approve" // a person approved it as it was asked
	KindEdit    = "edit"    // a person approved an edited form
)

// Grant is what a permit is bound to.
type Grant struct {
	ID           string // jti
	Tenant       string
	Agent        string // sub
	Session      string
	Tool         string // namespace/name
	Definition   string
	ActionDigest string
	BytesDigest  string
	ViewDigest   string // empty when no person was asked
	Revision     string
	Review       string // empty when no person was asked
	Kind         string
}

// claims is a Grant on the wire.
type claims struct {
	jwt.RegisteredClaims
	Tenant       string `json:"tenant"`
	Session      string `json:"sid"`
	Tool         string `json:"tool"`
	Definition   string `json:"tool_digest,omitempty"`
	ActionDigest string `json:"action_digest"`
	BytesDigest  string `json:"bytes_digest"`
	ViewDigest   string `json:"view_digest,omitempty"`
	Revision     string `json:"policy_revision"`
	Review       string `json:"review,omitempty"`
	Kind         string `json:"kind"`
	Once         bool   `json:"once"`
}

// Config of an Authority. Every field but TTL is required: an empty audience or key must never mean "not checked".
type Config struct {
	Key      ed25519.PrivateKey
	Issuer   string
	Audience string
	Now      func() time.Time
	// TTL is the life of a permit, at least one second. Default 5m.
	TTL time.Duration
}

// Authority mints and verifies permits for one audience. It is safe for concurrent use.
type Authority struct {
	cfg    Config
	kid    string
	parser *jwt.Parser
}

// New returns an Authority, or an error that names every missing part.
func New(cfg Config) (*Authority, error) {
	var errs []error
	if len(cfg.Key) != ed25519.PrivateKeySize {
		errs = append(errs, errors.New("Key is required"))
	}
	if cfg.Issuer == "" {
		errs = append(errs, errors.New("Issuer is required"))
	}
	if cfg.Audience == "" {
		errs = append(errs, errors.New("Audience is required"))
	}
	if cfg.Now == nil {
		errs = append(errs, errors.New("Now is required"))
	}
	if cfg.TTL == 0 {
		cfg.TTL = 5 * time.Minute
	}
	if cfg.TTL < time.Second {
		errs = append(errs, fmt.Errorf("TTL is %s, want >= 1s", cfg.TTL))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("permit: %w", errors.Join(errs...))
	}
	return &Authority{
		cfg: cfg,
		kid: KeyID(cfg.Key.Public().(ed25519.PublicKey)), //nolint:forcetypeassert // an ed25519 key has an ed25519 public half
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(cfg.Issuer), jwt.WithAudience(cfg.Audience),
			jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(cfg.Now), jwt.WithStrictDecoding()),
	}, nil
}

// KeyID names a public key by its content.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Mint signs a grant. The permit ends after the TTL, and not after notAfter when that is set and sooner.
func (a *Authority) Mint(g Grant, notAfter time.Time) (string, error) {
	now := a.cfg.Now().UTC()
	exp := now.Add(a.cfg.TTL)
	if !notAfter.IsZero() && notAfter.Before(exp) {
		exp = notAfter
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			ID: g.ID, Issuer: a.cfg.Issuer, Subject: g.Agent, Audience: jwt.ClaimStrings{a.cfg.Audience},
			IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(exp),
		},
		Tenant: g.Tenant, Session: g.Session, Tool: g.Tool, Definition: g.Definition, ActionDigest: g.ActionDigest, BytesDigest: g.BytesDigest,
		ViewDigest: g.ViewDigest, Revision: g.Revision, Review: g.Review, Kind: g.Kind, Once: true,
	})
	t.Header["typ"], t.Header["kid"] = typ, a.kid
	signed, err := t.SignedString(a.cfg.Key)
	if err != nil {
		return "", fmt.Errorf("permit: sign: %w", err)
	}
	return signed, nil
}

// Verify returns what a permit is bound to. It is refused as expired, wrong_audience or bad_signature; that it was not used before is not
// checked here.
func (a *Authority) Verify(token string) (Grant, error) {
	var c claims
	_, err := a.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != typ || t.Header["kid"] != a.kid {
			return nil, errors.New("not a permit of this key")
		}
		return a.cfg.Key.Public(), nil
	})
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return Grant{}, ostiary.Wrap(ostiary.KindPermitExpired, err, "the permit is past its time").WithFix("fetch the review again for a fresh permit, or ask again")
	case errors.Is(err, jwt.ErrTokenInvalidAudience), errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return Grant{}, ostiary.Wrap(ostiary.KindWrongAudience, err, "the permit is for another sidecar")
	case err != nil:
		return Grant{}, ostiary.Wrap(ostiary.KindBadSignature, err, "the permit was not signed here")
	case c.ID == "" || c.Subject == "" || c.Session == "" || c.ActionDigest == "" || !c.Once:
		return Grant{}, ostiary.Errorf(ostiary.KindBadSignature, "the permit lacks a required claim")
	}
	return Grant{
		ID: c.ID, Tenant: c.Tenant, Agent: c.Subject, Session: c.Session, Tool: c.Tool, Definition: c.Definition, ActionDigest: c.ActionDigest,
		BytesDigest: c.BytesDigest, ViewDigest: c.ViewDigest, Revision: c.Revision, Review: c.Review, Kind: c.Kind,
	}, nil
}

// JWK is the public key as RFC 7517 and RFC 8037 write it.
type JWK struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	KeyID     string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// JWKS returns the keys that verify this authority's permits, for /.well-known/jwks.json.
func (a *Authority) JWKS() map[string][]JWK {
	pub := a.cfg.Key.Public().(ed25519.PublicKey) //nolint:forcetypeassert // see New
	return map[string][]JWK{"keys": {{KeyType: "OKP", Curve: "Ed25519", X: base64.RawURLEncoding.EncodeToString(pub), KeyID: a.kid, Use: "sig", Algorithm: "EdDSA"}}}
}
