# METADATA
# title: The OWASP Top 10 for agentic applications
# description: |
#   Rules for what the baseline and the other packs leave open. Most of the ten are only partly a policy's to decide; the table says which
#   part is. Every rule of every pack names its risks in its metadata.
# custom:
#   risks:
#     - {id: ASI01, title: Agent goal hijack, decides: "effects after a suspected injection, and values from untrusted results in them", cannot: "see a goal that changed in the model without a trace in results or arguments"}
#     - {id: ASI02, title: Tool misuse and exploitation, decides: "which tool gets what, by declaration, parsed commands, SQL and origin of values", cannot: "judge whether a permitted call is sensible"}
#     - {id: ASI03, title: Identity and privilege abuse, decides: "secrets named or passed on, more rights in a shell or a database", cannot: "see what a credential of the tool's own may do elsewhere"}
#     - {id: ASI04, title: Agentic supply chain, decides: "undeclared tools, installs from addresses, readers that write", cannot: "vouch for a server or a package; a declaration that changed voids its approvals in Go, without a rule"}
#     - {id: ASI05, title: Unexpected code execution, decides: "code that nobody can read beforehand, and code out of suspected content", cannot: "follow a script or a program that lies in a file"}
#     - {id: ASI06, title: Memory and context poisoning, decides: "writes to files and tools of memory by a tainted session", cannot: "clean a memory that the agent keeps without a tool call"}
#     - {id: ASI07, title: Insecure inter-agent communication, decides: "untrusted values handed to another agent, as to any tool with an effect", cannot: "authenticate messages between agents; credentials bind each to its tenant and owner"}
#     - {id: ASI08, title: Cascading failures, decides: "errors in a row, iterations, budgets", cannot: "see failures between systems that make no calls here"}
#     - {id: ASI09, title: Human-agent trust exploitation, decides: "that a reviewer gives a reason where an injection chose the values, and uncertain callers", cannot: "make anybody read; the console shows every character"}
#     - {id: ASI10, title: Rogue agents, decides: "attempts on the supervision itself, its files, its process, and what outlives a session", cannot: "stop an agent that runs tools without asking"}
package policies.pack_owasp_agentic.agentic

import rego.v2

# METADATA
# title: An effect after a suspected injection
# description: The session has read text that tried to give instructions, and the tool changes something. Sinks and destructive tools are the baseline's (provenance.tainted_sink).
# labels: {owasp: ASI01, severity: high}
verdicts contains {
	"id": "agentic.goal_hijack",
	"behavior": "ask",
	"reason": "the session has read text that tried to give instructions, and this call changes something",
	"severity": "high",
} if {
	input.phase == "call"
	suspected
	not input.tool.annotations.read_only
	not sink
	not user_asked
}

# METADATA
# title: A reader that runs commands
# description: A tool that is declared to only read gets a shell command.
# labels: {owasp: [ASI02, ASI04, ASI05], severity: high}
verdicts contains {
	"id": "agentic.reader_runs",
	"behavior": "ask",
	"reason": "the tool is declared to only read, and it is given a shell command",
	"severity": "high",
} if {
	input.phase == "call"
	input.tool.annotations.read_only
	some c in input.parsed.commands
	not c.name in {"", "view", "read", "list", "get", "search", "find", "ls", "cat", "grep", "status", "show", "help", "open"}
}

# METADATA
# title: A secret handed on
# description: A tool that reaches out gets a credential that is not the user's own word.
# labels: {owasp: ASI03, severity: high}
verdicts contains {
	"id": "agentic.secret_argument",
	"behavior": "ask",
	"reason": sprintf("the secret at %s is not the user's own word, and the tool reaches out", [arg.pointer]),
	"severity": "high",
} if {
	input.phase == "call"
	not input.tool.annotations.open_world == false
	some arg in input.provenance.args
	arg.role == "secret"
	not arg.origin in {"user", "endorsed"}
}

# METADATA
# title: Code out of suspected content
# description: A shell command, SQL or a path to run came from an untrusted result, in a session that has read text that tried to give instructions.
# labels: {owasp: [ASI01, ASI05], severity: high}
verdicts contains {
	"id": "agentic.injected_code",
	"behavior": "deny",
	"reason": sprintf("the code at %s came from content, and the session has read text that tried to give instructions", [arg.pointer]),
	"severity": "high",
} if {
	input.phase == "call"
	suspected
	not input.tool.annotations.read_only
	some arg in input.provenance.args
	arg.role in {"shell_command", "sql"}
	arg.origin == "untrusted"
}

# METADATA
# title: A memory written by a tainted session
# description: A tainted session changes what agents read at every start (CLAUDE.md, AGENTS.md, rules, memories), or calls a tool of a memory that changes it.
# labels: {owasp: ASI06, severity: high}
verdicts contains {
	"id": "agentic.memory_write",
	"behavior": "ask",
	"reason": "the session has read untrusted content, and this call changes what agents will remember",
	"severity": "high",
} if {
	input.phase == "call"
	input.session.tainted
	not input.tool.annotations.read_only
	remembers
}

# METADATA
# title: A reason for what an injection chose
# description: After a suspected injection a sink gets a value from an untrusted result. The baseline asks; this makes whoever approves write down why.
# labels: {owasp: [ASI09, ASI01], severity: high}
verdicts contains {
	"id": "agentic.say_why",
	"behavior": "ask",
	"reason": "content that tried to give instructions chose a value of this call; whoever approves it says why",
	"severity": "high",
	"obligations": ["reason"],
} if {
	input.phase == "call"
	suspected
	sink
	some arg in input.provenance.args
	arg.origin == "untrusted"
}

# METADATA
# title: The supervision is stopped
# description: A command would stop or restart the sidecar, or hide it from clients (pkill, killall, systemctl, service, launchctl or unset on ostiary).
# labels: {owasp: ASI10, severity: high}
verdicts contains {
	"id": "agentic.supervision",
	"behavior": "ask",
	"reason": sprintf("%s would stop what supervises this agent", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	c.name in {"pkill", "killall", "systemctl", "service", "launchctl", "unset"}
	some arg in c.args
	regex.match(`(?i)ostiary|^sidecar`, arg)
}

suspected if "injection_suspected" in input.session.labels

sink if not input.tool.annotations.sensitive_sink == false

sink if not input.tool.annotations.destructive == false

user_asked if {
	input.request.known
	count(input.provenance.args) > 0
	every arg in input.provenance.args {
		arg.origin in {"user", "endorsed"}
	}
}

remembers if {
	not only_reads
	some file in input.parsed.files
	regex.match(`(^|/)((CLAUDE|AGENTS|GEMINI|MEMORY|copilot-instructions)(\.local)?\.md|\.cursorrules|\.windsurfrules|\.clinerules|\.(claude|codex|cursor|gemini|windsurf)/.*\.(md|mdc))$`, file)
}

# A shell that does nothing but look.
only_reads if {
	count(input.parsed.commands) > 0
	every c in input.parsed.commands {
		c.name in {"cat", "head", "tail", "less", "grep", "rg", "wc", "ls", "diff", "stat", "cd", "sort", "nl", "bat"}
		every r in c.redirects {
			r.op == "<"
		}
	}
}

remembers if contains(lower(input.tool.namespace), "memory")

remembers if regex.match(`(?i)(^|[_-])(memory|memories|remember|memorize)([_-]|$)`, input.tool.name)
