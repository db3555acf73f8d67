# METADATA
# title: Where harm can be done
# description: |
#   Destructive tools and sensitive sinks ask (A22). sink_mode "always" asks every time; "provenance" trusts a call whose
#   argument values are the user's own, and is what calls behind a hook are judged by.
package policies.baseline.sinks

import rego.v2

# METADATA
# title: A destructive tool
# description: A declared tool can destroy or overwrite (posture strict, not behind a hook).
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "sinks.destructive",
	"behavior": "ask",
	"reason": "the tool can destroy or overwrite what is there",
	"severity": "high",
} if {
	input.phase == "call"
	declared
	not input.tool.annotations.destructive == false
	judged_always
}

# METADATA
# title: A sensitive sink
# description: A declared tool can carry data or money away (posture strict, not behind a hook).
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "sinks.sensitive",
	"behavior": "ask",
	"reason": "the tool can carry data or money to where it cannot be called back",
	"severity": "high",
} if {
	input.phase == "call"
	declared
	not input.tool.annotations.sensitive_sink == false
	judged_always
}

# METADATA
# title: What the user asked for
# description: Posture balanced, not behind a hook, a vouched-for declaration, and every argument value stands in the user's own words or was endorsed.
# labels: {owasp: ASI02, severity: info}
verdicts contains {
	"id": "sinks.user_asked",
	"behavior": "allow",
	"reason": "every argument value stands in the user's own words",
	"severity": "info",
} if {
	input.phase == "call"
	input.caller.profile != "hook"
	input.tool.annotations_source in {"operator", "shipped"}
	not judged_always
	input.request.known
	count(input.provenance.args) > 0
	every arg in input.provenance.args {
		arg.origin in {"user", "endorsed"}
	}
}

# Undeclared tools have a rule of their own, which says so.
declared if input.tool.annotations_source in {"operator", "shipped", "server"}

judged_always if {
	data.ostiary.baseline.sink_mode == "always"
	not input.caller.profile == "hook"
}
