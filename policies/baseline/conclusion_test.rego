package policies.baseline.conclusion_test

import data.policies.baseline.conclusion
import rego.v2

clean := {"phase": "conclusion", "session": {"tainted": false, "carried": false}}

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity, v.obligations] | some v in conclusion.verdicts} with input as doc
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

inferred := {["allow", "conclusion.inferred", "low", ["cite_as_inferred"]]}

test_inferred_fires if {
	said(changed(clean, "/session/tainted", true)) == inferred
	said(changed(clean, "/session/carried", true)) == inferred
}

test_inferred_silent if {
	said(clean) == set()
	said(changed(changed(clean, "/session/tainted", true), "/phase", "call")) == set()
}

test_inferred_absent if {
	said(lacking(clean, "/session/tainted")) == inferred
	said(lacking(clean, "/session/carried")) == inferred
	said(lacking(clean, "/session")) == inferred
	said(lacking(changed(clean, "/session/tainted", true), "/phase")) == set()
}
