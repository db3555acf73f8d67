package policies.baseline.confidence_test

import data.policies.baseline.confidence
import rego.v2

sure := {
	"phase": "call",
	"caller": {"confidence": 0.8, "verdict": "sure", "reports_confidence": false},
	"evidence": {"status": "ok", "warnings": []},
}

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in confidence.verdicts} with input as doc with data.ostiary.baseline.threshold_low as 0.8
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

ask(rule) := {["ask", concat(".", ["confidence", rule]), "medium"]}

test_uncertain_fires if {
	every verdict in ["uncertain", "unsure", "needs_review"] {
		said(changed(sure, "/caller/verdict", verdict)) == ask("uncertain")
	}
}

test_uncertain_silent if {
	said(sure) == set()
	said(changed(changed(sure, "/caller/verdict", "uncertain"), "/phase", "result")) == set()
}

test_uncertain_absent if {
	said(lacking(sure, "/caller/verdict")) == set()
	said(lacking(changed(sure, "/caller/verdict", "uncertain"), "/phase")) == set()
}

test_low_fires if {
	said(changed(sure, "/caller/confidence", 0.79)) == ask("low")
	said(changed(sure, "/caller/confidence", 0)) == ask("low")
}

test_low_silent if {
	said(sure) == set()
	said(changed(changed(sure, "/caller/confidence", 0.1), "/phase", "result")) == set()
}

test_low_absent_is_not_low if {
	said(lacking(sure, "/caller/confidence")) == set()
	said(lacking(changed(sure, "/caller/confidence", 0.1), "/phase")) == set()
}

test_low_names_the_threshold if {
	some v in confidence.verdicts with input as changed(sure, "/caller/confidence", 0.1) with data.ostiary.baseline.threshold_low as 0.5
	v.reason == "the caller's confidence is below 0.5"
}

reporter := changed(sure, "/caller/reports_confidence", true)

test_not_reported_fires if said(lacking(reporter, "/caller/confidence")) == ask("not_reported")

test_not_reported_silent if {
	said(reporter) == set()
	said(lacking(sure, "/caller/confidence")) == set()
	said(changed(lacking(reporter, "/caller/confidence"), "/phase", "result")) == set()
	said(changed(reporter, "/caller/confidence", 0)) == ask("low")
}

test_not_reported_absent if {
	said(lacking(lacking(sure, "/caller/confidence"), "/caller/reports_confidence")) == set()
	said(lacking(lacking(reporter, "/caller/confidence"), "/phase")) == set()
}

test_evidence_missing_fires if {
	every status in ["degraded", "empty", "error"] {
		said(changed(sure, "/evidence/status", status)) == ask("evidence_missing")
	}
	every warning in ["diagram_roi_not_found", "text_only"] {
		said(changed(sure, "/evidence/warnings", ["other", warning])) == ask("evidence_missing")
	}
}

test_evidence_missing_silent if {
	said(changed(sure, "/evidence/warnings", ["other"])) == set()
	said(changed(changed(sure, "/evidence/status", "empty"), "/phase", "result")) == set()
}

test_evidence_missing_absent if {
	said(lacking(sure, "/evidence")) == set()
	said(lacking(changed(sure, "/evidence/status", "empty"), "/evidence/warnings")) == ask("evidence_missing")
	said(lacking(changed(sure, "/evidence/warnings", ["text_only"]), "/evidence/status")) == ask("evidence_missing")
	said(lacking(changed(sure, "/evidence/status", "empty"), "/phase")) == set()
}

test_conclusions_are_asked_about_as_calls_are if {
	concluding := changed(sure, "/phase", "conclusion")
	said(concluding) == set()
	said(changed(concluding, "/caller/verdict", "uncertain")) == ask("uncertain")
	said(changed(concluding, "/caller/confidence", 0.1)) == ask("low")
	said(changed(concluding, "/evidence/status", "degraded")) == ask("evidence_missing")
}
