# METADATA
# title: What a tool is
# description: Reads that an operator or we declared pass; undeclared tools ask, and so do those that changed.
# related_resources: [{ref: A2}, {ref: B3}]
package policies.baseline.tools

import rego.v2

# A hook's host has its own prompt, so there silence supervises as well as an allow would.

# METADATA
# title: A declared read
# description: An operator or we declared that the tool only reads, destroys nothing and is no sink (not behind a hook).
# labels: {owasp: ASI02, severity: info}
verdicts contains {
	"id": "tools.read_only",
	"behavior": "allow",
	"reason": "the tool only reads, and its declaration is vouched for",
	"severity": "info",
} if {
	input.phase == "call"
	input.tool.annotations_source in {"operator", "shipped"}
	input.tool.annotations.read_only
	input.tool.annotations.destructive == false
	input.tool.annotations.sensitive_sink == false
	input.caller.profile != "hook"
}

# METADATA
# title: An undeclared tool
# description: Nobody declared the tool, so it is taken to be the most dangerous (not behind a hook).
# labels: {owasp: [ASI02, ASI04], severity: medium}
verdicts contains {
	"id": "tools.undeclared",
	"behavior": "ask",
	"reason": "the tool is undeclared, so it is taken to be destructive, open to the world and a sensitive sink",
	"severity": "medium",
} if {
	input.phase == "call"
	not input.tool.annotations_source in {"operator", "shipped", "server"}
	not input.caller.profile == "hook"
}

# METADATA
# title: A declaration that changed
# description: The tool's declaration is another one than when this agent first called the tool, so what it does may be too. Approving a call accepts it.
# labels: {owasp: ASI04, severity: high}
verdicts contains {
	"id": "tools.drift",
	"behavior": "ask",
	"reason": "the tool's declaration changed since this agent first called it",
	"severity": "high",
} if {
	input.phase == "call"
	not input.tool.drifted == false
}
