package parse

import (
	"slices"
	"strings"

	"ostiary/decision"
)

// maxSQL and maxStatements bound what is read of SQL; more counts as unparsable.
const (
	maxSQL        = 64 << 10
	maxStatements = 256
	maxChanges    = 64  // UPDATE and DELETE in one statement: each looks for its WHERE
	maxNameBytes  = 130 // of a name in brackets
)

// queries collects what SQL texts do. It knows the parts that the dialects have in common; where two of them would read a text differently,
// it is unparsable: a quote behind a backslash, MySQL's executed comments.
type queries struct {
	verbs                        words
	multi, unbounded, unparsable bool
}

func (q *queries) facts() decision.SQL {
	return decision.SQL{Verbs: q.verbs.sorted(), Multi: q.multi, Unbounded: q.unbounded, Unparsable: q.unparsable}
}

// token is a word in lower case, a quoted name, a value or a sign.
type token struct {
	kind  byte // 'w' word, 'n' quoted name, 'v' value, 's' sign
	text  string
	depth int // of the parentheses around it
}

func (t token) is(texts ...string) bool { return t.kind != 'n' && slices.Contains(texts, t.text) }

// read takes in one text.
func (q *queries) read(text string) {
	tokens, ok := scan(text)
	if !ok {
		q.unparsable = true
		return
	}
	var statements [][]token
	start := 0
	for i, t := range append(tokens, token{kind: 's', text: ";"}) {
		if t.kind == 's' && t.text == ";" {
			if i > start {
				statements = append(statements, tokens[start:i])
			}
			start = i + 1
		}
	}
	if len(statements) > maxStatements {
		q.unparsable = true
		return
	}
	q.multi = q.multi || len(statements) > 1
	for _, s := range statements {
		q.statement(s)
	}
}

// leading are verbs that begin a statement.
var leading = []string{
	"select", "insert", "update", "delete", "merge", "replace", "upsert", "truncate", "create", "alter", "drop", "rename", "grant", "revoke", "deny", "call",
	"exec", "execute", "do", "copy", "load", "unload", "import", "export", "backup", "restore", "attach", "detach", "pragma", "vacuum", "reindex", "set", "reset", "use",
	"show", "describe", "desc", "explain", "with", "values", "table", "begin", "start", "commit", "rollback", "savepoint", "release", "end", "prepare", "deallocate",
	"declare", "fetch", "lock", "unlock", "kill", "shutdown", "analyze", "comment", "optimize", "flush", "handler", "install", "refresh", "cluster", "listen", "notify", "discard", "reassign", "security", "abort", "checkpoint",
	"put", "get", "remove", "undrop", "msck", "cache", "uncache", "if", "while", "go", "waitfor", "print", "raiserror", "dbcc", "bulk", "reconfigure", "optimise", "exists", "system", "move", "close",
}

// preamble are words of leading that only introduce another verb, or bracket statements.
var preamble = []string{"with", "explain", "begin", "start", "end", "commit", "rollback", "savepoint", "release", "declare", "prepare", "analyze", "if", "while", "go"}

// tails say, by the word that follows, that a verb in the middle of a statement is one: dialects that need no semicolon, and statements
// within others.
var tails = map[string][]string{
	"insert": {"into", "overwrite", "all"}, "delete": {"from", "top"}, "merge": {"into"}, "replace": {"into"}, "truncate": {"table"}, "load": {"data"}, "bulk": {"insert"},
	"drop":   {"table", "database", "schema", "view", "index", "user", "role", "function", "procedure", "trigger", "type", "extension", "sequence", "materialized", "login", "policy", "owned"},
	"create": {"table", "database", "schema", "view", "index", "user", "role", "function", "procedure", "trigger", "type", "extension", "sequence", "materialized", "login", "policy", "or", "unique", "temp", "temporary", "external"},
	"alter":  {"table", "database", "schema", "view", "index", "user", "role", "function", "procedure", "trigger", "type", "extension", "sequence", "system", "login", "policy"},
	"exec":   {}, "execute": {"immediate"},
}

