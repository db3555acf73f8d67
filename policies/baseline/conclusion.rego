# METADATA
# title: What an agent concludes
# description: A conclusion of a session that has read text from outside says so. Whether the agent is sure enough, confidence decides.
package policies.baseline.conclusion

import rego.v2

# METADATA
# title: A conclusion that rests on text from outside
# description: The session has read untrusted content, or its history was lost in a crash, so the conclusion is marked "inferred from text, needs review" (A18).
# labels: {owasp: [ASI06, ASI09], severity: low}
verdicts contains {
	"id": "conclusion.inferred",
	"behavior": "allow",
	"reason": "the session has read text from outside, so the conclusion is marked: inferred from text, needs review",
	"severity": "low",
	"obligations": ["cite_as_inferred"],
} if {
	input.phase == "conclusion"
	from_outside
}

from_outside if not input.session.tainted == false

from_outside if not input.session.carried == false
