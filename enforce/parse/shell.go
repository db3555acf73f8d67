package parse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ostiary/decision"
)

// What policy can be shown of shell commands; more counts as unparsable. Every rule looks at every command within 50 ms.
const (
	maxScript   = 32 << 10 // bytes of one script
	maxCommands = 128
	maxWords    = 1024
	maxDepth    = 8  // scripts within scripts
	maxNesting  = 64 // open parentheses, braces and brackets: the parser looks ahead from each of them
)

// shell collects what scripts run.
type shell struct {
	commands   []decision.Command
	words      int
	unparsable bool
	files      func(word string)
	query      func(text string)
	patch      func(text string)
}

// frame is what a command finds around it.
type frame struct {
	via       string
	depth     int
	input     *string             // its standard input where it is constant
	piped     bool                // it reads from something else than the terminal
	redirects []decision.Redirect // of the blocks around it
}

// script reads a script and takes in what it runs.
func (s *shell) script(text string, f frame) {
	if len(text) > maxScript || f.depth > maxDepth || strings.ContainsRune(text, 0) || nesting(text) > maxNesting {
		s.unparsable = true
		return
	}
	file := parseShell(text)
	if file == nil {
		s.unparsable = true
		return
	}
	f.depth++
	s.stmts(file.Stmts, f)
}

// nesting is how deep the brackets of a text go, wherever they stand. Quotes can hide a bracket, so it can count too much or too little: it
// keeps from the parser what opens and never closes, and maxScript bounds what else is slow to read.
func nesting(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			depth++
			deepest = max(deepest, depth)
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// parseShell returns nil for what is no valid shell.
func parseShell(text string) (file *syntax.File) {
	defer func() {
		if recover() != nil { // the parser is not ours, and what it reads is the agent's
			file = nil
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

func (s *shell) stmts(list []*syntax.Stmt, f frame) {
	for _, stmt := range list {
		s.stmt(stmt, f)
	}
}

func (s *shell) stmt(stmt *syntax.Stmt, f frame) {
	if s.full() {
		return
	}
	f = s.redirect(stmt.Redirs, f)
	switch c := stmt.Cmd.(type) {
	case nil:
		if len(stmt.Redirs) > 0 { // > file alone empties it
			s.add(nil, f)
		}
	case *syntax.CallExpr:
		for _, a := range c.Assigns {
			s.substitutions(a, f)
		}
		for _, w := range c.Args {
			s.substitutions(w, f)
		}
		if len(c.Args) > 0 || len(stmt.Redirs) > 0 {
			s.run(wordsOf(c.Args), f)
		}
	case *syntax.BinaryCmd:
		s.stmt(c.X, f)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			f.via, f.piped, f.input = "pipe", true, output(c.X)
		}
		s.stmt(c.Y, f)
	default:
		s.compound(c, f)
	}
}

// compound goes into everything that a shell construct may run, in whatever order it would.
func (s *shell) compound(node syntax.Node, f frame) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			s.stmt(n, f)
			return false
		case *syntax.CmdSubst, *syntax.ProcSubst:
			s.substitutions(n, f)
			return false
		}
		return true
	})
}

// substitutions takes in what the words of a node run.
func (s *shell) substitutions(node syntax.Node, f frame) {
	inner := frame{via: "substitution", depth: f.depth}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.stmts(n.Stmts, inner)
			return false
		case *syntax.ProcSubst:
			s.stmts(n.Stmts, inner)
			return false
		}
		return true
	})
}

// redirect adds the redirections of a statement to its frame.
func (s *shell) redirect(list []*syntax.Redirect, f frame) frame {
	for _, r := range list {
		s.substitutions(r.Word, f)
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			doc := r.Hdoc
			if r.Op == syntax.WordHdoc {
				doc = r.Word
			}
			f.piped, f.input = true, nil
			if doc == nil {
				continue
			}
			s.substitutions(doc, f)
			if text := literal(doc.Parts); isConstant(text) {
				f.input = &text
			}
			if f.via == "plain" {
				f.via = "heredoc"
			}
		case syntax.DplIn, syntax.DplOut:
			if to := literal(r.Word.Parts); strings.Trim(to, "0123456789-") != "" {
				f.redirects = s.file(f.redirects, r, to)
			}
		default:
			f.redirects = s.file(f.redirects, r, literal(r.Word.Parts))
		}
	}
	return f
}

func (s *shell) file(list []decision.Redirect, r *syntax.Redirect, to string) []decision.Redirect {
	s.words++
	s.files(to)
	return append(list[:len(list):len(list)], decision.Redirect{Op: r.Op.String(), Path: shown(to)})
}

// output is what a statement writes where that stands in it: an echo of constant words.
func output(stmt *syntax.Stmt) *string {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(stmt.Redirs) > 0 {
		return nil
	}
	words := wordsOf(call.Args)
	if len(words) < 2 || words[0] != "echo" && words[0] != "printf" {
		return nil
	}
	text := strings.Join(words[1:], " ")
	if !isConstant(text) || words[0] == "printf" && strings.ContainsAny(text, `%\`) || strings.HasPrefix(words[1], "-") {
		return nil
	}
	return &text
}

// full reports whether there is no room for another command, which then counts as unparsable.
func (s *shell) full() bool {
	if len(s.commands) < maxCommands && s.words <= maxWords {
		return false
	}
	s.unparsable = true
	return true
}

// run takes in a command of these words, and what it runs in turn.
func (s *shell) run(words []string, f frame) {
	if s.full() {
		return
	}
	at := s.add(words, f)
	if len(words) == 0 {
		return
	}
	f.redirects = nil
	dynamic := s.inner(s.commands[at].Name, words[1:], f)
	s.commands[at].Dynamic = dynamic || s.commands[at].Name == ""
}

// add appends a command and returns its place.
func (s *shell) add(words []string, f frame) int {
	c := decision.Command{Args: []string{}, Redirects: f.redirects, Via: f.via}
	if c.Redirects == nil {
		c.Redirects = []decision.Redirect{}
	}
	if len(words) > 0 {
		c.Name = programName(words[0])
		for _, w := range words[1:] {
			c.Args = append(c.Args, shown(w))
		}
		s.named(c.Name, words[1:])
	} else {
		c.Name = ":" // a redirection without a program
	}
	s.words += len(words)
	s.commands = append(s.commands, c)
	return len(s.commands) - 1
}
