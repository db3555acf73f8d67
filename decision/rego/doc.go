// Package rego is the policy engine: it loads Rego packs into an immutable snapshot and evaluates them with embedded OPA.
//
// Nothing here fails open. A snapshot that does not compile strictly is refused with file and line; an evaluation that errs, times out,
// is undefined or answers something malformed is an error, and its Outcome denies (policy.md §1, §2).
package rego
