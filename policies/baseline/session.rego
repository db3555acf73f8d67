# METADATA
# title: How the session is going
# description: Exhausted budgets, iterations and repeated errors ask (A23).
package policies.baseline.session

import rego.v2

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

verdicts contains {
	"id": "session.iterations",
	"behavior": "ask",
	"reason": "the session is past its maximum of iterations",
	"severity": "medium",
} if {
	input.phase == "call"
	input.session.iteration_over
}

verdicts contains {
	"id": "session.budget",
	"behavior": "ask",
	"reason": "the session has used up its budget of calls",
	"severity": "medium",
} if {
	input.phase == "call"
	input.session.over_budget
}
