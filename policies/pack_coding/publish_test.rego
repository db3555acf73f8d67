package policies.pack_coding.publish_test

import data.policies.pack_coding.publish
import rego.v2

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in publish.verdicts} with input as doc
}

reasons(doc) := out if {
	out := {v.reason | some v in publish.verdicts} with input as doc
}

one(name, args) := {"phase": "call", "parsed": {"commands": [{"name": "ls", "args": []}, {"name": name, "args": args}]}}

lacking(doc, path) := json.remove(doc, [path])

result(doc) := json.patch(doc, [{"op": "replace", "path": "/phase", "value": "result"}])

ask(rule) := {["ask", concat(".", ["publish", rule]), "high"]}

test_force_push_fires if {
	every arg in ["--force", "--force-with-lease", "--force-if-includes", "-f", "-uf", "-d", "--mirror", "--delete", "--prune", "+main", ":main"] {
		said(one("git", ["push", "origin", arg])) == ask("force_push")
	}
}

test_force_push_silent if {
	said(one("git", ["push"])) == set()
	said(one("git", ["push", "-u", "origin", "feature/x"])) == set()
	said(one("git", ["branch", "-f", "x"])) == set()
	said(one("svn", ["push", "-f"])) == set()
	said(result(one("git", ["push", "-f"]))) == set()
}

test_force_push_absent if {
	every path in ["/phase", "/parsed/commands/1/name", "/parsed/commands/1/args", "/parsed"] {
		said(lacking(one("git", ["push", "-f"]), path)) == set()
	}
}

test_package_fires if {
	every name, verbs in publish.publishing {
		every verb in verbs {
			said(one(name, ["-q", verb])) == ask("package")
		}
	}
	reasons(one("npm", ["publish"])) == {"npm publish publishes for others"}
}

test_package_silent if {
	said(one("npm", ["install"])) == set()
	said(one("echo", ["publish"])) == set()
	said(one("npm", ["publish", "--dry-run"])) == set()
	said(one("goreleaser", ["release", "--snapshot"])) == set()
	said(result(one("npm", ["publish"]))) == set()
}

test_package_absent if {
	every path in ["/phase", "/parsed/commands/1/name", "/parsed/commands/1/args", "/parsed"] {
		said(lacking(one("npm", ["publish"]), path)) == set()
	}
}

test_deploy_fires if {
	every name, verbs in publish.deploying {
		every verb in verbs {
			said(one(name, ["-q", verb])) == ask("deploy")
		}
	}
	reasons(one("terraform", ["apply"])) == {"terraform apply changes what runs for others"}
}

test_deploy_silent if {
	said(one("terraform", ["plan"])) == set()
	said(one("kubectl", ["apply", "--dry-run=client"])) == set()
	said(one("echo", ["apply"])) == set()
	said(result(one("terraform", ["apply"]))) == set()
}

test_deploy_absent if {
	every path in ["/phase", "/parsed/commands/1/name", "/parsed/commands/1/args", "/parsed"] {
		said(lacking(one("terraform", ["apply"]), path)) == set()
	}
}
