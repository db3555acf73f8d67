package parse

import (
	"slices"
	"strings"
)

// wrapper is a program that runs the command that stands in its own words.
type wrapper struct {
	valued   string   // short options that take the next word
	long     []string // long options that do
	operands int      // words of its own before the command
	assigns  bool     // NAME=value words may come before the command
}

// wrappers are the programs that run their own words.
var wrappers = map[string]wrapper{
	"env":      {valued: "uCS", long: []string{"--unset", "--chdir"}, assigns: true},
	"sudo":     {valued: "ughpCTrtRDU", long: []string{"--user", "--group", "--host", "--prompt", "--chdir", "--chroot", "--role", "--type", "--other-user"}, assigns: true},
	"doas":     {valued: "uC"},
	"xargs":    {valued: "InPLdEsa", long: []string{"--max-args", "--max-procs", "--max-lines", "--delimiter", "--arg-file", "--max-chars", "--replace"}},
	"parallel": {valued: "jINLSa", long: []string{"--jobs", "--arg-file"}},
	"nohup":    {}, "setsid": {}, "time": {valued: "of"}, "command": {}, "builtin": {},
	"exec":    {valued: "a"},
	"nice":    {valued: "n", long: []string{"--adjustment"}},
	"ionice":  {valued: "cnp", long: []string{"--class", "--classdata"}},
	"timeout": {valued: "ks", long: []string{"--kill-after", "--signal"}, operands: 1},
	"stdbuf":  {valued: "ioe", long: []string{"--input", "--output", "--error"}},
	"chroot":  {operands: 1, long: []string{"--userspec", "--groups"}},
	"unshare": {valued: "RS"}, "nsenter": {valued: "tSG", long: []string{"--target"}},
	"busybox": {}, "toybox": {}, "strace": {valued: "oeps"}, "ltrace": {valued: "oeps"},
	"caffeinate": {valued: "tw"}, "watch": {valued: "n", long: []string{"--interval"}},
	"flock": {valued: "wEc", long: []string{"--timeout", "--wait"}, operands: 1},
}

// runners are programs with a subcommand that runs the words after it.
var runners = map[string][]string{
	"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "bundle": {"exec"}, "direnv": {"exec"}, "dotenv": {"run"}, "op": {"run"}, "mise": {"exec"}, "rye": {"run"},
}

var shells = []string{"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash"}

// interpreters read a program from their standard input when no word names one.
var interpreters = []string{"python", "python2", "python3", "node", "perl", "ruby", "php", "lua", "deno", "bun"}

// inner takes in what a command's words run. It reports whether what runs is known only when it runs.
func (s *shell) inner(name string, args []string, f frame) bool {
	f.depth++
	if f.depth > maxDepth {
		s.unparsable = true
		return true
	}
	w, wraps := wrappers[name]
	switch {
	case slices.Contains(shells, name):
		return s.subshell(args, f)
	case slices.Contains(interpreters, name):
		return f.piped && f.input == nil && !slices.ContainsFunc(args, func(a string) bool { return a != "-" && a != "-u" })
	case name == "eval":
		return s.evaluate(args, frame{via: "eval", depth: f.depth})
	case name == "source" || name == ".":
		return len(args) > 0 && args[0] == unknown // source <(…)
	case name == "env" && len(args) > 1 && (args[0] == "-S" || args[0] == "--split-string"):
		return s.evaluate(args[1:], frame{via: name, depth: f.depth})
	case name == "command" && len(args) > 0 && (args[0] == "-v" || args[0] == "-V"):
	case wraps:
		below := frame{via: name, depth: f.depth, input: f.input, piped: f.piped}
		if name == "xargs" || name == "parallel" { // they read the pipe themselves
			below.input, below.piped = nil, false
		}
		s.wrapped(args, w, below)
	default:
		return s.carried(name, args, f)
	}
	return false
}

