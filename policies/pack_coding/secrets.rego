# METADATA
# title: Secrets on this machine
# description: Files and stores that hold credentials. A file counts when the call names it as a file, be it an argument of a tool, a word of a command or a redirection.
package policies.pack_coding.secrets

import rego.v2

# METADATA
# title: A file of secrets
# description: The call reads or writes .env, a private key, .netrc, cloud or cluster credentials, a password store or a shell's history. Public keys and .env.example are none.
# labels: {owasp: ASI03, severity: high}
verdicts contains {
	"id": "secrets.file",
	"behavior": "ask",
	"reason": sprintf("%s holds secrets", [file]),
	"severity": "high",
} if {
	input.phase == "call"
	some file in input.parsed.files
	holds_secrets(file)
}

holds_secrets(file) if {
	regex.match(`(^|/)(\.env(\.[^/]*)?|id_(rsa|dsa|ecdsa|ed25519)|[._]netrc|\.pgpass|\.my\.cnf|\.pypirc|\.git-credentials|kubeconfig(\.[^/]*)?|\.kube/config|\.aws/(credentials|sso/.*|cli/cache/.*)|\.docker/config\.json|\.ssh/[^/]+|\.gnupg/.*|\.azure/.*|\.config/(gcloud|gh|op)/.*|application_default_credentials\.json|service[-_]account[^/]*\.json|\.vault-token|credentials\.tfrc\.json|\.cargo/credentials[^/]*|\.(bash|zsh|python|psql|mysql|node_repl)_history|\.password-store/.*|[^/]*\.(kdbx|keychain-db|p12|pfx)|Login Data|[^/]*_rsa|[^/]*\.tfvars)$|^/etc/(g?shadow|sudoers)|^/proc/[^/]+/environ$|^/home/[^/]+/\.npmrc$|^/root/\.npmrc$`, file)
	not regex.match(`(\.(example|sample|template|dist|defaults|schema|pub)$|/\.ssh/(known_hosts[^/]*|config)$|/\.env\.(test|ci)$|\.d\.ts$)`, file)
}

# METADATA
# title: A store of credentials
# description: A program hands out passwords, tokens or keys (git credential, gh auth token, security, pass, op, gcloud auth print-access-token), or the shell's history is listed.
# labels: {owasp: ASI03, severity: high}
verdicts contains {
	"id": "secrets.store",
	"behavior": "ask",
	"reason": sprintf("%s hands out credentials or what was typed before", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	hands_out(c)
}

hands_out(c) if c.name in {"history", "fc", "pass", "gopass", "secret-tool", "keyctl", "ssh-add", "lpass", "bw", "keyring"}

hands_out(c) if {
	some words in handing[c.name]
	every word in words {
		word in c.args
	}
}

handing := {
	"git": [["credential"], ["credential-store"], ["credential-cache"]], "gh": [["auth", "token"], ["--show-token"]], "op": [["read"], ["item", "get"]],
	"security": [["find-generic-password"], ["find-internet-password"], ["dump-keychain"], ["export"]], "vault": [["read"], ["kv", "get"]],
	"aws": [["configure", "export-credentials"], ["configure", "get"], ["get-secret-value"], ["sts", "get-session-token"], ["get-login-password"]],
	"gcloud": [["auth", "print-access-token"], ["auth", "print-identity-token"], ["secrets", "versions", "access"]], "az": [["get-access-token"], ["keyvault", "secret", "show"]],
	"kubectl": [["config", "view", "--raw"], ["get", "secret"], ["get", "secrets"]], "docker": [["login"]], "npm": [["token"]], "gpg": [["--export-secret-keys"], ["--export-secret-key"]], "heroku": [["auth:token"]],
}
