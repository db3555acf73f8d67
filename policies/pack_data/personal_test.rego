package policies.pack_data.personal_test

import data.policies.pack_data.personal
import rego.v2

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in personal.verdicts} with input as doc with data.ostiary.baseline.sink_mode as "provenance"
}

sending := {
	"phase": "call",
	"caller": {"profile": "api"},
	"session": {"labels": ["untrusted", "pii"]},
	"tool": {"annotations": {"sensitive_sink": true}},
	"request": {"known": true},
	"provenance": {"args": [{"origin": "user"}, {"origin": "model"}]},
}

changed(path, value) := json.patch(sending, [{"op": "replace", "path": path, "value": value}])

lacking(path) := json.remove(sending, [path])

ask := {["ask", "personal.sink", "high"]}

test_sink_fires if said(sending) == ask

test_sink_silent if {
	said(changed("/phase", "result")) == set()
	said(changed("/session/labels", ["untrusted"])) == set()
	said(changed("/tool/annotations/sensitive_sink", false)) == set()
	said(changed("/caller/profile", "hook")) == set()
}

test_sink_silent_for_the_users_own_words if {
	every origin in ["user", "endorsed"] {
		said(changed("/provenance/args/1/origin", origin)) == set()
	}
}

test_sink_fires_for_words_that_are_not_the_users if {
	every origin in ["model", "untrusted"] {
		said(changed("/provenance/args/1/origin", origin)) == ask
	}
	said(json.patch(changed("/provenance/args/1/origin", "user"), [{"op": "replace", "path": "/request/known", "value": false}])) == ask
	said(changed("/provenance/args", [])) == ask
}

test_sink_silent_where_every_sink_asks if {
	{v | some v in personal.verdicts} == set() with input as sending with data.ostiary.baseline.sink_mode as "always"
}

test_sink_absent if {
	said(lacking("/tool/annotations/sensitive_sink")) == ask
	said(lacking("/tool")) == ask
	said(lacking("/caller/profile")) == ask
	said(lacking("/session/labels")) == set()
	said(lacking("/phase")) == set()
	said(lacking("/provenance")) == ask
	said(lacking("/request")) == ask
}
