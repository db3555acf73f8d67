package agent

import (
	"fmt"
	"slices"

	"ostiary/decision"
)

// Role is what a credential may do (wire.md §5, Roles).
type Role string

// Roles. Agent is the only one that calls tools, and it can never rule.
const (
	RoleAgent    Role = "agent"
	RoleViewer   Role = "viewer"
	RoleReviewer Role = "reviewer"
	RoleSenior   Role = "senior"
	RoleAuthor   Role = "author"
	RoleAdmin    Role = "admin"
)

// Profile says through what the agent reaches us; it fixes what happens when no rule speaks.
type Profile string

// Profiles of wire.md §4.
const (
	ProfileAPI     Profile = "api"
	ProfileMCP     Profile = "mcp"
	ProfileGateway Profile = "gateway"
	ProfileHook    Profile = "hook"
)

// Identity is a verified caller.
type Identity struct {
	Tenant  string
	Subject string // stable id; sessions belong to tenant and subject
	Name    string // for people
	Owner   string // the person an agent works for, when one is known
	Role    Role
	Profile Profile
	Session string // pinned session id, when the token carries one
}

// CanRule reports whether the caller may rule on reviews.
func (i Identity) CanRule() bool {
	return slices.Contains([]Role{RoleReviewer, RoleSenior, RoleAdmin}, i.Role)
}

// CanRead reports whether the caller may see the console.
func (i Identity) CanRead() bool { return i.Role != RoleAgent && i.Role != "" }

// CanAuthor reports whether the caller may change tools and policies.
func (i Identity) CanAuthor() bool { return i.Role == RoleAuthor || i.Role == RoleAdmin }

// DefaultBehavior is what happens to this agent's call when no rule speaks: a host behind a hook has its own prompt, nobody else has.
func (i Identity) DefaultBehavior() decision.Behavior {
	if i.Profile == ProfileHook {
		return decision.Passthrough
	}
	return decision.Ask
}

// ParseRole reads a role's exact word.
func ParseRole(s string) (Role, error) {
	r := Role(s)
	if !slices.Contains([]Role{RoleAgent, RoleViewer, RoleReviewer, RoleSenior, RoleAuthor, RoleAdmin}, r) {
		return "", fmt.Errorf("role %q: want agent, viewer, reviewer, senior, author or admin", s)
	}
	return r, nil
}

// ParseProfile reads a profile's exact word.
func ParseProfile(s string) (Profile, error) {
	p := Profile(s)
	if !slices.Contains([]Profile{ProfileAPI, ProfileMCP, ProfileGateway, ProfileHook}, p) {
		return "", fmt.Errorf("profile %q: want api, mcp, gateway or hook", s)
	}
	return p, nil
}
