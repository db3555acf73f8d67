# METADATA
# title: What a shell is told to do
# description: Commands that nobody can read, that take more rights, or that reach past the project.
package policies.pack_coding.shell

import rego.v2

# METADATA
# title: No readable shell
# description: A shell command is no valid shell, or larger than what can be judged, so some of what it runs is unseen.
# labels: {owasp: ASI05, severity: medium}
verdicts contains {
	"id": "shell.unparsable",
	"behavior": "ask",
	"reason": "the shell command cannot be read whole, so what it runs is not known",
	"severity": "medium",
} if {
	input.phase == "call"
	not input.parsed.unparsable == false
}

# METADATA
# title: Code that is not there yet
# description: What runs is known only when it runs (curl … | sh, eval of a variable, a program name from a substitution).
# labels: {owasp: [ASI05, ASI04], severity: high}
verdicts contains {
	"id": "shell.opaque",
	"behavior": "ask",
	"reason": "the command runs something that only the shell will know",
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	c.dynamic
}

# METADATA
# title: More rights
# description: A command runs as another user (sudo, doas, su, pkexec, runuser).
# labels: {owasp: ASI03, severity: high}
verdicts contains {
	"id": "shell.privilege",
	"behavior": "ask",
	"reason": sprintf("%s runs a command with another user's rights", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	c.name in {"sudo", "doas", "su", "pkexec", "runuser"}
}

# METADATA
# title: Removal of more than a build directory
# description: rm -r, or find -delete, of a home, a root, a parent, everything here, a repository's history, or of paths that only the shell knows.
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "shell.removal",
	"behavior": "ask",
	"reason": "the command removes a broad path, or paths that only the shell will know",
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	removes_broadly(c)
}

removes_broadly(c) if {
	c.name == "rm"
	recursive(c)
	some arg in c.args
	broad(arg)
}

removes_broadly(c) if {
	c.name == "rm"
	recursive(c)
	c.via in {"xargs", "parallel"}
}

removes_broadly(c) if {
	c.name == "find"
	"-delete" in c.args
	broad(c.args[0])
	not picks_here(c)
}

# find . -name '*.pyc' -delete is housekeeping.
picks_here(c) if {
	c.args[0] in {".", "./"}
	some arg in c.args
	arg in {"-name", "-iname", "-path"}
}

recursive(c) if {
	some arg in c.args
	regex.match(`^(-[a-zA-Z]*[rR][a-zA-Z]*|--recursive)$`, arg)
}

broad("")

# Everything here or above, a home, a root, the first two levels below a root, the first below a home. What lies in /tmp is nobody's.
broad(arg) if {
	regex.match(`^((\./?|\.\./?)*\*?|~(/[^/]+)?(/\*?)?|/[^/]*(/[^/]*)?(/\*?)?|(.*/)?\.git/?)$`, arg)
	not regex.match(`^(/var)?/tmp/[^/*.]`, arg)
}

# METADATA
# title: A device is overwritten
# description: A file system is made, wiped or written to directly (mkfs, dd of=/dev/…, shred).
# labels: {owasp: ASI02, severity: high}
verdicts contains {
	"id": "shell.device",
	"behavior": "ask",
	"reason": sprintf("%s can overwrite a whole device", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	overwrites(c)
}

overwrites(c) if regex.match(`^(mkfs.*|wipefs|shred|fdisk|parted|sgdisk|diskutil)$`, c.name)

overwrites(c) if {
	c.name == "dd"
	some arg in c.args
	startswith(arg, "of=/dev/")
}

overwrites(c) if {
	some r in c.redirects
	regex.match(`^/dev/(sd|hd|vd|nvme|disk|mmcblk)`, r.path)
}

# METADATA
# title: Permissions and owners
# description: chmod, chown or chgrp of a whole tree; anybody may write; a program gets its owner's rights.
# labels: {owasp: ASI03, severity: medium}
verdicts contains {
	"id": "shell.ownership",
	"behavior": "ask",
	"reason": sprintf("%s changes who may do what, for a whole tree or for everybody", [c.name]),
	"severity": "medium",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	c.name in {"chmod", "chown", "chgrp", "setfacl"}
	some arg in c.args
	regex.match(`^(-[a-zA-Z]*R[a-zA-Z]*|--recursive|0?[0-7]?[0-7]{2}[2367]|[2467][0-7]{3}|[augo]*[oa][ugoa]*[+=][rxX]*w.*|[ugoa]*\+[rwxX]*s.*)$`, arg)
}

# METADATA
# title: Settings of the shell
# description: A file is changed that every shell, login or git command runs (.bashrc, .profile, .gitconfig, git hooks).
# labels: {owasp: [ASI05, ASI10], severity: high}
verdicts contains {
	"id": "shell.startup",
	"behavior": "ask",
	"reason": "the call changes what shells or git run by themselves later",
	"severity": "high",
} if {
	input.phase == "call"
	changes_startup
}

# A file tool.
changes_startup if {
	not input.tool.annotations.read_only
	count(input.parsed.commands) == 0
	some file in input.parsed.files
	startup_file(file)
}

changes_startup if {
	some c in input.parsed.commands
	some r in c.redirects
	contains(r.op, ">")
	startup_file(r.path)
}

changes_startup if {
	some c in input.parsed.commands
	writes(c)
	some arg in c.args
	startup_file(arg)
}

writes(c) if c.name in {"tee", "cp", "mv", "ln", "install", "rm", "truncate", "apply_patch"}

writes(c) if {
	c.name in {"sed", "perl"}
	some arg in c.args
	regex.match(`^(-[a-zA-Z]*i.*|--in-place.*)$`, arg)
}

startup_file(path) if regex.match(`(^|/)(\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|xprofile|xinitrc|gitconfig)|config\.fish|\.git/(hooks/.*|config)|\.ssh/(authorized_keys|config|rc)|LaunchAgents/.*|\.config/(systemd|autostart)/.*)$|^/etc/(profile|bash\.bashrc|cron|sudoers|ld\.so\.preload|systemd/)`, path)

# METADATA
# title: Something that outlives the session
# description: A job is planned or a service is switched on (crontab, at, systemctl enable, launchctl), or git is told to run a program of its own choice.
# labels: {owasp: [ASI10, ASI05], severity: high}
verdicts contains {
	"id": "shell.persistence",
	"behavior": "ask",
	"reason": sprintf("%s leaves something behind that runs by itself", [c.name]),
	"severity": "high",
} if {
	input.phase == "call"
	some c in input.parsed.commands
	outlives(c)
}

outlives(c) if {
	c.name == "crontab"
	not c.args == ["-l"]
}

outlives(c) if c.name in {"at", "batch", "launchctl", "systemd-run", "ssh-copy-id"}

outlives(c) if {
	c.name == "systemctl"
	some arg in c.args
	arg in {"enable", "link", "edit"}
}

outlives(c) if {
	c.name == "git"
	some way in c.args
	way in {"config", "-c"}
	some arg in c.args
	regex.match(`^(?i)(core\.(hookspath|sshcommand|fsmonitor|editor|pager|gitproxy)|credential\..*|alias\..*|url\..*|filter\..*|diff\..*\.command|include.*\.path)(=|$)`, arg)
}
