package credential_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/credential"
)

func issuer(t *testing.T, seed string, now *time.Time) *credential.Issuer {
	t.Helper()
	i, err := credential.New(ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, ed25519.SeedSize))), func() time.Time { return *now })
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestATokenOpensOnlyItsOwnDoor(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	i := issuer(t, "k", &now)
	for role, doors := range map[agent.Role][2]ostiary.Kind{
		agent.RoleAgent: {"", ostiary.KindRole}, agent.RoleViewer: {ostiary.KindRole, ""}, agent.RoleReviewer: {ostiary.KindRole, ""},
		agent.RoleSenior: {ostiary.KindRole, ""}, agent.RoleAuthor: {"", ""}, agent.RoleAdmin: {"", ""},
	} {
		want := agent.Identity{Tenant: "t", Subject: "s", Name: "n", Owner: "o", Role: role, Profile: agent.ProfileHook, Session: "x"}
		token, err := i.Mint(want, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for d, audience := range []string{credential.AudienceAgents, credential.AudienceReviewers} {
			got, err := i.Check(token, audience)
			if ostiary.KindOf(err) != doors[d] || err == nil && got != want {
				t.Errorf("%s at %s: %+v, %v; want %q", role, audience, got, err, doors[d])
			}
		}
	}
}

func TestABadTokenIsUnauthorized(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	i, other := issuer(t, "k", &now), issuer(t, "x", &now)
	who := agent.Identity{Tenant: "t", Subject: "s", Name: "n", Role: agent.RoleAgent}
	good, err1 := i.Mint(who, time.Minute)
	foreign, err2 := other.Mint(who, time.Minute)
	anonymous, err3 := i.Mint(agent.Identity{Tenant: "t", Name: "n", Role: agent.RoleAgent}, time.Minute)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	for name, token := range map[string]string{"foreign": foreign, "empty": "", "garbage": "x.y.z", "cut": good[:len(good)-3], "no subject": anonymous} {
		if _, err := i.Check(token, credential.AudienceAgents); ostiary.KindOf(err) != ostiary.KindUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := i.Check(good, credential.AudienceAgents); err != nil {
		t.Errorf("good: %v", err)
	}
	now = now.Add(time.Minute)
	if _, err := i.Check(good, credential.AudienceAgents); ostiary.KindOf(err) != ostiary.KindUnauthorized {
		t.Errorf("expired: %v", err)
	}
}
