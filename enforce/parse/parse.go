package parse

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ostiary"
	"ostiary/decision"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// maxParsed bounds how many different paths or hosts of one call policy sees.
const maxParsed = 1024

// Arguments finds what arguments name and run: paths, hosts, files, the programs of shell commands and the verbs of SQL. Paths are absolute
// and clean, so that ".." cannot hide one; relative ones start at cwd. Arguments that name more than can be shown are refused as
// invalid_field, since one that is not shown could be a protected one; arguments of role text are shown as far as there is room, for a
// document may hold any number of slashes.
func Arguments(of tool.Name, leaves []strictjson.Leaf, role func(pointer string) tool.Role, cwd string) (decision.Parsed, error) {
	home, _ := os.UserHomeDir() // without a home, ~ names nothing of ours
	c := newCollector(place{cwd, home})
	role = withQueries(of, role)
	var documents []strictjson.Leaf
	for _, leaf := range leaves {
		switch r := role(leaf.Pointer); {
		case leaf.Kind != '"':
		case r == tool.RoleText:
			documents = append(documents, leaf)
		default:
			find(leaf, r, c.at, c.paths, c.hosts)
			c.take(leaf.Text, r)
			if c.crowded() {
				return decision.Parsed{}, tooMany(leaf.Pointer)
			}
		}
	}
	c.commands(leaves, role)
	if c.crowded() {
		return decision.Parsed{}, tooMany("")
	}
	for _, leaf := range documents {
		find(leaf, tool.RoleText, c.at, c.paths, c.hosts)
	}
	return c.parsed(), nil
}

func tooMany(pointer string) error {
	return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: pointer, Msg: "the arguments name more paths or hosts than can be judged"}
}

// place is where relative paths and ~ lead.
type place struct{ cwd, home string }

// words is a set that stops growing one past maxParsed.
type words map[string]bool

func (w words) add(word string) {
	if len(w) <= maxParsed {
		w[word] = true
	}
}

func (w words) sorted() []string {
	out := make([]string, 0, len(w))
	for word := range w {
		out = append(out, word)
	}
	slices.Sort(out)
	return out
}

var homeAsTilde = strings.NewReplacer("${HOME}", "~", "$HOME", "~")

// find takes in what may be a path or a host in a string: all of it where the role says so, and its telling words otherwise, since a shell
// command, a patch or a free text can name one anywhere.
func find(leaf strictjson.Leaf, role tool.Role, at place, paths, hosts words) {
	text := homeAsTilde.Replace(leaf.Text)
	if role == tool.RolePath {
		paths.add(at.absolute(leaf.Text))
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`;|&<>()=,:{}[]$", r) }) {
		if strings.ContainsRune(word, '/') || strings.HasPrefix(word, ".") || strings.HasPrefix(word, "~") {
			paths.add(at.absolute(word))
		}
	}
	for word := range strings.FieldsFuncSeq(leaf.Text, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`;|<>(){}", r) }) {
		if !strings.Contains(word, "//") { // without it there is no host
			continue
		}
		if u, err := url.Parse(word); err == nil && u.Host != "" {
			hosts.add(strings.ToLower(u.Hostname()))
		}
	}
}

func (at place) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && at.home != "" && (rest == "" || rest[0] == '/') {
		path = at.home + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(at.cwd, path)
	}
	return filepath.Clean(path)
}
