package policies.pack_coding.network_test

import data.policies.pack_coding.network
import rego.v2

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in network.verdicts} with input as doc
}

reasons(doc) := out if {
	out := {v.reason | some v in network.verdicts} with input as doc
}

one(name, args) := {"phase": "call", "parsed": {"commands": [{"name": "ls", "args": [], "via": "plain"}, {"name": name, "args": args, "via": "plain"}]}}

lacking(doc, path) := json.remove(doc, [path])

result(doc) := json.patch(doc, [{"op": "replace", "path": "/phase", "value": "result"}])

ask(rule) := {["ask", concat(".", ["network", rule]), "high"]}

there := "https://x.example/y"

test_upload_fires if {
	every args in [["-d", "x"], ["-sd", "x"], ["--data-binary", "@x"], ["--data=x"], ["-F", "a=b"], ["-T", "x"], ["--upload-file", "x"], ["--json", "{}"], ["-X", "POST"], ["-XPUT"], ["--request=DELETE"], ["-sX", "PATCH"]] {
		said(one("curl", array.concat(args, [there]))) == ask("upload")
	}
	said(one("wget", ["--post-file=x", there])) == ask("upload")
	said(one("http", ["POST", there])) == ask("upload")
	said(one("curl", ["-d", "x", "http://localhost:1", there])) == ask("upload")
	said(one("curl", ["-d", "x", "http://localhost:1", ""])) == ask("upload")
	said(one("curl", ["-d", "x"])) == ask("upload")
	said(one("curl", ["-d", "x", "https://localhost.evil.example"])) == ask("upload")
	reasons(one("curl", ["-d", "x", there])) == {"curl sends data to another machine"}
}

test_upload_silent if {
	every args in [["-s"], ["-o", "file"], ["-H", "Accept: x"], ["-fsSL"], ["-X", "GET"], ["-I"], ["-uFred:x"]] {
		said(one("curl", array.concat(args, [there]))) == set()
	}
	every address in ["http://localhost:8080/x", "localhost:3000", "127.0.0.1", "http://[::1]:80/", "http://0.0.0.0:1", "http://u@localhost/"] {
		said(one("curl", ["-X", "POST", "-d", "x", address])) == set()
	}
	said(one("grep", ["-d", "x", there])) == set()
	said(one("grep", ["POST", there])) == set()
	said(result(one("curl", ["-d", "x", there]))) == set()
}

test_upload_absent if {
	every path in ["/phase", "/parsed/commands/1/name", "/parsed/commands/1/args", "/parsed"] {
		said(lacking(one("curl", ["-d", "x", there]), path)) == set()
	}
}

test_transfer_fires if {
	every name in ["scp", "sftp", "ftp", "ssh", "telnet", "socat", "ngrok", "cloudflared", "rclone"] {
		said(one(name, ["x"])) == ask("transfer")
	}
	every name in ["nc", "ncat", "netcat"] {
		said(one(name, ["h", "1"])) == ask("transfer")
	}
	said(one("rsync", ["-a", ".", "bob@h:/x"])) == ask("transfer")
	said(one("rsync", ["rsync://h/x", "."])) == ask("transfer")
	every verb in ["cp", "sync", "mv", "upload", "put"] {
		said(one("aws", ["s3", verb, "x"])) == ask("transfer")
	}
	reasons(one("scp", [])) == {"scp talks to another machine, and can carry anything there"}
}

test_transfer_silent if {
	said(one("nc", ["-z", "h", "1"])) == set()
	said(one("nc", ["-vz", "h", "1"])) == set()
	said(one("rsync", ["-a", "a/", "b/"])) == set()
	said(one("rsync", ["-a", "/a:b", "b"])) == set()
	said(one("cp", ["x", "h:y"])) == set()
	said(one("cp", ["x", "cp"])) == set()
	said(one("aws", ["s3", "ls"])) == set()
	said(result(one("ssh", []))) == set()
}

test_transfer_absent if {
	said(lacking(one("nc", ["-z"]), "/parsed/commands/1/args")) == ask("transfer")
	every path in ["/phase", "/parsed/commands/1/name", "/parsed"] {
		said(lacking(one("nc", []), path)) == set()
	}
}

computed(name, args, via) := {"phase": "call", "parsed": {"commands": [{"name": "cat", "args": ["x"], "via": via}, {"name": name, "args": args, "via": "plain"}]}}

test_computed_fires if {
	every name in ["curl", "wget", "http", "dig", "nslookup", "host", "ping"] {
		said(computed(name, ["-s", ""], "substitution")) == ask("computed")
	}
	reasons(computed("dig", [""], "substitution")) == {"dig gets an address that another command's output is part of"}
}

test_computed_silent if {
	said(computed("curl", [""], "plain")) == set()
	said(computed("curl", [there], "substitution")) == set()
	said(computed("echo", [""], "substitution")) == set()
	said(result(computed("curl", [""], "substitution"))) == set()
}

test_computed_absent if {
	every path in ["/phase", "/parsed/commands/0/via", "/parsed/commands/1/name", "/parsed/commands/1/args", "/parsed"] {
		said(lacking(computed("curl", [""], "substitution"), path)) == set()
	}
}

test_install_fires if {
	every args in [["install", "git+https://x.example/y"], ["install", there], ["add", "github:x/y"], ["install", "--index-url", there, "x"], ["install", "--registry=x", "y"], ["i", "git@x.example:y"], ["install", "--git", "x"]] {
		said(one("npm", args)) == ask("install")
	}
	every name in ["pip", "pip3", "uv", "cargo", "gem", "brew", "yarn", "deno"] {
		said(one(name, ["install", there])) == ask("install")
	}
	every name in ["npx", "bunx", "uvx"] {
		said(one(name, [there])) == ask("install")
	}
	reasons(one("pip", ["install", there])) == {"pip installs code from an address, not from the usual registry"}
}

test_install_silent if {
	said(one("pip", ["install", "requests"])) == set()
	said(one("npm", ["view", there])) == set()
	said(one("npm", ["install", "--registry", "http://localhost:4873", "x"])) == set()
	said(one("git", ["add", there])) == set()
	said(result(one("pip", ["install", there]))) == set()
}

test_install_absent if {
	every path in ["/phase", "/parsed/commands/1/name", "/parsed/commands/1/args", "/parsed"] {
		said(lacking(one("pip", ["install", there]), path)) == set()
	}
}
