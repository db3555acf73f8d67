package parse

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// unknown stands in a word for what only the shell will know. No text of a call can hold it: JSON texts are valid UTF-8.
const unknown = "\xff"

// maxBraces bounds the braces of one word, and what it becomes.
const maxBraces = 64

// wordsOf turns the words of a command into texts: quotes are taken off, braces are spread, the home directory is ~.
func wordsOf(list []*syntax.Word) []string {
	var out []string
	for _, w := range list {
		out = append(out, spread(w)...)
	}
	return out
}

// spread gives the texts that a word with braces stands for; one that is too many, or a sequence, is unknown.
func spread(w *syntax.Word) []string {
	braces := 0
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			braces += strings.Count(lit.Value, "{")
		}
	}
	if braces > maxBraces { // taking them apart would take longer than all the rest
		return []string{unknown}
	}
	split := &syntax.Word{Parts: append([]syntax.WordPart{}, w.Parts...)}
	if !syntax.SplitBraces(split) {
		return []string{literal(w.Parts)}
	}
	texts := alternatives(split.Parts)
	if texts == nil {
		return []string{unknown}
	}
	return texts
}

func alternatives(parts []syntax.WordPart) []string {
	texts := []string{""}
	for _, part := range parts {
		var ends []string
		brace, ok := part.(*syntax.BraceExp)
		switch {
		case !ok:
			ends = []string{literal([]syntax.WordPart{part})}
		case brace.Sequence:
			ends = []string{unknown}
		default:
			for _, e := range brace.Elems {
				below := alternatives(e.Parts)
				if below == nil {
					return nil
				}
				ends = append(ends, below...)
			}
		}
		var longer []string
		for _, start := range texts {
			for _, end := range ends {
				if longer = append(longer, start+end); len(longer) > maxBraces {
					return nil
				}
			}
		}
		texts = longer
	}
	return texts
}

// literal is the text of word parts, with unknown for each that is not constant.
func literal(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			if p.Dollar {
				b.WriteString(ansi(p.Value))
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					b.WriteString(unescape(lit.Value, "$`\"\\"))
				} else {
					b.WriteString(literal([]syntax.WordPart{inner}))
				}
			}
		case *syntax.ParamExp:
			b.WriteString(parameter(p))
		case *syntax.CmdSubst:
			b.WriteString(which(p))
		default:
			b.WriteString(unknown)
		}
	}
	return b.String()
}

// parameter knows the home directory and the working directory; the rest is unknown.
func parameter(p *syntax.ParamExp) string {
	plain := p.Param != nil && !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Flags == nil && p.NestedParam == nil
	switch {
	case plain && p.Param.Value == "HOME":
		return "~"
	case plain && p.Param.Value == "PWD":
		return "."
	}
	return unknown
}

// which knows $(which x) and $(command -v x): they are x.
func which(c *syntax.CmdSubst) string {
	if len(c.Stmts) != 1 {
		return unknown
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return unknown
	}
	var words []string
	for _, w := range call.Args {
		words = append(words, w.Lit()) // empty for what is not plain
	}
	if slices.Contains(words, "") {
		return unknown
	}
	if len(words) == 2 && words[0] == "which" || len(words) == 3 && words[0] == "command" && words[1] == "-v" {
		return words[len(words)-1]
	}
	return unknown
}

// unescape takes off backslashes: before every character, or only before those that a double quote lets them stand for.
func unescape(s, only string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\' || i+1 == len(s):
			b.WriteByte(s[i])
		case s[i+1] == '\n':
			i++
		case only == "" || strings.IndexByte(only, s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte('\\')
		}
	}
	return b.String()
}

var ansiLetters = map[byte]byte{'a': '\a', 'b': '\b', 'e': 0x1b, 'E': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// ansi decodes the text of $'…'.
func ansi(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if c, ok := ansiLetters[s[i]]; ok {
			b.WriteByte(c)
			continue
		}
		base, start, most := 8, i, 3
		switch s[i] {
		case 'x':
			base, start, most = 16, i+1, 2
		case 'u':
			base, start, most = 16, i+1, 4
		case 'U':
			base, start, most = 16, i+1, 8
		}
		end := start
		for end < len(s) && end < start+most && isDigit(s[end], base) {
			end++
		}
		n, err := strconv.ParseUint(s[start:end], base, 32)
		if err != nil || n > utf8.MaxRune || n > 0x7f && start == i {
			return unknown
		}
		b.WriteRune(rune(n))
		i = end - 1
	}
	return b.String()
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func isConstant(word string) bool { return !strings.Contains(word, unknown) }

// shown is a word as policies see it.
func shown(word string) string {
	if !isConstant(word) {
		return ""
	}
	return word
}

// programName is the base name of a command's first word; a glob may match any program.
func programName(word string) string {
	base := path.Base(word)
	if word == "" || !isConstant(base) || base != "[" && strings.ContainsAny(base, "*?[") {
		return ""
	}
	return base
}
