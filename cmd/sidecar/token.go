package main

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ostiary"
	"ostiary/agent"
	"ostiary/agent/credential"
	"ostiary/internal/config"
	"ostiary/internal/datadir"
)

func publicKey(key ed25519.PrivateKey) ed25519.PublicKey {
	return key.Public().(ed25519.PublicKey) //nolint:forcetypeassert // an ed25519 key has an ed25519 public half
}

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Mint credentials for agents and reviewers"}
	cmd.AddCommand(mintCommand())
	return cmd
}

func mintCommand() *cobra.Command {
	var role, name, owner, profile, tenant, data string
	var ttl time.Duration
	cmd := &cobra.Command{Use: "mint", Short: "Print a bearer token", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		who, err := identity(role, name, owner, profile, tenant)
		if err != nil {
			return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the token was not minted")
		}
		if data == "" {
			if data, err = config.DefaultData(); err != nil {
				return err
			}
		}
		key, err := datadir.SigningKeyAt(data, "access")
		if err != nil {
			return err
		}
		issuer, err := credential.New(key, now)
		if err != nil {
			return err
		}
		token, err := issuer.Mint(who, ttl)
		if err != nil {
			return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the token was not minted")
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
		return err
	}}
	f := cmd.Flags()
	f.StringVar(&role, "role", "", "agent, viewer, reviewer, senior, author or admin")
	f.StringVar(&name, "name", "", "who holds it, as people will read it")
	f.StringVar(&owner, "owner", "", "the person an agent works for; may not rule on its calls")
	f.StringVar(&profile, "profile", "api", "for agents: api, mcp, gateway or hook")
	f.StringVar(&tenant, "tenant", "default", "the tenant")
	f.DurationVar(&ttl, "ttl", 8*time.Hour, "how long it is good")
	f.StringVar(&data, "data", "", "the sidecar's data directory (default $XDG_STATE_HOME/ostiary)")
	return cmd
}

// identity checks the flags. An agent's subject is its name, so that its sessions outlive its token.
func identity(role, name, owner, profile, tenant string) (agent.Identity, error) {
	r, err := agent.ParseRole(role)
	if err != nil {
		return agent.Identity{}, err
	}
	if name = strings.TrimSpace(name); name == "" || tenant == "" {
		return agent.Identity{}, fmt.Errorf("--name and --tenant must not be empty")
	}
	who := agent.Identity{Tenant: tenant, Subject: string(r) + ":" + name, Name: name, Role: r}
	if r == agent.RoleAgent {
		who.Owner = owner
		who.Profile, err = agent.ParseProfile(profile)
	}
	return who, err
}
