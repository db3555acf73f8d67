# METADATA
# title: Where argument values came from
# description: What an untrusted result said must not choose the target of an effect unseen.
package policies.baseline.provenance

import rego.v2

# METADATA
# title: An untrusted value in an effect
# description: A tool that does more than read, or is a sink, gets a value that came from an untrusted result.
# labels: {owasp: [ASI01, ASI02], severity: high}
verdicts contains {
	"id": "provenance.untrusted_argument",
	"behavior": "ask",
	"reason": sprintf("the value at %s came from an untrusted result, not from the user", [arg.pointer]),
	"severity": "high",
} if {
	input.phase == "call"
	effect
	some arg in input.provenance.args
	arg.origin == "untrusted"
}

# METADATA
# title: A sink in a tainted session
# description: The session has read untrusted content, the tool is a sink, and not every value is the user's; behind a hook only after a suspected injection.
# labels: {owasp: [ASI01, ASI02], severity: high}
verdicts contains {
	"id": "provenance.tainted_sink",
	"behavior": "ask",
	"reason": "the session has read untrusted content, and this tool can carry data out or destroy it",
	"severity": "high",
} if {
	input.phase == "call"
	input.session.tainted
	sink
	closely_judged
	not user_asked
}

# METADATA
# title: An address from an injection
# description: After a suspected injection an open-world tool gets an address that came from an untrusted result.
# labels: {owasp: [ASI01, ASI02], severity: high}
verdicts contains {
	"id": "provenance.tainted_reach",
	"behavior": "ask",
	"reason": sprintf("the address at %s came from content that tried to give instructions", [arg.pointer]),
	"severity": "high",
} if {
	input.phase == "call"
	input.tool.annotations.open_world
	"injection_suspected" in input.session.labels
	some arg in input.provenance.args
	arg.role == "url"
	arg.origin == "untrusted"
}

# METADATA
# title: Origins were lost
# description: The session was tainted before an unclean stop, so where its values came from is not known, and the tool is a sink.
# labels: {owasp: ASI01, severity: high}
verdicts contains {
	"id": "provenance.unknown",
	"behavior": "ask",
	"reason": "where this session's values came from was lost in an unclean stop, so they count as untrusted",
	"severity": "high",
} if {
	input.phase == "call"
	input.session.carried
	sink
}

effect if not input.tool.annotations.read_only

effect if sink

sink if not input.tool.annotations.sensitive_sink == false

sink if not input.tool.annotations.destructive == false

# Behind a hook nearly every call is a shell command, so taint alone would ask at each of them.
closely_judged if not input.caller.profile == "hook"

closely_judged if "injection_suspected" in input.session.labels

user_asked if {
	input.request.known
	count(input.provenance.args) > 0
	every arg in input.provenance.args {
		arg.origin in {"user", "endorsed"}
	}
}
