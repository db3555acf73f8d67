package parse

import (
	"slices"
	"strings"

	"ostiary/decision"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// collector gathers the facts of one call.
type collector struct {
	at                  place
	paths, hosts, files words
	shell               shell
	sql                 queries
}

func newCollector(at place) *collector {
	c := &collector{at: at, paths: words{}, hosts: words{}, files: words{}, sql: queries{verbs: words{}}}
	c.shell = shell{commands: []decision.Command{}, files: c.file, query: c.query, patch: func(text string) { patched(text, c.file) }}
	return c
}

// file takes in a word that names a file. Of one whose beginning only the shell knows, the rest counts as relative.
func (c *collector) file(word string) {
	if i := strings.LastIndex(word, unknown); i >= 0 {
		word = strings.TrimLeft(word[i+len(unknown):], "/")
	}
	if word == "" || word == "-" {
		return
	}
	full := c.at.absolute(word)
	c.files.add(full)
	if strings.ContainsRune(word, '/') || word[0] == '.' || word[0] == '~' {
		c.paths.add(full)
	}
}

func (c *collector) query(text string) {
	if !isConstant(text) {
		c.sql.unparsable = true
		return
	}
	c.sql.read(text)
}

// take looks into one argument that is no shell command.
func (c *collector) take(text string, role tool.Role) {
	switch {
	case role == tool.RolePath:
		c.file(text)
	case role == tool.RoleSQL:
		c.query(text)
	case strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "*** Begin Patch"):
		patched(text, c.file)
	}
}

// commands reads the arguments that are shell commands: a text is a script; a list is the words of one command, or, where its name is a
// plural or its first word cannot be a program, a script each. A list of words beside a text ("args") belongs to its command.
func (c *collector) commands(leaves []strictjson.Leaf, role func(string) tool.Role) {
	lists := map[string][]string{}
	var order []string
	for _, leaf := range leaves {
		if leaf.Kind != '"' {
			continue
		}
		parent, listed := listOf(leaf.Pointer)
		if listed {
			lists[parent] = append(lists[parent], leaf.Text)
		}
		if role(leaf.Pointer) == tool.RoleShell && (!listed || len(lists[parent]) == 1) {
			order = append(order, leaf.Pointer)
		}
	}
	texts := map[string]string{}
	for _, leaf := range leaves {
		texts[leaf.Pointer] = leaf.Text
	}
	top := frame{via: "plain"}
	for _, pointer := range order {
		if parent, listed := listOf(pointer); listed {
			list := lists[parent]
			if strings.HasSuffix(parent, "s") || strings.ContainsAny(list[0], " \t\n;|&<>$`") {
				for _, script := range list {
					c.shell.script(script, top)
				}
			} else {
				c.shell.run(list, top)
			}
			continue
		}
		c.command(texts[pointer], besides(pointer, lists), top)
	}
}

// command reads one text, with the words that stand beside it.
func (c *collector) command(text string, args []string, top frame) {
	if len(args) > 0 && !strings.ContainsAny(text, " \t\n;|&<>$`") {
		c.shell.run(append([]string{text}, args...), top)
		return
	}
	c.shell.script(text, top)
	if len(args) > 0 {
		c.shell.run(append(strings.Fields(text), args...), top)
	}
}

// listOf is the list that a place is in, when it is directly in one.
func listOf(pointer string) (string, bool) {
	i := strings.LastIndexByte(pointer, '/')
	if i < 0 || i+1 == len(pointer) || strings.Trim(pointer[i+1:], "0123456789") != "" {
		return "", false
	}
	return pointer[:i], true
}

// besides finds the words beside a command.
func besides(pointer string, lists map[string][]string) []string {
	above := pointer[:max(0, strings.LastIndexByte(pointer, '/'))]
	for _, name := range []string{"args", "arguments", "argv"} {
		if list := lists[above+"/"+name]; len(list) > 0 {
			return list
		}
	}
	return nil
}

func (c *collector) crowded() bool {
	return len(c.paths) > maxParsed || len(c.hosts) > maxParsed || len(c.files) > maxParsed
}

func (c *collector) parsed() decision.Parsed {
	return decision.Parsed{
		Paths: c.paths.sorted(), Hosts: c.hosts.sorted(), Files: c.files.sorted(),
		Commands: c.shell.commands, Unparsable: c.shell.unparsable, SQL: c.sql.facts(),
	}
}

// databases are words of tool names and namespaces that say that a query is SQL.
var databases = []string{
	"sql", "postgres", "postgresql", "pg", "mysql", "mariadb", "sqlite", "bigquery", "snowflake", "clickhouse", "redshift", "duckdb", "mssql",
	"oracle", "db", "database", "trino", "presto", "athena", "databricks", "supabase", "cockroach",
}

// withQueries makes queries and statements SQL where the tool's name says that it talks to a database that speaks it.
func withQueries(of tool.Name, role func(string) tool.Role) func(string) tool.Role {
	speaks := slices.ContainsFunc(nameWords(of.Namespace+"_"+of.Name), func(w string) bool { return slices.Contains(databases, w) })
	return func(pointer string) tool.Role {
		r := role(pointer)
		if r != "" && r != tool.RoleText || !speaks {
			return r
		}
		place := pointer
		for parent, listed := listOf(place); listed; parent, listed = listOf(place) {
			place = parent
		}
		last := nameWords(place[strings.LastIndexByte(place, '/')+1:])
		if slices.ContainsFunc(last, func(w string) bool {
			return slices.Contains([]string{"query", "queries", "statement", "statements", "stmt"}, w)
		}) {
			return tool.RoleSQL
		}
		return r
	}
}

// nameWords cuts a name at everything that is no letter, and before capitals.
func nameWords(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.Fields(strings.ToLower(b.String()))
}
