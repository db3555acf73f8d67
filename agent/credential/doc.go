// Package credential mints and checks the bearer tokens of agents and reviewers: JWTs signed with EdDSA, typ "access+jwt", one audience per
// listener, so that an agent's token is worth nothing at the reviewers' door.
package credential
