// Command gen converts the rule file of gitleaks (MIT) to the data that
// package secret embeds. Run it as
//
//	go run ./sanitize/secret/gen < gitleaks.toml > sanitize/secret/gitleaks.json
//
// It reads the subset of TOML that file uses, and leaves out rules that look
// at paths and the generic rule, which package secret has in another form.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"
)

type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Group    int      `json:"group,omitempty"`
	Entropy  float64  `json:"entropy,omitempty"`
	Keywords []string `json:"keywords"`
	Allow    []string `json:"allow,omitempty"`
}

// lead is what most rules allow before their keyword. It is not part of the
// secret, and without it a rule starts at its keyword.
const lead = `[\w.-]{0,50}?`

func main() {
	rules := read(os.Stdin)
	if len(rules) == 0 {
		log.Fatal("no rules on standard input")
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(rules); err != nil {
		log.Fatal(err)
	}
}

// read collects the rules that the engine can run.
func read(in io.Reader) []rule {
	var out []rule
	for _, section := range sections(in) {
		r, ok := parse(section)
		if !ok || r.ID == "generic-api-key" || len(r.Keywords) == 0 {
			continue
		}
		r.ID = strings.ReplaceAll(r.ID, "-", "_")
		r.Regex = strings.Replace(r.Regex, lead, "", 1)
		if _, err := regexp.Compile(r.Regex); err != nil {
			log.Printf("left out %s: %v", r.ID, err)
			continue
		}
		out = append(out, r)
	}
	return out
}

// sections splits the file at [[rules]].
func sections(in io.Reader) [][]string {
	var all [][]string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "[[rules]]" {
			all = append(all, nil)
		} else if len(all) > 0 {
			all[len(all)-1] = append(all[len(all)-1], line)
		}
	}
	return all
}

func parse(lines []string) (rule, bool) {
	var r rule
	list, target := "", "secret"
	for _, line := range lines {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, " = ")
		switch {
		case list != "" && line == "]":
			list = ""
		case list == "keywords":
			r.Keywords = append(r.Keywords, text(line))
		case list == "regexes" && target == "secret":
			r.Allow = append(r.Allow, text(line))
		case list != "" || strings.HasPrefix(line, "#"):
		case value == "[":
			list = key
		case key == "path":
			return r, false
		case key == "id":
			r.ID = text(value)
		case key == "regex":
			r.Regex = text(value)
		case key == "entropy":
			r.Entropy, _ = strconv.ParseFloat(value, 64)
		case key == "secretGroup":
			r.Group, _ = strconv.Atoi(value)
		case key == "regexTarget":
			target = text(value)
		case key == "keywords":
			for item := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
				if item = text(item); item != "" {
					r.Keywords = append(r.Keywords, item)
				}
			}
		}
	}
	return r, r.ID != "" && r.Regex != ""
}

// text takes the quotes off a TOML string.
func text(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ",")
	if inner, ok := strings.CutPrefix(s, "'''"); ok {
		return strings.TrimSuffix(inner, "'''")
	}
	return strings.Trim(s, `"`)
}
