# METADATA
# title: What these tests let a shell do
# description: Commands are told apart by their first word, so that one policy gives every behavior.
package policies.operator.shell

import rego.v2

verdicts contains {"id": "shell.no_removal", "behavior": "deny", "reason": "removing is not allowed here", "severity": "high"} if {
	input.phase == "call"
	startswith(input.args.command, "rm ")
}

verdicts contains {"id": "shell.no_echo", "behavior": "deny", "reason": "writing the proof is not allowed here", "severity": "high"} if {
	input.phase == "call"
	startswith(input.args.command, "echo ran")
}

verdicts contains {"id": "shell.ask", "behavior": "ask", "reason": "publishing needs a person", "severity": "high"} if {
	input.phase == "call"
	startswith(input.args.command, "publish ")
}

verdicts contains {"id": "shell.list", "behavior": "allow", "reason": "listing is harmless", "severity": "info"} if {
	input.phase == "call"
	input.args.command == "ls"
}

verdicts contains {"id": "shell.say_why", "behavior": "ask", "reason": "a release needs a person who says why", "obligations": ["reason"]} if {
	input.phase == "call"
	startswith(input.args.command, "release ")
}