// statement takes in one statement.
func (q *queries) statement(s []token) {
	if first := s[0]; !first.is("(") && !first.is(leading...) {
		q.unparsable = true
	}
	changes := 0
	for i, t := range s {
		if t.kind != 'w' || !t.is(leading...) {
			continue
		}
		if i > 0 && !starts(s, i) {
			continue
		}
		if !t.is(preamble...) {
			q.verbs.add(t.text)
		}
		if t.is("update", "delete") {
			if changes++; changes > maxChanges {
				q.unparsable = true
				return
			}
			q.unbounded = q.unbounded || !q.bounded(s, i)
		}
		if t.is("prepare", "execute", "exec", "call", "do", "declare") {
			q.verbs.add("execute")
		}
	}
	q.exports(s)
}

// starts reports whether the verb at i begins a statement within one.
func starts(s []token, i int) bool {
	before, after := s[i-1], token{}
	if i+1 < len(s) {
		after = s[i+1]
	}
	called := after.is("(") && !s[i].is("select", "values")
	switch {
	case s[i].is("select"):
		return true
	case before.is(".") || after.is("."): // a name
		return false
	case before.is("(") && !called, before.is("as", "explain", "analyze", "verbose", "then", "begin", "else", "loop", "prepare") && !called:
		return s[i].is("insert", "update", "delete", "merge", "replace", "truncate", "drop", "create", "alter", "values", "execute", "exec", "call", "grant", "revoke", "copy")
	case before.is(")") && !called:
		return s[i].is("insert", "update", "delete", "merge", "replace") && !after.is("set")
	case s[i].is("update"):
		return isUpdate(s, i)
	}
	return slices.ContainsFunc(tails[s[i].text], func(w string) bool { return after.is(w) }) || s[i].is("exec")
}

// isUpdate tells UPDATE t SET from FOR UPDATE, ON UPDATE and DO UPDATE.
func isUpdate(s []token, i int) bool {
	if s[i-1].is("for", "on", "do", "key", "before", "after", "or", ",", "grant", "of", "instead") {
		return false
	}
	for j := i + 2; j < len(s) && j < i+6; j++ {
		if s[j].is("set") {
			return true
		}
	}
	return false
}

// bounded reports whether the UPDATE or DELETE at i has a WHERE of its own that looks at a column.
func (q *queries) bounded(s []token, i int) bool {
	if i > 0 && s[i-1].is("then", "do", "key") { // MERGE and upserts name their rows otherwise
		return true
	}
	depth := s[i].depth
	for j := i + 1; j < len(s) && s[j].depth >= depth; j++ {
		if s[j].depth != depth || !s[j].is("where") {
			continue
		}
		for _, t := range s[j+1:] {
			if t.depth < depth || t.is("returning", "limit") {
				break
			}
			if t.kind == 'n' || t.kind == 'w' && !t.is("true", "false", "not", "null", "is", "and", "or", "between", "like", "in") {
				return true
			}
		}
		return false
	}
	return false
}

// exports finds writes that hide in reads: into a file, a program or a new table.
func (q *queries) exports(s []token) {
	for i, t := range s {
		after := token{}
		if i+1 < len(s) {
			after = s[i+1]
		}
		switch {
		case t.is("into") && after.is("outfile", "dumpfile"), t.is("to", "from") && after.is("program"):
			q.verbs.add("export")
		case t.is("into") && i > 0 && s[0].is("select", "with") && !s[i-1].is("insert", "merge", "replace"):
			q.verbs.add("select_into")
		case t.is("pg_read_file", "pg_read_binary_file", "lo_import", "lo_export", "load_file", "xp_cmdshell", "load_extension", "writefile", "readfile", "dblink", "dblink_exec", "pg_ls_dir", "utl_http", "utl_file", "openrowset", "sys_exec", "sys_eval"):
			q.verbs.add("system")
		}
	}
}

