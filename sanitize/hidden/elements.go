package hidden

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"ostiary/sanitize"
)

// The types of findings in HTML.
const (
	element = "hidden_element"
	comment = "html_comment"
)

var (
	hiding = regexp.MustCompile(`(?i)display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0*(?:\.0+)?(?:;|$|\s|!)|font-size\s*:\s*0*[01]?(?:px|pt|em|rem|%)?\s*(?:;|$)|(?:left|top|text-indent)\s*:\s*-\d{3,}|(?:^|;|\s)color\s*:\s*(?:white|#fff(?:fff)?|transparent)|clip\s*:\s*rect\(0`)
	orders = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override|reveal|respond|reply|answer|output|print|send|forward|execute|call|must|instructions?|do not|don't|always|never|instead|repeat|include)\b|忽略|无视|指令|必须|不要`)
	models = regexp.MustCompile(`(?i)\b(?:ai|llms?|assistants?|agents?|chatbot|gpt|claude|gemini|language model|system prompt)\b|助手|模型`)
	whom   = regexp.MustCompile(`(?i)\b(?:you|your|ai|llm|assistant|agent|model|chatbot|gpt|claude|gemini|user|prompt|system)\b|你|您|助手|模型|用户|系统`)
)

// voids have no end tag.
func void(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr":
		return true
	}
	return false
}

// elements finds hidden elements and comments that give orders.
func elements(s string) []sanitize.Match {
	if !strings.Contains(s, "<") || !hinted(s) {
		return nil
	}
	var out []sanitize.Match
	z := html.NewTokenizer(strings.NewReader(s))
	at, open, depth, name := 0, -1, 0, ""
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out
		}
		start := at
		at += len(z.Raw())
		if kind == html.CommentToken && open < 0 {
			if text := s[start:at]; speaks(text) && models.MatchString(text) {
				out = append(out, removal(comment, start, at))
			}
			continue
		}
		if kind != html.StartTagToken && kind != html.EndTagToken {
			continue
		}
		tag, more := z.TagName()
		switch {
		case open < 0 && kind == html.StartTagToken && !void(string(tag)) && hides(z, more):
			open, depth, name = at, 1, string(tag)
		case open >= 0 && string(tag) == name && kind == html.StartTagToken:
			depth++
		case open >= 0 && string(tag) == name && kind == html.EndTagToken:
			if depth--; depth == 0 {
				if start > open && speaks(s[open:start]) {
					out = append(out, removal(element, open, start))
				}
				open = -1
			}
		}
	}
}

// hinted is the cheap test before the tokenizer runs.
func hinted(s string) bool {
	for _, h := range []string{"<!--", "style", "STYLE", "hidden", "HIDDEN"} {
		if strings.Contains(s, h) {
			return true
		}
	}
	return false
}

// hides reports whether the attributes of the current tag hide the element.
func hides(z *html.Tokenizer, more bool) bool {
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "hidden":
			return true
		case "style":
			if hiding.Match(value) {
				return true
			}
		}
	}
	return false
}

// speaks reports whether text orders someone to do something: an order and
// somebody it is addressed to, in a few words at least.
func speaks(text string) bool {
	return len(text) > 16 && orders.MatchString(text) && whom.MatchString(text)
}

// removal takes text out. A hidden element that speaks is an instruction; a
// comment to models may be honest advice, so it alone does not flag the text.
func removal(kind string, start, end int) sanitize.Match {
	return sanitize.Match{
		Family: sanitize.HiddenText, Type: kind, Start: start, End: end, Action: sanitize.Removed,
		Confidence: 0.9, Edits: []sanitize.Edit{{Start: start, End: end}}, Instruction: kind == element,
	}
}
