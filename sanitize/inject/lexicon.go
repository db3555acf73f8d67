package inject

import (
	_ "embed" // for the lexicon and the rules
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

//go:embed lexicon.txt
var lexiconText string

//go:embed rules.txt
var rulesText string

// concept numbers a concept of the lexicon or of structure.go.
type concept uint8

// phrase is one entry of the lexicon: words in a row.
type phrase struct {
	words   []string
	prefix  bool // the last word matches any ending
	concept concept
}

// head is what phrases are found by: up to four bytes of their first word.
type head [4]byte

func headOf(word string) head {
	var h head
	copy(h[:], word)
	return h
}

// lexicon is the compiled lexicon.
type lexicon struct {
	names   map[string]concept
	phrases map[head][]phrase
	// short holds prefix phrases whose first word has fewer than four bytes.
	short []phrase
}

// concept returns the number of name, new or known.
func (l *lexicon) concept(name string) concept {
	c, ok := l.names[name]
	if !ok {
		c = concept(len(l.names) + 1)
		l.names[name] = c
	}
	return c
}

// parseLexicon reads lines "CONCEPT: words, words".
func parseLexicon(text string) (*lexicon, error) {
	l := &lexicon{names: make(map[string]concept), phrases: make(map[head][]phrase)}
	for number, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		name, list, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("lexicon line %d has no concept", number+1)
		}
		c := l.concept(name)
		for item := range strings.SplitSeq(list, ",") {
			item = strings.TrimSpace(item)
			item, prefix := strings.TrimSuffix(item, "*"), strings.HasSuffix(item, "*")
			var words []string
			t := tokenize(norm.NFKC.String(item)) // as views are
			for i := range t.tokens {
				words = append(words, t.word(i))
			}
			if len(words) == 0 {
				return nil, fmt.Errorf("lexicon line %d has an empty entry", number+1)
			}
			l.add(phrase{words, prefix, c})
		}
	}
	return l, nil
}

func (l *lexicon) add(p phrase) {
	if p.prefix && len(p.words) == 1 && len(p.words[0]) < len(head{}) {
		l.short = append(l.short, p)
		return
	}
	h := headOf(p.words[0])
	l.phrases[h] = append(l.phrases[h], p)
}

// rule is a conjunction of concepts within a distance.
type rule struct {
	kind   string
	strict bool
	within int // words
	anchor concept
	others []term
	// close keeps the match inside one sentence.
	close bool
}

// term is a concept that must stand near the anchor.
type term struct {
	concept concept
	after   bool
	within  int // words
}

// parseRules reads lines "TYPE TIER WITHIN: ANCHOR [>]CONCEPT…".
func parseRules(text string, l *lexicon) (map[concept][]rule, error) {
	rules := make(map[concept][]rule)
	for number, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		left, right, _ := strings.Cut(line, ": ")
		fields, names := strings.Fields(left), strings.Fields(right)
		if len(fields) != 3 || len(names) == 0 || fields[1] != "strict" && fields[1] != "loose" {
			return nil, fmt.Errorf("rules line %d is not TYPE TIER WITHIN: CONCEPTS", number+1)
		}
		within, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("rules line %d: %w", number+1, err)
		}
		r := rule{kind: fields[0], strict: fields[1] == "strict", within: within, close: len(names) > 1}
		for i, name := range names {
			name, after := strings.TrimPrefix(name, ">"), strings.HasPrefix(name, ">")
			name, reach, own := strings.Cut(name, "/")
			distance := within
			if own {
				if distance, err = strconv.Atoi(reach); err != nil {
					return nil, fmt.Errorf("rules line %d: %w", number+1, err)
				}
			}
			c, ok := l.names[name]
			if !ok {
				return nil, fmt.Errorf("rules line %d names the unknown concept %s", number+1, name)
			}
			if i == 0 {
				r.anchor = c
				continue
			}
			r.others = append(r.others, term{c, after, distance})
			r.close = r.close && after
		}
		rules[r.anchor] = append(rules[r.anchor], r)
	}
	return rules, nil
}
