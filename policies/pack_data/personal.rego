# METADATA
# title: Personal data on its way out
# description: What was read of people must not leave unseen.
package policies.pack_data.personal

import rego.v2

# METADATA
# title: A sink after personal data
# description: The session has read personal data, and the tool can carry data away that is not the user's own words. It speaks where the baseline leaves sinks to provenance (posture balanced), and not behind a hook, where every shell command is a sink.
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "personal.sink",
	"behavior": "ask",
	"reason": "the session has read personal data, and this tool can carry data out",
	"severity": "high",
} if {
	input.phase == "call"
	"pii" in input.session.labels
	not input.tool.annotations.sensitive_sink == false
	not input.caller.profile == "hook"
	data.ostiary.baseline.sink_mode != "always"
	not users_own_words
}

# What the user said, or a person has approved, carries nothing out that was read.
users_own_words if {
	input.request.known
	count(input.provenance.args) > 0
	every arg in input.provenance.args {
		arg.origin in {"user", "endorsed"}
	}
}