// carried takes in scripts and commands that stand among other words of a program.
func (s *shell) carried(name string, args []string, f frame) bool {
	f.via, f.redirects = name, nil
	if sub := runners[name]; len(args) > 1 && slices.Contains(sub, args[0]) {
		s.wrapped(args[1:], wrapper{operands: map[string]int{"direnv": 1}[name]}, f)
		return false
	}
	switch name {
	case "find", "fd":
		s.executed(args, f)
	case "trap":
		if len(args) > 1 && args[0] != "-" {
			return s.evaluate(args[:1], f)
		}
	case "alias":
		for _, a := range args {
			if _, value, ok := strings.Cut(a, "="); ok {
				s.evaluate([]string{value}, f)
			}
		}
	case "su", "runuser", "script":
		if i := slices.Index(args, "-c"); i >= 0 && i+1 < len(args) {
			return s.evaluate(args[i+1:i+2], f)
		}
	case "ssh":
		return s.remote(args, f)
	case "psql", "mysql", "mariadb", "sqlite3", "duckdb", "clickhouse-client", "bq", "sqlcmd", "cockroach":
		s.database(name, args, f)
	case "apply_patch", "applypatch":
		for _, a := range args {
			s.patch(a)
		}
		if f.input != nil {
			s.patch(*f.input)
		}
	}
	return false
}

// subshell takes in the script of a shell: that of -c, or that on its standard input.
func (s *shell) subshell(args []string, f frame) bool {
	takes, fromInput := false, false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !isConstant(a):
			return true
		case a == "--rcfile" || a == "--init-file":
			i++
		case a == "--":
		case len(a) > 1 && (a[0] == '-' || a[0] == '+') && !strings.HasPrefix(a, "--"):
			takes = takes || strings.Contains(a, "c")
			fromInput = fromInput || strings.Contains(a, "s")
			if strings.HasSuffix(a, "o") || strings.HasSuffix(a, "O") {
				i++
			}
		case strings.HasPrefix(a, "--") || a == "-":
		case takes:
			s.script(a, frame{via: "sh -c", depth: f.depth})
			return false
		case !fromInput:
			return false // a file
		}
	}
	if f.input != nil {
		via := f.via
		if via == "plain" {
			via = "heredoc"
		}
		s.script(*f.input, frame{via: via, depth: f.depth})
		return false
	}
	return takes || f.piped
}

// evaluate reads words as one script.
func (s *shell) evaluate(words []string, f frame) bool {
	text := strings.Join(words, " ")
	if !isConstant(text) {
		return true
	}
	s.script(text, f)
	return false
}

// wrapped finds the command in a wrapper's words.
func (s *shell) wrapped(args []string, w wrapper, f frame) {
	operands := w.operands
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
		case strings.HasPrefix(a, "--"):
			if slices.Contains(w.long, a) {
				i++
			}
		case len(a) > 1 && a[0] == '-':
			if strings.IndexByte(w.valued, a[len(a)-1]) >= 0 {
				i++
			}
		case w.assigns && isAssignment(a):
		case operands > 0:
			operands--
		default:
			s.run(args[i:], f)
			return
		}
	}
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// executed takes in the commands of find's -exec and the like.
func (s *shell) executed(args []string, f frame) {
	for i := 0; i < len(args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}, args[i]) {
			continue
		}
		end := i + 1
		for end < len(args) && args[end] != ";" && args[end] != "+" {
			end++
		}
		if end > i+1 {
			s.run(args[i+1:end], f)
		}
		i = end
	}
}

// remote reads what ssh runs on the other side.
func (s *shell) remote(args []string, f frame) bool {
	for i := 0; i < len(args); i++ {
		if a := args[i]; len(a) > 1 && a[0] == '-' {
			if strings.IndexByte("BbcDEeFIiJLlmOopQRSWw", a[len(a)-1]) >= 0 {
				i++
			}
			continue
		}
		if rest := args[i+1:]; len(rest) > 0 {
			return s.evaluate(rest, f)
		}
		if f.input != nil {
			s.script(*f.input, f)
		}
		return f.piped && f.input == nil
	}
	return false
}

// database hands on the SQL in the words and on the standard input of a database client.
func (s *shell) database(name string, args []string, f frame) {
	found := false
	operands := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		option, value, joined := strings.Cut(a, "=")
		switch {
		case joined && slices.Contains([]string{"--command", "--execute", "--query"}, option):
			s.query(value)
			found = true
		case slices.Contains([]string{"-c", "--command", "-e", "--execute", "-Q", "-q", "--query"}, a) && i+1 < len(args) && name != "sqlite3":
			i++
			s.query(args[i])
			found = true
		case strings.HasPrefix(a, "-"):
		default:
			operands++
			if operands > 1 && (name == "sqlite3" || name == "duckdb" || name == "bq") && !strings.HasPrefix(a, ".") {
				s.query(a)
				found = true
			}
		}
	}
	if !found && f.input != nil {
		s.query(*f.input)
	}
}
