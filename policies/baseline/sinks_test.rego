package policies.baseline.sinks_test

import data.policies.baseline.sinks
import rego.v2

plain := {
	"phase": "call",
	"caller": {"profile": "api"},
	"tool": {"annotations_source": "operator", "annotations": {"destructive": false, "sensitive_sink": false}},
	"request": {"known": false},
	"provenance": {"args": []},
}

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in sinks.verdicts} with input as doc
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

destroys := changed(plain, "/tool/annotations/destructive", true)

carries := changed(plain, "/tool/annotations/sensitive_sink", true)

asked := changed(changed(carries, "/request/known", true), "/provenance/args", [{"origin": "user"}, {"origin": "endorsed"}])

destructive := ["ask", "sinks.destructive", "high"]

sensitive := ["ask", "sinks.sensitive", "high"]

user_asked := ["allow", "sinks.user_asked", "info"]

test_destructive_fires if {
	every source in ["operator", "shipped", "server"] {
		said(changed(destroys, "/tool/annotations_source", source)) == {destructive}
	}
}

test_destructive_silent if {
	said(plain) == set()
	said(changed(destroys, "/phase", "result")) == set()
	said(changed(destroys, "/caller/profile", "hook")) == set()
	said(changed(destroys, "/tool/annotations_source", "none")) == set()
}

test_destructive_silent_by_provenance if {
	said(destroys) == set() with data.ostiary.baseline.sink_mode as "provenance"
}

test_destructive_absent if {
	said(lacking(plain, "/tool/annotations/destructive")) == {destructive}
	said(lacking(destroys, "/caller/profile")) == {destructive}
	said(lacking(plain, "/tool/annotations")) == {destructive, sensitive}
	said(lacking(destroys, "/phase")) == set()
	said(lacking(destroys, "/tool/annotations_source")) == set() # tools.undeclared asks
}

test_sensitive_fires if {
	every source in ["operator", "shipped", "server"] {
		said(changed(carries, "/tool/annotations_source", source)) == {sensitive}
	}
}

test_sensitive_silent if {
	said(plain) == set()
	said(changed(carries, "/phase", "result")) == set()
	said(changed(carries, "/caller/profile", "hook")) == set()
	said(changed(carries, "/tool/annotations_source", "none")) == set()
}

test_sensitive_silent_by_provenance if {
	said(carries) == set() with data.ostiary.baseline.sink_mode as "provenance"
}

test_sensitive_absent if {
	said(lacking(plain, "/tool/annotations/sensitive_sink")) == {sensitive}
	said(lacking(carries, "/caller/profile")) == {sensitive}
	said(lacking(carries, "/phase")) == set()
}

test_user_asked_fires if {
	every source in ["operator", "shipped"] {
		said(changed(asked, "/tool/annotations_source", source)) == {user_asked} with data.ostiary.baseline.sink_mode as "provenance"
	}
}

test_user_asked_silent_when_always_judged if said(asked) == {sensitive}

test_user_asked_silent if {
	every doc in [
		changed(asked, "/tool/annotations_source", "server"),
		changed(asked, "/phase", "result"),
		changed(asked, "/caller/profile", "hook"),
		changed(asked, "/request/known", false),
		changed(asked, "/provenance/args", []),
		changed(asked, "/provenance/args", [{"origin": "user"}, {"origin": "untrusted"}]),
		changed(asked, "/provenance/args", [{"origin": "model"}, {"origin": "user"}]),
	] {
		said(doc) == set() with data.ostiary.baseline.sink_mode as "provenance"
	}
}

test_user_asked_absent if {
	every path in ["/phase", "/caller/profile", "/tool/annotations_source", "/request/known", "/request", "/provenance/args", "/provenance", "/provenance/args/0/origin"] {
		said(lacking(asked, path)) == set() with data.ostiary.baseline.sink_mode as "provenance"
	}
}
