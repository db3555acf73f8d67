package policies.baseline.tools_test

import data.policies.baseline.tools
import rego.v2

read := {
	"phase": "call",
	"caller": {"profile": "api"},
	"tool": {"annotations_source": "operator", "drifted": false, "annotations": {"read_only": true, "destructive": false, "sensitive_sink": false}},
}

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in tools.verdicts} with input as doc
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

from(source) := changed(read, "/tool/annotations_source", source)

allowed := {["allow", "tools.read_only", "info"]}

unknown := {["ask", "tools.undeclared", "medium"]}

test_read_only_fires if {
	said(read) == allowed
	said(from("shipped")) == allowed
}

test_read_only_silent_when_not_vouched_for if said(from("server")) == set()

test_read_only_silent_in_another_phase if said(changed(read, "/phase", "result")) == set()

test_read_only_silent_for_other_risks if {
	said(changed(read, "/tool/annotations/read_only", false)) == set()
	said(changed(read, "/tool/annotations/destructive", true)) == set()
	said(changed(read, "/tool/annotations/sensitive_sink", true)) == set()
}

test_read_only_silent_behind_a_hook if said(changed(read, "/caller/profile", "hook")) == set()

test_read_only_absent if {
	every path in ["/phase", "/caller/profile", "/tool/annotations/read_only", "/tool/annotations/destructive", "/tool/annotations/sensitive_sink", "/tool/annotations"] {
		said(lacking(read, path)) == set()
	}
}

test_undeclared_fires if {
	said(from("none")) == unknown
	said(from("anything else")) == unknown
}

test_undeclared_silent if {
	said(from("server")) == set()
	said(changed(from("none"), "/caller/profile", "hook")) == set()
	said(changed(from("none"), "/phase", "result")) == set()
}

test_undeclared_absent_source_or_profile_asks if {
	said(lacking(read, "/tool/annotations_source")) == unknown
	said(lacking(from("none"), "/caller/profile")) == unknown
	said(lacking(from("none"), "/phase")) == set()
}

drifted := {["ask", "tools.drift", "high"]}

test_drift_fires if {
	said(changed(read, "/tool/drifted", true)) == allowed | drifted
	said(changed(changed(read, "/tool/drifted", true), "/caller/profile", "hook")) == drifted
}

test_drift_silent if said(changed(changed(read, "/tool/drifted", true), "/phase", "result")) == set()

test_drift_absent if {
	said(lacking(read, "/tool/drifted")) == allowed | drifted
	said(lacking(changed(read, "/tool/drifted", true), "/phase")) == set()
}
