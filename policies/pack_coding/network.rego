# METADATA
# title: What goes over the network
# description: Uploads, transfers to other machines, addresses made of something else's output, and code installed from an address.
package policies.pack_coding.network

import rego.v2

# METADATA
# title: An upload
# description: curl, wget or http sends a body or a method that changes something. Requests to this machine alone are not meant.
# labels: {owasp: [ASI02, ASI01], severity: high}
verdicts contains {
	"id": "network.upload",
	"behavior": "ask",
	"reason": sprintf("%s sends data to another machine", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	sends(c)
	not local(c)
}

sends(c) if {
	c.name in {"curl", "wget", "xh", "curlie"}
	some arg in c.args
	regex.match(`^(-[a-zA-Z]*[dFT].*|--(data|form|json|upload-file|url-query|post-data|post-file|body-data|body-file)\b.*)$`, arg)
	not regex.match(`^-[a-zA-Z]*[oHAbeuwmxK]`, arg)
}

sends(c) if {
	c.name in {"curl", "wget", "http", "https", "xh", "curlie"}
	some arg in c.args
	regex.match(`^(-[a-zA-Z]*X|--request=|--method=)?(POST|PUT|PATCH|DELETE)$`, arg)
}

here := `^([a-z]+://)?([^/@]*@)?(localhost|127\.[0-9.]+|\[::1\]|0\.0\.0\.0)([:/].*)?$`

# Every address is this machine's, and there is one.
local(c) if {
	some arg in c.args
	regex.match(here, arg)
	every other in c.args {
		not elsewhere(other)
	}
}

elsewhere("")

elsewhere(arg) if {
	regex.match(`^([a-z]+://|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:[0-9]+)?(/|$))`, arg)
	not regex.match(here, arg)
}

# METADATA
# title: A transfer to another machine
# description: scp, sftp, rsync to a host, ssh, netcat and the like, copies into a bucket, and tunnels.
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "network.transfer",
	"behavior": "ask",
	"reason": sprintf("%s talks to another machine, and can carry anything there", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	transfers(c)
}

transfers(c) if c.name in {"scp", "sftp", "ftp", "tftp", "ssh", "mosh", "telnet", "socat", "ngrok", "cloudflared", "bore", "rclone", "croc", "magic-wormhole", "wormhole"}

transfers(c) if {
	c.name in {"nc", "ncat", "netcat"}
	not probes(c)
}

transfers(c) if {
	c.name == "rsync"
	some arg in c.args
	regex.match(`^([^-/][^/]*:|rsync://)`, arg)
}

transfers(c) if {
	c.name in {"aws", "gsutil", "gcloud", "az", "mc", "s3cmd"}
	some verb in c.args
	verb in {"cp", "sync", "mv", "upload", "put"}
}

# nc -z looks whether a port is open.
probes(c) if {
	some arg in c.args
	regex.match(`^-[a-zA-Z]*z`, arg)
}

# METADATA
# title: An address made of output
# description: curl, wget, dig or the like gets a word that only the shell knows, beside a command whose output is put into words. A request can carry data out in its address.
# labels: {owasp: [ASI01, ASI02], severity: high}
verdicts contains {
	"id": "network.computed",
	"behavior": "ask",
	"reason": sprintf("%s gets an address that another command's output is part of", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	c.name in {"curl", "wget", "http", "https", "xh", "dig", "nslookup", "host", "ping", "open", "xdg-open"}
	"" in c.args
	some source in input.parsed.commands
	source.via == "substitution"
}

# METADATA
# title: Installing from an address
# description: A package manager gets code from a URL, a repository or another registry than the usual one.
# labels: {owasp: ASI04, severity: high}
verdicts contains {
	"id": "network.install",
	"behavior": "ask",
	"reason": sprintf("%s installs code from an address, not from the usual registry", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	c.name in {"pip", "pip3", "pipx", "uv", "uvx", "poetry", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "gem", "cargo", "brew", "deno", "conda", "mamba", "python", "python3", "dpkg", "rpm", "dnf", "apt", "apt-get", "helm", "code", "luarocks", "composer"}
	some arg in c.args
	regex.match(`^((git|hg|svn|bzr)\+.*|(https?|git|ssh|ftp)://.*|git@.*|github:.*|gitlab:.*|--(index-url|extra-index-url|find-links|trusted-host|registry|git|index)(=.*)?)$`, arg)
	not local(c)
	installs(c)
}

installs(c) if {
	some verb in c.args
	verb in {"install", "add", "i", "run", "dlx", "get", "sync", "-i", "--install", "-U", "--install-extension", "require", "tap"}
}

installs(c) if c.name in {"npx", "bunx", "uvx"}
