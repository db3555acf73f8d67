package policies.pack_coding.shell_test

import data.policies.pack_coding.shell
import rego.v2

said(doc) := out if {
	out := {[v.behavior, v.id, v.severity] | some v in shell.verdicts} with input as doc
}

reasons(doc) := out if {
	out := {v.reason | some v in shell.verdicts} with input as doc
}

command(name, args) := {"name": name, "args": args, "dynamic": false, "redirects": [], "via": "plain"}

running(list) := {"phase": "call", "tool": {"annotations": {"read_only": false}}, "parsed": {"unparsable": false, "commands": list, "files": []}}

one(name, args) := running([command("ls", []), command(name, args)])

lacking(doc, path) := json.remove(doc, [path])

result(doc) := json.patch(doc, [{"op": "replace", "path": "/phase", "value": "result"}])

ask(rule, severity) := {["ask", concat(".", ["shell", rule]), severity]}

plain := one("git", ["status"])

unread := json.patch(plain, [{"op": "replace", "path": "/parsed/unparsable", "value": true}])

test_unparsable_fires if said(unread) == ask("unparsable", "medium")

test_unparsable_silent if {
	said(plain) == set()
	said(result(unread)) == set()
}

test_unparsable_absent if {
	said(lacking(plain, "/parsed/unparsable")) == ask("unparsable", "medium")
	said(lacking(plain, "/parsed")) == ask("unparsable", "medium")
	said(lacking(unread, "/phase")) == set()
}

opaque := running([command("ls", []), object.union(command("sh", []), {"dynamic": true})])

test_opaque_fires if said(opaque) == ask("opaque", "high")

test_opaque_silent if {
	said(one("sh", ["-c", "ls"])) == set()
	said(result(opaque)) == set()
}

test_opaque_absent if {
	said(lacking(opaque, "/parsed/commands/1/dynamic")) == set()
	said(lacking(opaque, "/parsed/commands")) == set()
	said(lacking(opaque, "/phase")) == set()
}

test_privilege_fires if {
	every name in ["sudo", "doas", "su", "pkexec", "runuser"] {
		said(one(name, ["x"])) == ask("privilege", "high")
	}
	reasons(one("sudo", [])) == {"sudo runs a command with another user's rights"}
}

test_privilege_silent if {
	said(one("echo", ["sudo"])) == set()
	said(result(one("sudo", []))) == set()
}

test_privilege_absent if {
	said(lacking(one("sudo", []), "/parsed/commands/1/name")) == set()
	said(lacking(one("sudo", []), "/phase")) == set()
}

test_removal_fires if {
	every arg in ["/", "/*", "~", "~/", "~/*", "~/Documents", "~/src/", ".", "./", "..", "../", "../..", "../*", "*", "./*", "/usr", "/usr/", "/home/ann", "/home/ann/*", "/tmp", "/tmp/*", "/tmp/..", ".git", "a/.git/", ""] {
		said(one("rm", ["-rf", "a", arg])) == ask("removal", "high")
	}
	every option in ["-r", "-R", "-fr", "--recursive"] {
		said(one("rm", [option, "/"])) == ask("removal", "high")
	}
}

test_removal_silent if {
	every arg in ["build", "./dist", "node_modules/.cache", "/tmp/x", "/var/tmp/x", "../wt/build", "~/.cache/go-build", "/home/ann/proj/build", ".github", "*.o"] {
		said(one("rm", ["-rf", arg])) == set()
	}
	said(one("rm", ["-f", "/"])) == set()
	said(one("rm", ["--force", "-i", "~"])) == set()
	said(one("ls", ["-r", "/"])) == set()
	said(one("rm", [])) == set()
	said(result(one("rm", ["-rf", "/"]))) == set()
}

piped(name, args, via) := running([object.union(command(name, args), {"via": via})])

