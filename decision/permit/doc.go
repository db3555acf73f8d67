// Package permit mints and verifies permits: signed, short-lived rights to run exactly one call (review.md §3).
//
// A permit is a JWT (RFC 7519) signed with EdDSA, typ "permit+jwt". It is bound to the digest of the call, to the digest of the exact
// bytes, to the session, the tool and its definition, the policy revision, and one audience. That it is used once is kept by whoever
// redeems it, under its jti.
package permit
