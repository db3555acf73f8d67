package permit_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"

	"ostiary"
	"ostiary/decision/permit"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(seed), ed25519.SeedSize)))
}

func authority(t *testing.T, k ed25519.PrivateKey, audience string, now *time.Time) *permit.Authority {
	t.Helper()
	a, err := permit.New(permit.Config{Key: k, Issuer: "i", Audience: audience, Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var grant = permit.Grant{ID: "pmt_1", Tenant: "t", Agent: "a", Session: "s", Tool: `"n"/"m"`, Definition: "d", ActionDigest: "sha256:a", BytesDigest: "sha256:b",
	ViewDigest: "sha256:v", Revision: "sha256:r", Review: "rev_1", Kind: permit.KindApprove}

func mint(t *testing.T, a *permit.Authority, notAfter time.Time) string {
	t.Helper()
	token, err := a.Mint(grant, notAfter)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestAPermitCarriesItsWholeGrant(t *testing.T) {
	now := start
	a := authority(t, key('k'), "me", &now)
	got, err := a.Verify(mint(t, a, time.Time{}))
	if err != nil || got != grant {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAPermitEndsWithItsTimeOrItsApproval(t *testing.T) {
	now := start
	a := authority(t, key('k'), "me", &now)
	full, short := mint(t, a, time.Time{}), mint(t, a, start.Add(time.Minute))
	for _, c := range []struct {
		after time.Duration
		token string
		kind  ostiary.Kind
	}{{59 * time.Second, short, ""}, {time.Minute, short, ostiary.KindPermitExpired}, {299 * time.Second, full, ""}, {5 * time.Minute, full, ostiary.KindPermitExpired}} {
		now = start.Add(c.after)
		if _, err := a.Verify(c.token); ostiary.KindOf(err) != c.kind {
			t.Errorf("after %s: %v, want %q", c.after, err, c.kind)
		}
	}
}

// forge signs claims as an attacker would.
func forge(t *testing.T, method jwt.SigningMethod, k any, change func(h map[string]any, c jwt.MapClaims)) string {
	t.Helper()
	claims := jwt.MapClaims{"iss": "i", "aud": "me", "sub": "a", "jti": "pmt_1", "sid": "s", "action_digest": "sha256:a", "once": true,
		"iat": start.Unix(), "nbf": start.Unix(), "exp": start.Add(time.Minute).Unix()}
	token := jwt.NewWithClaims(method, claims)
	token.Header["typ"], token.Header["kid"] = "permit+jwt", permit.KeyID(key('k').Public().(ed25519.PublicKey))
	if change != nil {
		change(token.Header, claims)
	}
	s, err := token.SignedString(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestForgedPermitsAreRefused(t *testing.T) {
	now := start
	a := authority(t, key('k'), "me", &now)
	if _, err := a.Verify(forge(t, jwt.SigningMethodEdDSA, key('k'), nil)); err != nil {
		t.Fatalf("the pattern of the forgeries is itself refused: %v", err)
	}
	without := func(claim string) func(map[string]any, jwt.MapClaims) {
		return func(_ map[string]any, c jwt.MapClaims) { delete(c, claim) }
	}
	public := []byte(key('k').Public().(ed25519.PublicKey))
	good := mint(t, a, time.Time{})
	for name, c := range map[string]struct {
		token string
		kind  ostiary.Kind
	}{
		"another key":      {forge(t, jwt.SigningMethodEdDSA, key('x'), nil), ostiary.KindBadSignature},
		"none":             {forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil), ostiary.KindBadSignature},
		"alg confusion":    {forge(t, jwt.SigningMethodHS256, public, nil), ostiary.KindBadSignature},
		"access token":     {forge(t, jwt.SigningMethodEdDSA, key('k'), func(h map[string]any, _ jwt.MapClaims) { h["typ"] = "access+jwt" }), ostiary.KindBadSignature},
		"another kid":      {forge(t, jwt.SigningMethodEdDSA, key('k'), func(h map[string]any, _ jwt.MapClaims) { h["kid"] = "x" }), ostiary.KindBadSignature},
		"no exp":           {forge(t, jwt.SigningMethodEdDSA, key('k'), without("exp")), ostiary.KindBadSignature},
		"no nbf":           {forge(t, jwt.SigningMethodEdDSA, key('k'), without("nbf")), ostiary.KindBadSignature},
		"no jti":           {forge(t, jwt.SigningMethodEdDSA, key('k'), without("jti")), ostiary.KindBadSignature},
		"no once":          {forge(t, jwt.SigningMethodEdDSA, key('k'), without("once")), ostiary.KindBadSignature},
		"no audience":      {forge(t, jwt.SigningMethodEdDSA, key('k'), without("aud")), ostiary.KindBadSignature},
		"another audience": {forge(t, jwt.SigningMethodEdDSA, key('k'), func(_ map[string]any, c jwt.MapClaims) { c["aud"] = "you" }), ostiary.KindWrongAudience},
		"another issuer":   {forge(t, jwt.SigningMethodEdDSA, key('k'), func(_ map[string]any, c jwt.MapClaims) { c["iss"] = "x" }), ostiary.KindWrongAudience},
		"cut short":        {good[:len(good)-4], ostiary.KindBadSignature},
		"empty":            {"", ostiary.KindBadSignature},
		"garbage":          {"a.b.c", ostiary.KindBadSignature},
		"from the future":  {forge(t, jwt.SigningMethodEdDSA, key('k'), func(_ map[string]any, c jwt.MapClaims) { c["nbf"] = start.Add(time.Hour).Unix() }), ostiary.KindBadSignature},
	} {
		if g, err := a.Verify(c.token); ostiary.KindOf(err) != c.kind || g != (permit.Grant{}) {
			t.Errorf("%s: %+v, %v; want %s", name, g, err, c.kind)
		}
	}
}

func TestAnIncompleteAuthorityIsRefusedWithEveryReason(t *testing.T) {
	_, err := permit.New(permit.Config{TTL: time.Millisecond})
	for _, want := range []string{"Key", "Issuer", "Audience", "Now", "TTL"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestTheKeySetIsReadableByAStandardLibrary(t *testing.T) {
	now := start
	raw, err := json.Marshal(authority(t, key('k'), "me", &now).JWKS())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kty":"OKP"`, `"crv":"Ed25519"`, `"alg":"EdDSA"`, `"use":"sig"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %s", raw, want)
		}
	}
	if strings.Contains(string(raw), `"d"`) {
		t.Error("the key set holds the private half")
	}
}