test_removal_fires_on_paths_from_a_pipe if {
	said(piped("rm", ["-rf"], "xargs")) == ask("removal", "high")
	said(piped("rm", ["-rf"], "parallel")) == ask("removal", "high")
}

test_removal_silent_on_a_pipe if {
	said(piped("rm", ["-f"], "xargs")) == set()
	said(piped("rm", ["-rf"], "plain")) == set()
	said(piped("cp", ["-r"], "xargs")) == set()
}

test_removal_fires_on_find if {
	said(one("find", ["/", "-name", "x", "-delete"])) == ask("removal", "high")
	said(one("find", [".", "-delete"])) == ask("removal", "high")
	said(one("find", ["~", "-iname", "x", "-delete"])) == ask("removal", "high")
}

test_removal_silent_on_find if {
	said(one("find", ["src", "-delete"])) == set()
	said(one("find", ["/", "-name", "x"])) == set()
	said(one("fd", ["/", "-delete"])) == set()
	every pick in ["-name", "-iname", "-path"] {
		said(one("find", [".", pick, "x", "-delete"])) == set()
		said(one("find", ["./", pick, "x", "-delete"])) == set()
	}
}

test_removal_absent if {
	said(lacking(one("rm", ["-rf", "/"]), "/parsed/commands/1/args")) == set()
	said(lacking(one("rm", ["-rf", "/"]), "/parsed/commands/1/name")) == set()
	said(lacking(one("rm", ["-rf", "/"]), "/phase")) == set()
}

redirecting(op, path) := running([object.union(command("cat", ["x"]), {"redirects": [{"op": "<", "path": "in"}, {"op": op, "path": path}]})])

test_device_fires if {
	every name in ["mkfs", "mkfs.ext4", "wipefs", "shred", "fdisk", "parted", "sgdisk", "diskutil"] {
		said(one(name, ["x"])) == ask("device", "high")
	}
	said(one("dd", ["if=x", "of=/dev/sda"])) == ask("device", "high")
	said(redirecting(">", "/dev/sda")) == ask("device", "high")
	said(redirecting(">", "/dev/nvme0n1")) == ask("device", "high")
	reasons(one("shred", [])) == {"shred can overwrite a whole device"}
}

test_device_silent if {
	said(one("dd", ["if=/dev/zero", "of=x"])) == set()
	said(one("cp", ["of=/dev/sda"])) == set()
	said(redirecting(">", "/dev/null")) == set()
	said(result(one("mkfs", []))) == set()
}

test_device_absent if {
	said(lacking(one("dd", ["of=/dev/sda"]), "/parsed/commands/1/args")) == set()
	said(lacking(redirecting(">", "/dev/sda"), "/parsed/commands/0/redirects")) == set()
	said(lacking(one("mkfs", []), "/phase")) == set()
}

test_ownership_fires if {
	every args in [["-R", "700", "."], ["--recursive", "x", "y"], ["777", "f"], ["0666", "f"], ["a+w", "f"], ["o+rw", "f"], ["u+s", "f"], ["4755", "f"], ["-vR", "x"]] {
		said(one("chmod", args)) == ask("ownership", "medium")
	}
	every name in ["chown", "chgrp", "setfacl"] {
		said(one(name, ["-R", "x", "."])) == ask("ownership", "medium")
	}
	reasons(one("chown", ["-R", "x"])) == {"chown changes who may do what, for a whole tree or for everybody"}
}

test_ownership_silent if {
	every args in [["+x", "f"], ["755", "f"], ["600", "f"], ["u+w", "f"], ["u+x", "f"], ["0644", "f"], ["-v", "700", "f"]] {
		said(one("chmod", args)) == set()
	}
	said(one("ls", ["-R"])) == set()
	said(result(one("chmod", ["777"]))) == set()
}

test_ownership_absent if {
	said(lacking(one("chmod", ["777"]), "/parsed/commands/1/args")) == set()
	said(lacking(one("chmod", ["777"]), "/phase")) == set()
}

