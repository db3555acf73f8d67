package ostiary

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is a stable, countable word for why something was refused. Clients branch on it; it never changes meaning.
type Kind string

// Kinds of requests that cannot be read.
const (
	KindMalformedJSON    Kind = "malformed_json"
	KindDuplicateKey     Kind = "malformed_duplicate_key"
	KindInvalidUTF8      Kind = "malformed_utf8"
	KindUnsafeNumber     Kind = "malformed_number"
	KindTrailingData     Kind = "malformed_trailing_data"
	KindUnknownField     Kind = "unknown_field"
	KindMissingField     Kind = "missing_field"
	KindInvalidField     Kind = "invalid_field"
	KindTooDeep          Kind = "too_deep"
	KindTooManyKeys      Kind = "too_many_keys"
	KindTooLarge         Kind = "too_large"
	KindUnsupportedMedia Kind = "unsupported_media_type"
)

// Kinds of requests that may not be made.
const (
	KindUnauthorized  Kind = "unauthorized"
	KindRole          Kind = "role"
	KindWrongSession  Kind = "wrong_session"
	KindForbiddenHost Kind = "forbidden_host"
	KindCrossOrigin   Kind = "cross_origin"
	KindNotFound      Kind = "not_found"
	KindMethod        Kind = "method_not_allowed"
	KindConflict      Kind = "conflict"
	KindTooManyTries  Kind = "too_many_attempts"
	KindIdempotency   Kind = "idempotency_key_reused"
)

// Kinds of the review protocol (wire.md §3).
const (
	KindSelfApproval   Kind = "self_approval"
	KindSamePerson     Kind = "quorum_same_person"
	KindAlreadyDecided Kind = "already_decided"
	KindStaleVersion   Kind = "stale_version"
	KindReviewExpired  Kind = "expired"
	KindEditDenied     Kind = "edit_denied_by_policy"
	KindLeased         Kind = "leased"
	KindViewIncomplete Kind = "view_incomplete"
	KindReasonRequired Kind = "reason_required"
	KindNotDurable     Kind = "not_durable"
)

// Kinds of a permit that cannot be redeemed (wire.md §2).
const (
	KindConsumed      Kind = "consumed"
	KindPermitExpired Kind = "expired"
	KindArgsMismatch  Kind = "args_mismatch"
	KindToolMismatch  Kind = "tool_mismatch"
	KindToolChanged   Kind = "tool_changed"
	KindPolicyChanged Kind = "policy_changed"
	KindWrongAudience Kind = "wrong_audience"
	KindBadSignature  Kind = "bad_signature"
	KindRevoked       Kind = "revoked"
)

// Kinds of something missing on our side (trust.md §3).
const (
	KindPolicyTimeout    Kind = "policy_timeout"
	KindPolicyUndefined  Kind = "policy_undefined"
	KindPolicyError      Kind = "policy_error"
	KindPolicyBroken     Kind = "policy_broken"
	KindNoPolicy         Kind = "no_policy"
	KindAuditUnavailable Kind = "audit_unavailable"
	KindTaintUnknown     Kind = "taint_unknown"
	KindQueueFull        Kind = "queue_full"
	KindNoKey            Kind = "no_key"
	KindSanitizer        Kind = "sanitizer_error"
	KindUpstream         Kind = "upstream_error"
	KindShuttingDown     Kind = "shutting_down"
	KindConfigInvalid    Kind = "config_invalid"
	KindInternal         Kind = "internal_error"
)

// Error separates what is said to the caller from what is logged.
type Error struct {
	Kind Kind
	// Msg is one sentence for the caller. It holds no secret, no path of ours, no argument value.
	Msg string
	// Fix says what to do next; empty when the kind says it already.
	Fix string
	// Pointer is the RFC 6901 place of the fault in the request, when there is one.
	Pointer string
	// Err is the cause; it is logged, never sent.
	Err error
}

// Errorf returns an Error of a kind with a formatted message and no cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error of a kind that says msg and logs err.
func Wrap(kind Kind, err error, msg string) *Error {
	return &Error{Kind: kind, Msg: msg, Err: err}
}

// WithFix returns a copy of e that also says what to do next.
func (e *Error) WithFix(fix string) *Error {
	c := *e
	c.Fix = fix
	return &c
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Msg != "" {
		b.WriteString(": " + e.Msg)
	}
	if e.Pointer != "" {
		b.WriteString(" (at " + e.Pointer + ")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error of the same kind, so that errors.Is(err, &Error{Kind: k}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Msg == "" && t.Err == nil && t.Kind == e.Kind
}

// KindOf returns the kind of the first Error in err's tree; anything else is KindInternal. It returns "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// Public returns what may be said of err. An error that is no [Error] becomes a fixed sentence.
func Public(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Kind: e.Kind, Msg: e.Msg, Fix: e.Fix, Pointer: e.Pointer}
	}
	return &Error{Kind: KindInternal, Msg: "internal error", Fix: "look for the request id in the sidecar's log"}
}
