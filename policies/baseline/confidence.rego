# METADATA
# title: How sure the caller is
# description: Uncertain verdicts, low confidence and missing evidence ask (A19, A20, A21). An absent confidence is not a low one.
package policies.baseline.confidence

import rego.v2

# METADATA
# title: The caller is uncertain
# description: The caller's own verdict is one of baseline.uncertain_verdicts.
# labels: {owasp: ASI09, severity: medium}
verdicts contains {
	"id": "confidence.uncertain",
	"behavior": "ask",
	"reason": "the caller's own verdict is uncertain",
	"severity": "medium",
} if {
	input.phase in {"call", "conclusion"}
	input.caller.verdict in data.ostiary.baseline.uncertain_verdicts
}

# METADATA
# title: Low confidence
# description: The reported confidence is below baseline.threshold_low; an absent one is not low.
# labels: {owasp: ASI09, severity: medium}
verdicts contains {
	"id": "confidence.low",
	"behavior": "ask",
	"reason": sprintf("the caller's confidence is below %v", [data.ostiary.baseline.threshold_low]),
	"severity": "medium",
} if {
	input.phase in {"call", "conclusion"}
	input.caller.confidence < data.ostiary.baseline.threshold_low
}

# METADATA
# title: A promised confidence is missing
# description: The caller is known to report its confidence, and did not for this call.
# labels: {owasp: ASI09, severity: medium}
verdicts contains {
	"id": "confidence.not_reported",
	"behavior": "ask",
	"reason": "this caller reports its confidence, and did not for this call",
	"severity": "medium",
} if {
	input.phase == "call"
	input.caller.reports_confidence
	not input.caller.confidence
}

# METADATA
# title: Evidence is missing
# description: The evidence is degraded, empty or in error, or a warning of baseline.evidence_warnings came with it.
# labels: {owasp: ASI09, severity: medium}
verdicts contains {
	"id": "confidence.evidence_missing",
	"behavior": "ask",
	"reason": "evidence that this rests on is missing or degraded",
	"severity": "medium",
} if {
	input.phase in {"call", "conclusion"}
	evidence_missing
}

evidence_missing if input.evidence.status in {"degraded", "empty", "error"}

evidence_missing if {
	some warning in input.evidence.warnings
	warning in data.ostiary.baseline.evidence_warnings
}
