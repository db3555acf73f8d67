package markup

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"ostiary/sanitize"
)

// isHTML reports whether text is to be read as HTML.
func isHTML(text, contentType string) bool {
	if contentType != "" {
		return contentType == "text/html" || contentType == "application/xhtml+xml" || contentType == "image/svg+xml"
	}
	head := strings.ToLower(strings.TrimSpace(text[:min(len(text), 512)]))
	return strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html")
}

// active are elements that run or load something by being there.
func active(name string) bool {
	switch name {
	case "script", "iframe", "object", "embed", "applet", "base", "frame":
		return true
	}
	return false
}

// htmlMatches defuses HTML; base is the offset of s in the whole text.
func htmlMatches(s string, base int) []sanitize.Match {
	var out []sanitize.Match
	z := html.NewTokenizer(strings.NewReader(s))
	for at := 0; ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out
		}
		raw := z.Raw()
		start := at
		at += len(raw)
		if kind != html.StartTagToken && kind != html.EndTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		name, more := z.TagName()
		if active(string(name)) {
			out = append(out, defuse("active_element", base+start, base+at,
				sanitize.Edit{Start: base + start, End: base + start + 1, Text: "&lt;"}))
			continue
		}
		source := s[start:at]
		for more {
			var key, value []byte
			key, value, more = z.TagAttr()
			if kind := dangerous(string(key), value); kind != "" {
				out = append(out, rename(kind, source, string(key), base+start)...)
			}
		}
	}
}

// dangerous names what an attribute does; "" for nothing.
func dangerous(key string, value []byte) string {
	switch {
	case len(key) > 4 && strings.HasPrefix(key, "on"):
		return "event_handler"
	case key == "srcdoc":
		return "active_element"
	}
	switch key {
	case "href", "src", "action", "formaction", "xlink:href", "poster", "background", "data":
	default:
		return ""
	}
	clean := strings.ToLower(string(bytes.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, value)))
	switch {
	case scriptURL(clean):
		return "script_url"
	case key != "href" && strings.HasPrefix(clean, "http") && carriesData(string(value)):
		return "image_exfiltration"
	}
	return ""
}

// scriptURL reports whether a URL, in lower case, runs code when followed.
func scriptURL(u string) bool {
	for _, scheme := range []string{"javascript:", "vbscript:", "data:text/html", "data:image/svg", "data:application/xhtml"} {
		if strings.HasPrefix(u, scheme) {
			return true
		}
	}
	return false
}

// rename puts a prefix before an attribute's name so that it means nothing.
func rename(kind, source, key string, base int) []sanitize.Match {
	re, err := regexp.Compile(`(?i)[\s/"'](` + regexp.QuoteMeta(key) + `)\s*=`)
	if err != nil {
		return nil // QuoteMeta leaves nothing to fail
	}
	loc := re.FindStringSubmatchIndex(source)
	if loc == nil {
		return nil
	}
	at := base + loc[2]
	return []sanitize.Match{defuse(kind, at, base+len(source), sanitize.Edit{Start: at, End: at, Text: "data-defused-"})}
}

func defuse(kind string, start, end int, e sanitize.Edit) sanitize.Match {
	return sanitize.Match{
		Family: sanitize.Markup, Type: kind, Start: start, End: end, Action: sanitize.Defused,
		Confidence: 0.9, Edits: []sanitize.Edit{e},
	}
}
