# METADATA
# title: Protected paths
# description: Our own keys, state and policies, and the hook settings of coding agents, are not the agent's to touch.
package policies.baseline.paths

import rego.v2

# METADATA
# title: The sidecar's own files
# description: The call names a path at or below one of baseline.own_paths (keys, state, policies, declarations).
# labels: {owasp: [ASI03, ASI10], severity: high}
verdicts contains {
	"id": "paths.own_state",
	"behavior": "deny",
	"reason": "the call touches the sidecar's own state, keys or policies",
	"severity": "high",
	"blocked_path": path,
} if {
	input.phase == "call"
	some path in input.parsed.paths
	strings.any_prefix_match(concat("", [path, "/"]), data.ostiary.baseline.own_paths) # which end in a slash, and are no globs
}

# METADATA
# title: Settings of supervision
# description: A tool that does more than read names a file that puts an agent under supervision (baseline.hook_settings).
# labels: {owasp: ASI10, severity: high}
verdicts contains {
	"id": "paths.hook_settings",
	"behavior": "deny",
	"reason": "the call could change the settings that put this agent under supervision",
	"severity": "high",
	"blocked_path": path,
} if {
	input.phase == "call"
	not input.tool.annotations.read_only
	some path in input.parsed.paths
	some pattern in data.ostiary.baseline.hook_settings
	glob.match(pattern, ["/"], path)
}
