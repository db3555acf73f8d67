// Package bundle reads signed OPA bundles (https://www.openpolicyagent.org/docs/management-bundles) from a file or from an HTTP server. What
// is not signed by the operator's key, or is older than what was in force before, is refused.
package bundle