// scan cuts a text into tokens. It reports false for what does not end, or what dialects read in different ways.
func scan(text string) ([]token, bool) {
	if len(text) > maxSQL {
		return nil, false
	}
	var out []token
	depth := 0
	for i := 0; i < len(text); {
		n, t, ok := next(text[i:])
		if !ok {
			return nil, false
		}
		i += n
		switch {
		case t.kind == 0:
			continue
		case t.is("("):
			t.depth = depth
			depth++
		case t.is(")"):
			if depth--; depth < 0 {
				return nil, false
			}
			t.depth = depth
		default:
			t.depth = depth
		}
		out = append(out, t)
	}
	return out, depth == 0
}

// next reads one token, or a stretch without one, and its length.
func next(s string) (int, token, bool) {
	switch c := s[0]; {
	case strings.ContainsRune(" \t\r\n\f\v", rune(c)):
		return 1, token{}, true
	case strings.HasPrefix(s, "--"):
		end := strings.IndexByte(s, '\n')
		if end < 0 {
			end = len(s)
		}
		// MySQL wants a blank behind the dashes.
		return end, token{}, len(s) == 2 || strings.ContainsRune(" \t\r\n-", rune(s[2]))
	case c == '#':
		return 0, token{}, false // a comment in MySQL, an operator in PostgreSQL
	case strings.HasPrefix(s, "/*"):
		end := strings.Index(s[2:], "*/") + 2 // behind the opening: /*/ does not close itself
		// MySQL runs what stands in /*! … */; PostgreSQL nests comments, others do not.
		if end < 2 || strings.HasPrefix(s, "/*!") || strings.HasPrefix(s, "/*M!") || strings.Contains(s[2:end], "/*") {
			return 0, token{}, false
		}
		return end + 2, token{}, true
	case c == '\'' || c == '"' || c == '`':
		return quoted(s, c)
	case c == '[':
		if end := strings.IndexByte(s[:min(len(s), maxNameBytes)], ']'); end > 1 && isName(s[1:end]) {
			return end + 1, token{kind: 'n', text: s[1:end]}, true
		}
		return 1, token{kind: 's', text: "["}, true
	case c == '$':
		return dollar(s)
	case isWordByte(c):
		end := 1
		for end < len(s) && (isWordByte(s[end]) || s[end] == '$') {
			end++
		}
		kind := byte('w')
		if c >= '0' && c <= '9' {
			kind = 'v'
		}
		return end, token{kind: kind, text: strings.ToLower(s[:end])}, c != 0
	case c == 0:
		return 0, token{}, false
	}
	return 1, token{kind: 's', text: s[:1]}, true
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '@' || c >= 0x80
}

func isName(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && !isWordByte(byte(r)) && r != ' ' }) < 0
}

// quoted reads a text or a name. A quote that is doubled stands for itself everywhere; behind a backslash it does in some dialects only.
func quoted(s string, quote byte) (int, token, bool) {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == quote || s[i+1] == '\\'):
			return 0, token{}, false
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			kind := byte('n')
			if quote == '\'' {
				kind = 'v'
			}
			return i + 1, token{kind: kind, text: s[:i+1]}, true
		}
	}
	return 0, token{}, false
}

// dollar reads $1, and PostgreSQL's $tag$ … $tag$, a value. Where it is a program, the verb before it (do, create) says so.
func dollar(s string) (int, token, bool) {
	end := 1
	for end < len(s) && isWordByte(s[end]) {
		end++
	}
	if end == len(s) || s[end] != '$' || end > 1 && s[1] >= '0' && s[1] <= '9' {
		return end, token{kind: 'v', text: s[:end]}, true
	}
	tag := s[:end+1]
	length := strings.Index(s[end+1:], tag)
	if length < 0 {
		return 0, token{}, false
	}
	return end + 1 + length + len(tag), token{kind: 'v', text: tag}, true
}
