package inject

import (
	"regexp"
	"strings"
)

// structures are concepts that no word carries. Each has the substrings that
// must stand in a text before its expression runs.
type structure struct {
	concept string
	hints   []string
	re      *regexp.Regexp
}

func structures() []structure {
	must := regexp.MustCompile
	return []structure{
		{"TEMPLATE", []string{"<|", "[INST]", "<<SYS>>", "<start_of_turn>", "[/INST]"},
			must(`<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|channel|message)\|>|\[/?INST\]|<<SYS>>|<start_of_turn>`)},
		{"TURN", []string{"ystem", "YSTEM", "nstruction", "NSTRUCTION", "dmin", "DMIN", "eveloper", "EVELOPER", "role"},
			must(`(?im)^[ \t>*#"']{0,6}(?:system|developer|admin(?:istrator)?)(?: (?:message|prompt|note|instruction|override|update|alert))?[ \t]{0,2}[*\])]{0,3}:|[<\[{(]/?(?:system|sys|admin|developer|instructions?|system[ _-]?(?:prompt|message|instruction|override)|true_instructions?|new_instructions?|important|priority)[>\])}]|"role"\s{0,3}:\s{0,3}"(?:system|developer|assistant)"|#{2,5} ?(?:system|instruction)`)},
		{"TURNA", []string{"ssistant:", "AI:", "SSISTANT:", "Bot:", "Model:"}, must(`(?im)^[ \t>*#]{0,4}(?:assistant|ai|bot|model)[*]{0,2}:`)},
		{"TURNU", []string{"ser:", "uman:", "SER:"}, must(`(?im)^[ \t>*#]{0,4}(?:user|human)[*]{0,2}:`)},
		{"CARRIER", []string{"<!--", "display", "visibility", "opacity", "font-size", "hidden", "[//]:", "color:"},
			must(`<!--|\[//\]:|(?i)(?:display\s{0,2}:\s{0,2}none|visibility\s{0,2}:\s{0,2}hidden|opacity\s{0,2}:\s{0,2}0(?:[^.0-9]|$)|font-size\s{0,2}:\s{0,2}[01](?:px|pt|em)?\b|<[a-z]+ [^>]{0,80}\bhidden\b|color\s{0,2}:\s{0,2}(?:white|#fff(?:fff)?|transparent)\b)`)},
		{"DELIM", []string{"===", "---", "***", "###", "!!!", "**", ">>>", "~~~", "[["},
			must("(?:={3,}|-{3,}|\\*{2,}|#{2,}|!{2,}|>{3,}|~{3,}|\\[\\[)[ \t]{0,3}(?:[A-Z][A-Z]+|(?i:new|begin|end|start|important|urgent|system|ignore|stop)\\b)|[A-Z]{4,}!{2,}")},
		{"PIXEL", []string{"]("}, must(`!\[[^\]]{0,80}\]\(https?://[^\s)]{1,200}[?&/=][^\s)]{0,80}(?:\[[A-Za-z_ ]{2,30}\]|\{[A-Za-z_ ]{2,30}\}|<[A-Za-z_ ]{2,30}>|%s|[A-Z]{4,20}_[A-Z]{2,20})`)},
	}
}

// maxStructures bounds how many hits of one structure are looked at.
const maxStructures = 512

// find calls found with the range of each hit in text.
func (s *structure) find(text string, found func(start, end int)) {
	for _, hint := range s.hints {
		if strings.Contains(text, hint) {
			for _, loc := range s.re.FindAllStringIndex(text, maxStructures) {
				found(loc[0], loc[1])
			}
			return
		}
	}
}
