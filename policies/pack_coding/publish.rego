# METADATA
# title: What leaves for others
# description: Publishing, deploying and rewriting what others have. A plain git push is none of these.
package policies.pack_coding.publish

import rego.v2

# METADATA
# title: Rewriting a remote
# description: git push that overwrites or deletes what the remote has (--force, --force-with-lease, --mirror, --delete, +ref, :ref).
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "publish.force_push",
	"behavior": "ask",
	"reason": "git push would overwrite or delete what the remote has",
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	c.name == "git"
	"push" in c.args
	some arg in c.args
	regex.match(`^(--force.*|-[a-zA-Z]*[fd][a-zA-Z]*|--mirror|--delete|--prune|[+:].+)$`, arg)
}

# METADATA
# title: Publishing a package or a release
# description: npm, cargo, twine, docker and others publish for everybody, and gh makes or removes a release, a repository or a merge. With --dry-run nothing is published.
# labels: {owasp: [ASI02, ASI04], severity: high}
verdicts contains {
	"id": "publish.package",
	"behavior": "ask",
	"reason": sprintf("%s %s publishes for others", [c.name, verb]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	some verb in publishing[c.name]
	verb in c.args
	not "--dry-run" in c.args
	not "--snapshot" in c.args
}

publishing := {
	"npm": {"publish", "unpublish", "deprecate", "dist-tag", "owner"}, "pnpm": {"publish"}, "yarn": {"publish"}, "bun": {"publish"}, "lerna": {"publish"}, "changeset": {"publish"},
	"cargo": {"publish", "yank", "owner"}, "twine": {"upload"}, "poetry": {"publish"}, "uv": {"publish"}, "hatch": {"publish"}, "flit": {"publish"},
	"gem": {"push", "yank"}, "docker": {"push", "--push"}, "podman": {"push"}, "buildah": {"push"}, "crane": {"push"}, "skopeo": {"copy"}, "helm": {"push"},
	"mvn": {"deploy", "release:perform"}, "gradle": {"publish"}, "gradlew": {"publish"}, "dotnet": {"push"}, "nuget": {"push"}, "goreleaser": {"release"},
	"gh": {"release", "gist", "merge", "fork", "secret"}, "glab": {"release", "merge"}, "vsce": {"publish"}, "mix": {"hex.publish"}, "dart": {"publish"}, "pod": {"push"},
}

# METADATA
# title: Deploying
# description: A change of what runs for others (terraform apply, kubectl apply or delete, helm upgrade, fly deploy and the like). With --dry-run nothing changes.
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "publish.deploy",
	"behavior": "ask",
	"reason": sprintf("%s %s changes what runs for others", [c.name, verb]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	some verb in deploying[c.name]
	verb in c.args
	not dry(c)
}

dry(c) if {
	some arg in c.args
	startswith(arg, "--dry-run")
}

deploying := {
	"terraform": {"apply", "destroy", "import", "taint"}, "tofu": {"apply", "destroy"}, "terragrunt": {"apply", "destroy"}, "pulumi": {"up", "destroy"}, "cdk": {"deploy", "destroy"},
	"kubectl": {"apply", "delete", "create", "replace", "patch", "scale", "drain", "exec", "edit", "rollout"}, "oc": {"apply", "delete"},
	"helm": {"install", "upgrade", "uninstall", "rollback"}, "fly": {"deploy"}, "flyctl": {"deploy"}, "vercel": {"deploy", "--prod"}, "netlify": {"deploy"}, "firebase": {"deploy"},
	"serverless": {"deploy", "remove"}, "sls": {"deploy", "remove"}, "sam": {"deploy", "delete"}, "heroku": {"releases:rollback", "apps:destroy"}, "wrangler": {"deploy", "publish"}, "railway": {"up"},
	"ansible-playbook": {"-i"}, "gcloud": {"deploy", "delete"}, "az": {"delete", "create"},
}
