package policies.baseline.result_test

import data.policies.baseline.result
import rego.v2

full := {"phase": "result", "result": {"findings": {"pii": 50}}}

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity, v.reason] | some v in result.verdicts} with input as doc with data.ostiary.baseline.much_pii as 50
}

much(found) := {["ask", "result.much_pii", "medium", sprintf("%d pieces of personal data were found in the result", [found])]}

test_much_pii_fires if {
	said(full) == much(50)
	said({"phase": "result", "result": {"findings": {"pii": 51}}}) == much(51)
}

test_much_pii_silent if {
	said({"phase": "result", "result": {"findings": {"pii": 49}}}) == set()
	said({"phase": "call", "result": {"findings": {"pii": 50}}}) == set()
}

test_much_pii_absent if {
	said({"phase": "result", "result": {"findings": {"secret": 50}}}) == set()
	said({"phase": "result"}) == set()
	said(json.remove(full, ["/phase"])) == set()
}
