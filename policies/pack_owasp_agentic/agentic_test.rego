package policies.pack_owasp_agentic.agentic_test

import data.policies.pack_owasp_agentic.agentic
import rego.v2

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in agentic.verdicts} with input as doc
}

reasons(doc) := out if {
	out := {v.reason | some v in agentic.verdicts} with input as doc
}

# A harmless effect of the model's own, in a clean session.
plain := {
	"phase": "call",
	"tool": {"namespace": "x", "name": "edit", "annotations": {"read_only": false, "destructive": false, "sensitive_sink": false, "open_world": false}},
	"session": {"tainted": false, "labels": []},
	"request": {"known": true},
	"provenance": {"args": [{"pointer": "/a", "role": "text", "origin": "user"}, {"pointer": "/b", "role": "text", "origin": "model"}]},
	"parsed": {"commands": [], "files": ["/w/a.go"]},
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

result(doc) := changed(doc, "/phase", "result")

risk(doc, name, value) := changed(doc, concat("", ["/tool/annotations/", name]), value)

ask(rule) := ["ask", concat(".", ["agentic", rule]), "high"]

suspected := changed(plain, "/session/labels", ["untrusted", "injection_suspected"])

users(doc) := changed(doc, "/provenance/args", [{"pointer": "/a", "role": "text", "origin": "user"}, {"pointer": "/b", "role": "text", "origin": "endorsed"}])

test_goal_hijack_fires if {
	said(suspected) == {ask("goal_hijack")}
	said(changed(users(suspected), "/request/known", false)) == {ask("goal_hijack")}
	said(changed(suspected, "/provenance/args", [])) == {ask("goal_hijack")}
}

test_goal_hijack_silent if {
	said(plain) == set()
	said(result(suspected)) == set()
	said(users(suspected)) == set()
	said(risk(suspected, "read_only", true)) == set()
	said(risk(suspected, "destructive", true)) == set()
	said(risk(suspected, "sensitive_sink", true)) == set()
}

test_goal_hijack_absent if {
	said(lacking(suspected, "/tool/annotations/read_only")) == {ask("goal_hijack")}
	said(lacking(users(suspected), "/request")) == {ask("goal_hijack")}
	said(lacking(users(suspected), "/provenance")) == {ask("goal_hijack")}
	said(lacking(users(suspected), "/provenance/args/0/origin")) == {ask("goal_hijack")}
	said(lacking(suspected, "/tool/annotations/destructive")) == set() # the baseline takes it for a sink
	said(lacking(suspected, "/session/labels")) == set()
	said(lacking(suspected, "/phase")) == set()
}

running(names) := changed(risk(plain, "read_only", true), "/parsed/commands", [{"name": name, "args": []} | some name in names])

test_reader_runs_fires if said(running(["ls", "rm"])) == {ask("reader_runs")}

test_reader_runs_silent if {
	said(running(["view", "ls", ""])) == set()
	said(risk(running(["rm"]), "read_only", false)) == set()
	said(result(running(["rm"]))) == set()
}

test_reader_runs_absent if {
	said(lacking(running(["rm"]), "/tool/annotations/read_only")) == set()
	said(lacking(running(["rm"]), "/parsed/commands")) == set()
	said(lacking(running(["rm"]), "/phase")) == set()
}

passing(origin) := risk(changed(plain, "/provenance/args", [{"pointer": "/a", "role": "text", "origin": "model"}, {"pointer": "/password", "role": "secret", "origin": origin}]), "open_world", true)

test_secret_argument_fires if {
	said(passing("model")) == {ask("secret_argument")}
	said(passing("untrusted")) == {ask("secret_argument")}
	reasons(passing("model")) == {"the secret at /password is not the user's own word, and the tool reaches out"}
}

test_secret_argument_silent if {
	said(passing("user")) == set()
	said(passing("endorsed")) == set()
	said(changed(passing("model"), "/provenance/args/1/role", "text")) == set()
	said(risk(passing("model"), "open_world", false)) == set()
	said(result(passing("model"))) == set()
}

test_secret_argument_absent if {
	said(lacking(passing("user"), "/provenance/args/1/origin")) == {ask("secret_argument")}
	said(lacking(risk(passing("model"), "open_world", false), "/tool/annotations/open_world")) == {ask("secret_argument")}
	said(lacking(passing("model"), "/provenance/args/1/role")) == set()
	said(lacking(passing("model"), "/provenance")) == set()
	said(lacking(passing("model"), "/phase")) == set()
}

code(role, origin) := changed(suspected, "/provenance/args", [{"pointer": "/a", "role": "text", "origin": "untrusted"}, {"pointer": "/c", "role": role, "origin": origin}])

injected := ["deny", "agentic.injected_code", "high"]

test_injected_code_fires if {
	every role in ["shell_command", "sql"] {
		said(code(role, "untrusted")) == {injected, ask("goal_hijack")}
	}
	"the code at /c came from content, and the session has read text that tried to give instructions" in reasons(code("sql", "untrusted"))
}

test_injected_code_silent if {
	every doc in [code("text", "untrusted"), code("sql", "model"), result(code("sql", "untrusted")), changed(code("sql", "untrusted"), "/session/labels", ["untrusted"]), risk(code("sql", "untrusted"), "read_only", true)] {
		not injected in said(doc)
	}
}

test_injected_code_absent if {
	injected in said(lacking(code("sql", "untrusted"), "/tool"))
	every path in ["/phase", "/session", "/provenance/args/1/role", "/provenance/args/1/origin"] {
		not injected in said(lacking(code("sql", "untrusted"), path))
	}
}

writing(file) := changed(changed(plain, "/session/tainted", true), "/parsed/files", ["/w/a.go", file])

called(namespace, name) := changed(changed(writing("/w/b.go"), "/tool/namespace", namespace), "/tool/name", name)

test_memory_write_fires if {
	every file in ["/w/CLAUDE.md", "/w/AGENTS.md", "/w/sub/CLAUDE.local.md", "/w/.cursorrules", "/home/a/.claude/projects/x/notes.md", "/w/.cursor/rules/a.mdc"] {
		said(writing(file)) == {ask("memory_write")}
	}
	said(called("Memory", "create")) == {ask("memory_write")}
	said(called("kv", "remember")) == {ask("memory_write")}
	said(called("kv", "add_memory")) == {ask("memory_write")}
}

in_shell(commands) := changed(writing("/w/CLAUDE.md"), "/parsed/commands", commands)

test_memory_write_fires_in_a_shell if {
	said(in_shell([{"name": "cat", "args": [], "redirects": []}, {"name": "tee", "args": [], "redirects": []}])) == {ask("memory_write")}
	said(in_shell([{"name": "cat", "args": [], "redirects": [{"op": "<", "path": "x"}, {"op": ">", "path": "CLAUDE.md"}]}])) == {ask("memory_write")}
}

test_memory_write_silent_when_a_shell_looks if {
	said(in_shell([{"name": "cat", "args": [], "redirects": []}, {"name": "grep", "args": [], "redirects": [{"op": "<", "path": "x"}]}])) == set()
}

test_memory_write_silent if {
	said(writing("/w/README.md")) == set()
	said(called("kv", "memorial")) == set()
	said(changed(writing("/w/CLAUDE.md"), "/session/tainted", false)) == set()
	said(risk(writing("/w/CLAUDE.md"), "read_only", true)) == set()
	said(result(writing("/w/CLAUDE.md"))) == set()
}

test_memory_write_absent if {
	said(lacking(writing("/w/CLAUDE.md"), "/tool/annotations/read_only")) == {ask("memory_write")}
	said(lacking(writing("/w/CLAUDE.md"), "/tool/namespace")) == {ask("memory_write")}
	said(lacking(writing("/w/CLAUDE.md"), "/session")) == set()
	said(lacking(writing("/w/CLAUDE.md"), "/parsed")) == set()
	said(lacking(writing("/w/CLAUDE.md"), "/phase")) == set()
}

chosen := risk(changed(suspected, "/provenance/args", [{"pointer": "/to", "role": "recipient", "origin": "untrusted"}]), "sensitive_sink", true)

test_say_why_fires if {
	said(chosen) == {ask("say_why")}
	said(risk(risk(chosen, "sensitive_sink", false), "destructive", true)) == {ask("say_why")}
	{v.obligations | some v in agentic.verdicts} == {["reason"]} with input as chosen
}

test_say_why_silent if {
	every doc in [result(chosen), changed(chosen, "/session/labels", []), changed(chosen, "/provenance/args/0/origin", "model"), risk(chosen, "sensitive_sink", false)] {
		not ask("say_why") in said(doc)
	}
}

test_say_why_absent if {
	said(lacking(chosen, "/tool/annotations/sensitive_sink")) == {ask("say_why")}
	every path in ["/phase", "/session", "/provenance"] {
		said(lacking(chosen, path)) == set()
	}
}

stopping(name, arg) := changed(plain, "/parsed/commands", [{"name": "ls", "args": ["ostiary"]}, {"name": name, "args": ["-f", arg]}])

test_supervision_fires if {
	every name in ["pkill", "killall", "systemctl", "service", "launchctl"] {
		said(stopping(name, "ostiary.service")) == {ask("supervision")}
	}
	said(stopping("pkill", "sidecar")) == {ask("supervision")}
	reasons(stopping("pkill", "sidecar")) == {"pkill would stop what supervises this agent"}
}

test_supervision_silent if {
	said(stopping("pkill", "node")) == set()
	said(stopping("grep", "ostiary")) == set()
	said(result(stopping("pkill", "ostiary"))) == set()
}

test_supervision_absent if {
	every path in ["/phase", "/parsed/commands/1/name", "/parsed/commands/1/args", "/parsed"] {
		said(lacking(stopping("pkill", "ostiary"), path)) == set()
	}
}
