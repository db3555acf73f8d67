package policies.baseline.provenance_test

import data.policies.baseline.provenance
import rego.v2

# A sink of an api agent in a clean session, with one value of the model's.
call := {
	"phase": "call",
	"caller": {"profile": "api"},
	"tool": {"annotations": {"read_only": false, "destructive": false, "sensitive_sink": true, "open_world": true}},
	"session": {"tainted": false, "carried": false, "labels": []},
	"request": {"known": false},
	"provenance": {"args": [{"pointer": "/to", "role": "recipient", "origin": "model"}]},
}

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in provenance.verdicts} with input as doc
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

risk(doc, read_only, destructive, sensitive_sink) := changed(doc, "/tool/annotations", {"read_only": read_only, "destructive": destructive, "sensitive_sink": sensitive_sink, "open_world": true})

args(doc, list) := changed(doc, "/provenance/args", list)

untrusted(doc) := args(doc, [{"pointer": "/a", "role": "text", "origin": "user"}, {"pointer": "/b", "role": "text", "origin": "untrusted"}])

ask(rule) := ["ask", concat(".", ["provenance", rule]), "high"]

test_untrusted_argument_fires if {
	said(untrusted(call)) == {ask("untrusted_argument")}
	said(untrusted(risk(call, false, false, false))) == {ask("untrusted_argument")}
	said(untrusted(risk(call, true, true, false))) == {ask("untrusted_argument")}
	said(untrusted(risk(call, true, false, true))) == {ask("untrusted_argument")}
}

test_untrusted_argument_silent if {
	said(call) == set()
	said(untrusted(risk(call, true, false, false))) == set()
	said(changed(untrusted(call), "/phase", "result")) == set()
}

test_untrusted_argument_absent if {
	said(lacking(untrusted(risk(call, true, false, false)), "/tool/annotations/read_only")) == {ask("untrusted_argument")}
	said(lacking(untrusted(risk(call, true, false, false)), "/tool/annotations/destructive")) == {ask("untrusted_argument")}
	said(lacking(untrusted(risk(call, true, false, false)), "/tool/annotations/sensitive_sink")) == {ask("untrusted_argument")}
	said(lacking(untrusted(call), "/tool")) == {ask("untrusted_argument")}
	said(lacking(untrusted(call), "/provenance")) == set()
	said(lacking(untrusted(call), "/phase")) == set()
}

test_untrusted_argument_names_the_place if {
	{v.reason | some v in provenance.verdicts} == {"the value at /b came from an untrusted result, not from the user"} with input as untrusted(call)
}

tainted := changed(call, "/session/tainted", true)

behind_hook := changed(tainted, "/caller/profile", "hook")

suspected(doc) := changed(doc, "/session/labels", ["untrusted", "injection_suspected"])

users(doc) := args(changed(doc, "/request/known", true), [{"pointer": "/a", "role": "text", "origin": "user"}, {"pointer": "/b", "role": "text", "origin": "endorsed"}])

test_tainted_sink_fires if {
	said(tainted) == {ask("tainted_sink")}
	said(risk(tainted, false, true, false)) == {ask("tainted_sink")}
	said(suspected(behind_hook)) == {ask("tainted_sink")}
}

test_tainted_sink_fires_unless_all_values_are_the_users if {
	every doc in [
		changed(users(tainted), "/request/known", false),
		args(users(tainted), []),
		args(users(tainted), [{"pointer": "/a", "role": "text", "origin": "user"}, {"pointer": "/b", "role": "text", "origin": "model"}]),
	] {
		said(doc) == {ask("tainted_sink")}
	}
}

test_tainted_sink_silent if {
	said(call) == set()
	said(risk(tainted, false, false, false)) == set()
	said(behind_hook) == set()
	said(users(tainted)) == set()
	said(changed(tainted, "/phase", "result")) == set()
}

test_tainted_sink_absent if {
	said(lacking(tainted, "/caller/profile")) == {ask("tainted_sink")}
	said(lacking(tainted, "/request")) == {ask("tainted_sink")}
	said(lacking(users(tainted), "/request/known")) == {ask("tainted_sink")}
	said(lacking(users(tainted), "/provenance")) == {ask("tainted_sink")}
	said(lacking(users(tainted), "/provenance/args/0/origin")) == {ask("tainted_sink")}
	said(lacking(risk(tainted, false, false, false), "/tool/annotations/destructive")) == {ask("tainted_sink")}
	said(lacking(risk(tainted, false, false, false), "/tool/annotations/sensitive_sink")) == {ask("tainted_sink")}
	said(lacking(tainted, "/session/tainted")) == set()
	said(lacking(tainted, "/phase")) == set()
}

reaching := args(risk(suspected(call), true, false, false), [{"pointer": "/q", "role": "text", "origin": "user"}, {"pointer": "/url", "role": "url", "origin": "untrusted"}])

test_tainted_reach_fires if said(reaching) == {ask("tainted_reach")}

test_tainted_reach_silent if {
	every doc in [
		changed(reaching, "/phase", "result"),
		changed(reaching, "/tool/annotations/open_world", false),
		changed(reaching, "/session/labels", ["untrusted"]),
		changed(reaching, "/provenance/args/1/role", "text"),
		changed(reaching, "/provenance/args/1/origin", "model"),
	] {
		said(doc) == set()
	}
}

test_tainted_reach_absent if {
	every path in ["/phase", "/session/labels", "/tool/annotations/open_world", "/provenance/args/1/role", "/provenance/args/1/origin"] {
		said(lacking(reaching, path)) == set()
	}
}

test_tainted_reach_names_the_place if {
	{v.reason | some v in provenance.verdicts} == {"the address at /url came from content that tried to give instructions"} with input as reaching
}

carried := changed(call, "/session/carried", true)

test_unknown_fires if {
	said(carried) == {ask("unknown")}
	said(risk(carried, false, true, false)) == {ask("unknown")}
}

test_unknown_silent if {
	said(call) == set()
	said(risk(carried, false, false, false)) == set()
	said(changed(carried, "/phase", "result")) == set()
}

test_unknown_absent if {
	said(lacking(carried, "/tool")) == {ask("unknown")}
	said(lacking(carried, "/session/carried")) == set()
	said(lacking(carried, "/phase")) == set()
}
