package policies.baseline.paths_test

import data.policies.baseline.paths
import rego.v2

naming(list) := {"phase": "call", "tool": {"annotations": {"read_only": false}}, "parsed": {"paths": list}}

own := ["/var/lib/[ostiary]/", "/run/sidecar.sock/"]

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity, v.blocked_path] | some v in paths.verdicts} with input as doc with data.ostiary.baseline.own_paths as own
}

changed(doc, path, value) := json.patch(doc, [{"op": "replace", "path": path, "value": value}])

lacking(doc, path) := json.remove(doc, [path])

reads(doc) := changed(doc, "/tool/annotations/read_only", true)

own_state(path) := ["deny", "paths.own_state", "high", path]

hook_settings(path) := ["deny", "paths.hook_settings", "high", path]

test_own_state_fires if {
	said(naming(["/x", "/var/lib/[ostiary]"])) == {own_state("/var/lib/[ostiary]")}
	said(naming(["/var/lib/[ostiary]/keys/a.key"])) == {own_state("/var/lib/[ostiary]/keys/a.key")}
	said(reads(naming(["/run/sidecar.sock"]))) == {own_state("/run/sidecar.sock")}
}

test_own_state_silent if {
	said(naming(["/var/lib/[ostiary]-notes", "/var/lib", "/var/lib/o", "/"])) == set()
	said(changed(naming(["/run/sidecar.sock"]), "/phase", "result")) == set()
}

test_own_state_absent if {
	said(lacking(naming(["/run/sidecar.sock"]), "/tool")) == {own_state("/run/sidecar.sock")}
	said(lacking(naming(["/run/sidecar.sock"]), "/parsed/paths")) == set()
	said(lacking(naming(["/run/sidecar.sock"]), "/phase")) == set()
}

test_hook_settings_fires if {
	every path in [
		"/home/u/.claude/settings.json", "/home/u/.claude/settings.local.json", "/w/.codex/hooks.json", "/w/.codex/config.toml",
		"/home/u/.gemini/settings.json", "/home/u/.copilot/hooks-1.json", "/home/u/.cursor/hooks.json",
	] {
		said(naming(["/x", path])) == {hook_settings(path)}
	}
}

test_hook_settings_silent if {
	said(naming(["/home/u/.claude/CLAUDE.md", "/w/settings.json"])) == set()
	said(reads(naming(["/home/u/.claude/settings.json"]))) == set()
	said(changed(naming(["/home/u/.claude/settings.json"]), "/phase", "result")) == set()
}

test_hook_settings_absent if {
	said(lacking(naming(["/home/u/.claude/settings.json"]), "/tool/annotations/read_only")) == {hook_settings("/home/u/.claude/settings.json")}
	said(lacking(naming(["/home/u/.claude/settings.json"]), "/tool")) == {hook_settings("/home/u/.claude/settings.json")}
	said(lacking(naming(["/home/u/.claude/settings.json"]), "/parsed")) == set()
	said(lacking(naming(["/home/u/.claude/settings.json"]), "/phase")) == set()
}
