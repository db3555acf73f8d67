package parse

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ostiary/decision"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// maxParsed bounds how many paths or hosts of one call policy sees; a call with more has them all in its arguments still.
const maxParsed = 256

// Arguments finds the paths and hosts that arguments name. Paths are absolute and clean, so that ".." cannot hide one; relative ones start
// at cwd.
func Arguments(leaves []strictjson.Leaf, role func(pointer string) tool.Role, cwd string) decision.Parsed {
	p := decision.Parsed{Paths: []string{}, Hosts: []string{}}
	for _, leaf := range leaves {
		if leaf.Kind != '"' {
			continue
		}
		for _, word := range pathWords(leaf, role(leaf.Pointer)) {
			p.Paths = append(p.Paths, absolute(word, cwd))
		}
		if u, err := url.Parse(leaf.Text); err == nil && u.Host != "" {
			p.Hosts = append(p.Hosts, u.Hostname())
		}
	}
	p.Paths, p.Hosts = unique(p.Paths), unique(p.Hosts)
	return p
}

func unique(words []string) []string {
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), maxParsed)]
}

// pathWords returns what may be a path in a string: all of it where the role says so, and its path-like words otherwise, since a shell
// command, a patch or a free text can name one anywhere.
func pathWords(leaf strictjson.Leaf, role tool.Role) []string {
	words := strings.FieldsFunc(leaf.Text, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`;|&<>()=,:{}[]$", r) })
	words = slices.DeleteFunc(words, func(w string) bool {
		return !strings.ContainsRune(w, '/') && !strings.HasPrefix(w, ".") && !strings.HasPrefix(w, "~")
	})
	if role == tool.RolePath {
		words = append(words, leaf.Text)
	}
	return words[:min(len(words), maxParsed)]
}

func absolute(path, cwd string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + rest
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	return filepath.Clean(path)
}
