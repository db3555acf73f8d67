// Package agent says who calls: an agent with its profile, or a person with a role.
package agent
