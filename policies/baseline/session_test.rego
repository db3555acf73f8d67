package policies.baseline.session_test

import data.policies.baseline.session
import rego.v2

fresh := {
	"phase": "call",
	"tool": {"annotations": {"read_only": false}},
	"session": {"error_streak": 0, "iteration_over": false, "over_budget": false},
}

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in session.verdicts} with input as doc with data.ostiary.baseline.error_streak as 3
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

failed(times) := changed(fresh, "/session/error_streak", times)

over(counter) := changed(fresh, concat("", ["/session/", counter]), true)

error_streak := {["ask", "session.error_streak", "medium"]}

iterations := {["ask", "session.iterations", "medium"]}

budget := {["ask", "session.budget", "medium"]}

test_error_streak_fires if {
	said(failed(3)) == error_streak
	said(failed(4)) == error_streak
}

test_error_streak_silent if {
	said(failed(2)) == set()
	said(changed(failed(3), "/phase", "result")) == set()
	said(changed(failed(3), "/tool/annotations/read_only", true)) == set()
}

test_error_streak_absent if {
	said(lacking(failed(3), "/tool/annotations/read_only")) == error_streak
	said(lacking(failed(3), "/tool")) == error_streak
	said(lacking(failed(3), "/session/error_streak")) == set()
	said(lacking(failed(3), "/phase")) == set()
}

test_error_streak_names_the_count if {
	some v in session.verdicts with input as failed(7) with data.ostiary.baseline.error_streak as 3
	v.reason == "the last 7 calls of this session failed"
}

test_iterations_fires if said(over("iteration_over")) == iterations

test_iterations_silent if {
	said(fresh) == set()
	said(changed(over("iteration_over"), "/phase", "result")) == set()
}

test_iterations_absent if {
	said(lacking(fresh, "/session/iteration_over")) == set()
	said(lacking(over("iteration_over"), "/phase")) == set()
}

test_budget_fires if said(over("over_budget")) == budget

test_budget_silent if {
	said(fresh) == set()
	said(changed(over("over_budget"), "/phase", "result")) == set()
}

test_budget_absent if {
	said(lacking(fresh, "/session/over_budget")) == set()
	said(lacking(over("over_budget"), "/phase")) == set()
}
