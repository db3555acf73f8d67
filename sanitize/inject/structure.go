package inject

import (
	"regexp"
	"strings"
)

// structure is a concept that no word carries. Its expression runs only in a
// window around its hints, so that plain text pays for the search alone.
type structure struct {
	concept   string
	hints     []string
	back, fwd int // the window, in bytes before and after a hint
	// label: the hint must be the first word of a line or of a bracket.
	label bool
	re    *regexp.Regexp
}

func structures() []structure {
	must := regexp.MustCompile
	return []structure{
		{"TEMPLATE", []string{"<|", "[INST]", "<<SYS>>", "<start_of_turn>", "[/INST]"}, 0, 24, false,
			must(`<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|channel|message)\|>|\[/?INST\]|<<SYS>>|<start_of_turn>`)},
		{"TURN", []string{"ystem", "YSTEM", "<sys", "nstruction", "NSTRUCTION", "dmin", "DMIN", "eveloper", "EVELOPER", "role", "mportant", "MPORTANT", "riority", "RIORITY"}, 48, 48, true,
			must(`(?im)^[ \t>*#"']{0,6}(?:system|developer|admin(?:istrator)?)(?: (?:message|prompt|note|instruction|override|update|alert))?[ \t]{0,2}[*\])]{0,3}:|[<\[{(]/?(?:system|sys|admin|developer|instructions?|system[ _-]?(?:prompt|message|instruction|override)|true_instructions?|new_instructions?|important|priority)[>\])}]|"role"\s{0,3}:\s{0,3}"(?:system|developer|assistant)"|#{2,5} ?(?:system|instruction)`)},
		{"TURNA", []string{"ssistant:", "AI:", "SSISTANT:", "Bot:", "Model:"}, 24, 16, false, must(`(?im)^[ \t>*#]{0,4}(?:assistant|ai|bot|model)[*]{0,2}:`)},
		{"TURNU", []string{"ser:", "uman:", "SER:", "UMAN:"}, 24, 16, false, must(`(?im)^[ \t>*#]{0,4}(?:user|human)[*]{0,2}:`)},
		{"CARRIER", []string{"<!--", "isplay:", "isplay :", "isibility:", "pacity:", "ont-size:", "hidden", "[//]:", "olor:"}, 96, 32, false,
			must(`<!--|\[//\]:|(?i)(?:display\s{0,2}:\s{0,2}none|visibility\s{0,2}:\s{0,2}hidden|opacity\s{0,2}:\s{0,2}0(?:[^.0-9]|$)|font-size\s{0,2}:\s{0,2}[01](?:px|pt|em)?\b|<[a-z]+ [^>]{0,80}\bhidden\b|color\s{0,2}:\s{0,2}(?:white|#fff(?:fff)?|transparent)\b)`)},
		{"DELIM", []string{"===", "---", "***", "##", "!!!", "**", ">>>", "~~~", "[["}, 6, 24, false,
			must("(?:={3,}|-{3,}|\\*{2,}|#{2,}|!{2,}|>{3,}|~{3,}|\\[\\[)[ \t]{0,3}(?:[A-Z][A-Z]+|(?i:new|begin|end|start|important|urgent|system|ignore|stop)\\b)|[A-Z]{4,}!{2,}")},
		{"PIXEL", []string{"!["}, 0, 400, false, must(`!\[[^\]]{0,80}\]\(https?://[^\s)]{1,200}[?&/=][^\s)]{0,80}(?:\[[A-Za-z_ ]{2,30}\]|\{[A-Za-z_ ]{2,30}\}|<[A-Za-z_ ]{2,30}>|%s|[A-Z]{4,20}_[A-Z]{2,20})`)},
	}
}

// maxStructures bounds how many hits of one structure are looked at.
const maxStructures = 512

// find calls found with the range of each hit in text.
func (s *structure) find(text string, found func(start, end int)) {
	hits := 0
	for _, hint := range s.hints {
		for at := 0; hits < maxStructures; {
			i := strings.Index(text[at:], hint)
			if i < 0 {
				break
			}
			at += i
			start, end, ok := s.window(text, at)
			if ok {
				found(start, end)
				hits++
			}
			at = max(at+len(hint), end)
		}
	}
}

// window runs the expression around the hint at text[at:]. On a miss it
// returns where the run of the hint's bytes ends.
func (s *structure) window(text string, at int) (start, end int, ok bool) {
	end = at + 1
	for end < len(text) && text[end] == text[at] {
		end++
	}
	if s.label && !labels(text, at) {
		return at, end, false
	}
	low := max(0, at-s.back)
	if i := strings.LastIndexByte(text[low:at], '\n'); i >= 0 {
		low += i + 1
	}
	whole := low == 0 || text[low-1] == '\n'
	loc := s.re.FindStringIndex(text[low:min(len(text), end+s.fwd)])
	// A line that starts before the window does not start in it.
	if loc == nil || loc[0] == 0 && !whole && s.back > 0 && text[low] != '<' && text[low] != '[' {
		return at, end, false
	}
	return low + loc[0], low + loc[1], true
}

// labelReach is how many letters may stand between a bracket or the start of
// a line and the hint.
const labelReach = 14

// labels reports whether the words before at begin a line or a bracket.
func labels(text string, at int) bool {
	for i := at - 1; i >= max(0, at-labelReach); i-- {
		c := text[i]
		if !wordByte(c) && c != ' ' && c != '-' {
			return strings.IndexByte("\n<[{(/>*#\"'|", c) >= 0
		}
	}
	return at <= labelReach
}
