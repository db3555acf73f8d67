# METADATA
# title: How the session is going
# description: Exhausted budgets, iterations and repeated errors ask (A23).
package policies.baseline.session

import rego.v2

# METADATA
# title: Errors in a row
# description: The last baseline.error_streak calls of the session failed, and the tool does more than read.
# labels: {owasp: ASI08, severity: medium}
verdicts contains {
	"id": "session.error_streak",
	"behavior": "ask",
	"reason": sprintf("the last %d calls of this session failed", [input.session.error_streak]),
	"severity": "medium",
} if {
	input.phase == "call"
	input.session.error_streak >= data.ostiary.baseline.error_streak
	not input.tool.annotations.read_only
}

# METADATA
# title: Too many iterations
# description: The session is past its maximum of iterations.
# labels: {owasp: [ASI08, ASI10], severity: medium}
verdicts contains {
	"id": "session.iterations",
	"behavior": "ask",
	"reason": "the session is past its maximum of iterations",
	"severity": "medium",
} if {
	input.phase == "call"
	input.session.iteration_over
}

# METADATA
# title: The budget is used up
# description: The session is past its budget of calls.
# labels: {owasp: [ASI08, ASI10], severity: medium}
verdicts contains {
	"id": "session.budget",
	"behavior": "ask",
	"reason": "the session has used up its budget of calls",
	"severity": "medium",
} if {
	input.phase == "call"
	input.session.over_budget
}
