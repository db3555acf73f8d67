package parse

import (
	"slices"
	"strings"
)

// silent programs read and write no file that their words name.
var silent = []string{"echo", "printf", "ls", "test", "[", "[[", "stat", "cd", "pushd", "mkdir", "basename", "dirname", "which", "type", "command", "file", "readlink", "realpath", "du", "export", "alias", "eval", "trap", "source", ".", "exit", "find", "fd"}

// searching programs take a pattern or a program before their files.
var searching = []string{"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq", "yq", "perl"}

// messages are options whose value is a text.
var messages = []string{"-m", "--message", "--title", "--body", "-t", "-b", "--notes"}

// named hands on the words of a command that can be files.
func (s *shell) named(name string, args []string) {
	if slices.Contains(silent, name) || slices.Contains(shells, name) {
		return
	}
	if _, wraps := wrappers[name]; wraps {
		return // what it runs is looked at by itself
	}
	if name == "git" && len(args) > 0 && slices.Contains([]string{"check-ignore", "log", "branch", "ls-files", "status"}, args[0]) {
		return
	}
	pattern := slices.Contains(searching, name)
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case (name == "git" || name == "gh" || name == "hg" || name == "jj") && slices.Contains(messages, a):
			i++
		case pattern && slices.Contains([]string{"-e", "-f", "--regexp", "--include", "--exclude", "-g", "--glob", "--exclude-dir"}, a):
			pattern = pattern && a != "-e" && a != "--regexp" && a != "-f"
			i++
		case strings.HasPrefix(a, "-"):
			if _, value, ok := strings.Cut(a, "="); ok {
				if !strings.HasPrefix(a, "--include") && !strings.HasPrefix(a, "--exclude") {
					s.files(value)
				}
			}
		case pattern:
			pattern = false
		default:
			s.files(a)
		}
	}
}

// patchHeads begin the lines of a patch that name a file.
var patchHeads = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "--- a/"}

// patched hands on the files of a patch.
func patched(text string, files func(string)) {
	for line := range strings.Lines(text) {
		for _, head := range patchHeads {
			if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), head); ok {
				files(name)
			}
		}
	}
}
