// Package testkit runs the real sidecar binary for tests: it builds it once, starts it on free ports, and speaks to it as agents and
// reviewers do. Only tests import it.
package testkit
