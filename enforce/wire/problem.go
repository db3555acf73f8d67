package wire

import (
	"net/http"

	"ostiary"
)

// statuses is the one table from kinds to HTTP status; a kind that is missing here is a 500, and a test walks them all.
var statuses = map[ostiary.Kind]int{
	ostiary.KindMalformedJSON: 400, ostiary.KindDuplicateKey: 400, ostiary.KindInvalidUTF8: 400, ostiary.KindUnsafeNumber: 400,
	ostiary.KindTrailingData: 400, ostiary.KindUnknownField: 400, ostiary.KindMissingField: 400, ostiary.KindInvalidField: 400,
	ostiary.KindTooDeep: 400, ostiary.KindTooManyKeys: 400, ostiary.KindTooLarge: 413, ostiary.KindUnsupportedMedia: 415,

	ostiary.KindUnauthorized: 401, ostiary.KindRole: 403, ostiary.KindWrongSession: 403, ostiary.KindForbiddenHost: 403,
	ostiary.KindCrossOrigin: 403, ostiary.KindNotFound: 404, ostiary.KindMethod: 405, ostiary.KindConflict: 409, ostiary.KindTooManyTries: 429, ostiary.KindIdempotency: 422,

	ostiary.KindSelfApproval: 403, ostiary.KindSamePerson: 403, ostiary.KindAlreadyDecided: 409, ostiary.KindStaleVersion: 409,
	ostiary.KindReviewExpired: 410, ostiary.KindEditDenied: 422, ostiary.KindLeased: 423, ostiary.KindViewIncomplete: 428,
	ostiary.KindReasonRequired: 428, ostiary.KindNotDurable: 503,

	ostiary.KindConsumed: 409, ostiary.KindArgsMismatch: 403, ostiary.KindToolMismatch: 403, ostiary.KindToolChanged: 403,
	ostiary.KindPolicyChanged: 403, ostiary.KindWrongAudience: 403, ostiary.KindBadSignature: 403, ostiary.KindRevoked: 403,

	ostiary.KindPolicyTimeout: 503, ostiary.KindPolicyUndefined: 503, ostiary.KindPolicyError: 503, ostiary.KindPolicyBroken: 422,
	ostiary.KindNoPolicy: 503, ostiary.KindAuditUnavailable: 503, ostiary.KindTaintUnknown: 503, ostiary.KindQueueFull: 503,
	ostiary.KindNoKey: 503, ostiary.KindSanitizer: 503, ostiary.KindUpstream: 502, ostiary.KindShuttingDown: 503,
	ostiary.KindConfigInvalid: 500, ostiary.KindInternal: 500,
}

// Status returns the HTTP status of a kind.
func Status(k ostiary.Kind) int {
	if s, ok := statuses[k]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// ProblemOf is what may be said of an error, as a problem document. The cause is not in it.
func ProblemOf(err error, requestID string) Problem {
	said := ostiary.Public(err)
	status := Status(said.Kind)
	return Problem{
		Type: "urn:ostiary:problem:" + string(said.Kind), Title: http.StatusText(status), Status: status, Kind: string(said.Kind),
		Detail: said.Msg, Fix: said.Fix, Pointer: said.Pointer, Request: requestID,
	}
}
