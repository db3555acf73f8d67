package secret

import (
	_ "embed" // for the rule files
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed gitleaks.json
var gitleaksRules []byte

//go:embed own.json
var ownRules []byte

// spec is a rule as data.
type spec struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Group    int      `json:"group"`
	Entropy  float64  `json:"entropy"` // bits per byte
	Keywords []string `json:"keywords"`
	Allow    []string `json:"allow"`
	// Token asks that the value hold a digit, as made-up tokens do.
	Token bool     `json:"token"`
	Match []string `json:"match"`
	Miss  []string `json:"miss"`
}

// rule is a spec ready to run.
type rule struct {
	spec
	re    *regexp.Regexp
	allow []*regexp.Regexp
	// leads: the expression starts with one of the keywords, so it runs
	// anchored at the keyword; word: it wants a word boundary before it.
	leads, word bool
	reach       int // bytes after the keyword that a match can take
}

const (
	// lookBehind is how far before its keyword a match may start.
	lookBehind = 192
	// maxReach bounds a match whose expression does not.
	maxReach = 4096
	// maxKeyReach is that bound for private keys.
	maxKeyReach = 16384
)

// superseded are rules of gitleaks whose place one of ours takes: their
// keywords are too short for the index, or they miss forms that ours find.
func superseded(id string) bool {
	return id == "jwt" || id == "private_key" || id == "twilio_api_key"
}

// load compiles the embedded rules.
func load() ([]*rule, error) {
	var theirs, ours []spec
	if err := json.Unmarshal(gitleaksRules, &theirs); err != nil {
		return nil, fmt.Errorf("gitleaks.json: %w", err)
	}
	if err := json.Unmarshal(ownRules, &ours); err != nil {
		return nil, fmt.Errorf("own.json: %w", err)
	}
	var rules []*rule
	for _, s := range append(ours, theirs...) {
		if superseded(s.ID) && s.Match == nil {
			continue
		}
		r, err := compile(s)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", s.ID, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func compile(s spec) (*rule, error) {
	tree, err := syntax.Parse(s.Regex, syntax.Perl)
	if err != nil {
		return nil, err
	}
	r := &rule{spec: s, reach: min(longest(tree), maxReach) + lookBehind}
	if strings.Contains(s.Regex, "PRIVATE KEY") {
		r.reach = maxKeyReach
	}
	expr := s.Regex
	if r.leads = leads(tree, s.Keywords); r.leads {
		if rest, ok := strings.CutPrefix(expr, `\b`); ok {
			expr, r.word = rest, true
		} else if rest, ok := strings.CutPrefix(expr, `(?i)\b`); ok {
			expr, r.word = "(?i)"+rest, true
		}
		expr = "^(?:" + expr + ")"
	}
	if r.re, err = regexp.Compile(expr); err != nil {
		return nil, err
	}
	for _, a := range s.Allow {
		re, err := regexp.Compile(a)
		if err != nil {
			return nil, err
		}
		r.allow = append(r.allow, re)
	}
	return r, nil
}

// leads reports whether every match of re starts with one of the keywords.
func leads(re *syntax.Regexp, keywords []string) bool {
	switch re.Op {
	case syntax.OpLiteral:
		lit := strings.ToLower(string(re.Rune))
		for _, k := range keywords {
			if strings.HasPrefix(lit, strings.ToLower(k)) {
				return true
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return leads(re.Sub[0], keywords)
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !leads(sub, keywords) {
				return false
			}
		}
		return true
	case syntax.OpConcat:
		subs := re.Sub
		if len(subs) > 0 && subs[0].Op == syntax.OpWordBoundary {
			subs = subs[1:]
		}
		return len(subs) > 0 && leads(subs[0], keywords)
	}
	return false
}

// longest returns the length in bytes of the longest match, or maxReach when
// there is no bound.
func longest(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(string(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpStar, syntax.OpPlus:
		n = maxReach
	case syntax.OpRepeat:
		if n = maxReach; re.Max >= 0 {
			n = re.Max * longest(re.Sub[0])
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
	default:
		for _, sub := range re.Sub {
			n += longest(sub)
		}
	}
	return min(n, maxReach)
}

// entropy is Shannon's, in bits per byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	bits, n := 0.0, float64(len(s))
	for _, c := range count {
		if c > 0 {
			p := float64(c) / n
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
