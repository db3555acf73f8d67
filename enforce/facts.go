package enforce

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

// input builds the document that policies read.
func (e *Enforcer) input(c *call) decision.Input {
	in := decision.Input{
		Phase:      decision.PhaseCall,
		Tool:       toolFacts(c.tool),
		Args:       c.req.Input,
		Caller:     decision.Caller{Agent: c.who.Subject, Tenant: c.who.Tenant, Profile: string(c.who.Profile), Confidence: c.req.Confidence, Verdict: c.req.Verdict},
		Session:    c.session.Facts(c.req.Iteration),
		Request:    decision.RequestFacts{Known: c.session.KnowsRequest()},
		Provenance: decision.Provenance{Args: c.origins},
		Parsed:     e.parse(c),
		Clock:      e.clock(),
	}
	if ev := c.req.Evidence; ev != nil {
		in.Evidence = &decision.Evidence{Status: ev.Status, Warnings: ev.Warnings}
	}
	if c.req.Context != nil {
		in.Tool.Annotations = in.Tool.Annotations.Worsen(c.req.Context.Annotations)
	}
	return in
}

func toolFacts(r tool.Resolved) decision.ToolFacts {
	return decision.ToolFacts{Namespace: r.Namespace, Name: r.Name, DefinitionDigest: r.Digest, Annotations: r.Risk, AnnotationsSource: r.Source}
}

func (e *Enforcer) clock() decision.Clock {
	now := e.cfg.Now().In(e.cfg.Location)
	day, hour := int(now.Weekday()), now.Hour()
	return decision.Clock{MinuteOfWeek: (day*24+hour)*60 + now.Minute(), WorkHours: day >= 1 && day <= 5 && hour >= 8 && hour < 18}
}

// maxParsed bounds how many paths or hosts of one call policy sees; a call with more has them all in its arguments still.
const maxParsed = 256

// parse finds the paths and hosts that the arguments name. Paths are absolute and clean, so that ".." cannot hide one.
func (e *Enforcer) parse(c *call) decision.Parsed {
	p := decision.Parsed{Paths: []string{}, Hosts: []string{}}
	for _, leaf := range c.leaves {
		if leaf.Kind != '"' {
			continue
		}
		for _, word := range pathWords(leaf, e.cfg.Registry.Role(c.tool, leaf.Pointer)) {
			p.Paths = append(p.Paths, absolute(word, cwd(c)))
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

func cwd(c *call) string {
	if c.req.Context != nil && filepath.IsAbs(c.req.Context.CWD) {
		return c.req.Context.CWD
	}
	return "/"
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