startups := ["/home/ann/.bashrc", "/home/ann/.zshrc", "/w/.git/hooks/pre-commit", "/w/.git/config", "/home/ann/.gitconfig", "/etc/profile", "/etc/cron.d/x", "/home/ann/.ssh/authorized_keys", "/home/ann/.config/systemd/user/x.service"]

editing(path) := {"phase": "call", "tool": {"annotations": {"read_only": false}}, "parsed": {"unparsable": false, "commands": [], "files": ["/x", path]}}

reading(path) := json.patch(editing(path), [{"op": "replace", "path": "/tool/annotations/read_only", "value": true}])

test_startup_fires if {
	every path in startups {
		said(editing(path)) == ask("startup", "high")
		every op in [">", ">>", "&>", ">|"] {
			said(redirecting(op, path)) == ask("startup", "high")
		}
		every name in ["tee", "cp", "mv", "ln", "install", "rm", "truncate", "apply_patch"] {
			said(one(name, ["x", path])) == ask("startup", "high")
		}
		said(one("sed", ["-i", "s/a/b/", path])) == ask("startup", "high")
		said(one("perl", ["-pi", "x", path])) == ask("startup", "high")
		said(one("sed", ["--in-place=.bak", "x", path])) == ask("startup", "high")
	}
}

test_startup_silent if {
	every path in startups {
		said(reading(path)) == set()
		said(redirecting("<", path)) == set()
		said(one("cat", [path])) == set()
		said(one("sed", ["s/a/b/", path])) == set()
		said(one("grep", ["-i", "x", path])) == set()
		said(result(editing(path))) == set()
	}
	said(editing("/w/src/bashrc.go")) == set()
	said(redirecting(">", "out.log")) == set()
	said(one("cp", ["a", "b"])) == set()
	said(one("sed", ["-i", "s/a/b/", "x"])) == set()
	said(json.patch(editing("/home/ann/.bashrc"), [{"op": "replace", "path": "/parsed/commands", "value": [command("cat", [])]}])) == set()
}

test_startup_absent if {
	said(lacking(editing("/home/ann/.bashrc"), "/tool")) == ask("startup", "high")
	said(lacking(editing("/home/ann/.bashrc"), "/tool/annotations/read_only")) == ask("startup", "high")
	said(lacking(editing("/home/ann/.bashrc"), "/parsed/files")) == set()
	said(lacking(editing("/home/ann/.bashrc"), "/phase")) == set()
}

test_persistence_fires if {
	every name in ["crontab", "at", "batch", "launchctl", "systemd-run", "ssh-copy-id"] {
		said(one(name, ["x"])) == ask("persistence", "high")
	}
	said(one("systemctl", ["--user", "enable", "x"])) == ask("persistence", "high")
	every key in ["core.hooksPath", "core.sshCommand=x", "credential.helper", "alias.x", "url.x.insteadOf", "core.fsmonitor"] {
		said(one("git", ["config", key, "x"])) == ask("persistence", "high")
		said(one("git", ["-c", key, "fetch"])) == ask("persistence", "high")
	}
	reasons(one("at", [])) == {"at leaves something behind that runs by itself"}
}

test_persistence_silent if {
	said(one("crontab", ["-l"])) == set()
	said(one("systemctl", ["status", "x"])) == set()
	said(one("npm", ["enable"])) == set()
	said(one("git", ["config", "user.email", "x"])) == set()
	said(one("git", ["log", "alias.x"])) == set()
	said(one("grep", ["-c", "alias.x"])) == set()
	said(result(one("at", []))) == set()
}

test_persistence_absent if {
	said(lacking(one("systemctl", ["enable"]), "/parsed/commands/1/args")) == set()
	said(lacking(one("crontab", ["-l"]), "/parsed/commands/1/args")) == ask("persistence", "high")
	said(lacking(one("at", []), "/phase")) == set()
}
