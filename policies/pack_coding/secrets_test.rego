package policies.pack_coding.secrets_test

import data.policies.pack_coding.secrets
import rego.v2

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in secrets.verdicts} with input as doc
}

reasons(doc) := out if {
	out := {v.reason | some v in secrets.verdicts} with input as doc
}

naming(file) := {"phase": "call", "parsed": {"files": ["/w/x.go", file], "commands": []}}

one(name, args) := {"phase": "call", "parsed": {"files": [], "commands": [{"name": "ls", "args": []}, {"name": name, "args": args}]}}

lacking(doc, path) := json.remove(doc, [path])

result(doc) := json.patch(doc, [{"op": "replace", "path": "/phase", "value": "result"}])

ask(rule) := {["ask", concat(".", ["secrets", rule]), "high"]}

test_file_fires if {
	every file in [
		"/w/.env", "/w/.env.production", "/w/.env.local", "/home/a/.ssh/id_rsa", "/w/id_ed25519", "/home/a/.netrc", "/home/a/.aws/credentials", "/home/a/.kube/config",
		"/w/kubeconfig", "/home/a/.docker/config.json", "/home/a/.git-credentials", "/home/a/.pypirc", "/home/a/.npmrc", "/root/.npmrc", "/home/a/.gnupg/x", "/home/a/.config/gcloud/x.db",
		"/w/service-account.json", "/home/a/.bash_history", "/etc/shadow", "/proc/self/environ", "/home/a/.ssh/work", "/w/x.p12", "/w/prod.tfvars",
	] {
		said(naming(file)) == ask("file")
		reasons(naming(file)) == {concat(" ", [file, "holds secrets"])}
	}
}

test_file_silent if {
	every file in [
		"/w/.env.example", "/w/.env.sample", "/w/.env.test", "/home/a/.ssh/known_hosts", "/home/a/.ssh/config", "/home/a/.ssh/id_rsa.pub", "/w/src/env.go", "/w/.npmrc", "/w/environment",
		"/w/kube/config.yaml", "/w/credentials.go", "/w/.github/x", "/w/.env.d.ts",
	] {
		said(naming(file)) == set()
	}
	said(result(naming("/w/.env"))) == set()
}

test_file_absent if {
	every path in ["/phase", "/parsed/files", "/parsed"] {
		said(lacking(naming("/w/.env"), path)) == set()
	}
}

test_store_fires if {
	every name in ["history", "fc", "pass", "gopass", "secret-tool", "keyctl", "ssh-add"] {
		said(one(name, ["x"])) == ask("store")
	}
	every name, ways in secrets.handing {
		every words in ways {
			said(one(name, array.concat(["-q"], words))) == ask("store")
		}
	}
	reasons(one("gh", ["auth", "token"])) == {"gh hands out credentials or what was typed before"}
}

test_store_silent if {
	said(one("gh", ["auth", "status"])) == set()
	said(one("gh", ["token"])) == set()
	said(one("git", ["log"])) == set()
	said(one("echo", ["credential"])) == set()
	said(result(one("history", []))) == set()
}

test_store_absent if {
	every path in ["/phase", "/parsed/commands/1/name", "/parsed"] {
		said(lacking(one("history", []), path)) == set()
	}
	said(lacking(one("gh", ["auth", "token"]), "/parsed/commands/1/args")) == set()
}
