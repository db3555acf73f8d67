package policies_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

var update = flag.Bool("update", false, "write docs/packs.md anew")

// packHeads are the packs in the order of the page.
var packHeads = []struct{ dir, title, intro string }{
	{"baseline", "baseline", "Always on. Its settings stand in [policies.md](policies.md#its-settings)."},
	{"pack_coding", "coding", "What a coding agent's shell and file tools can do that is hard to take back. It judges `input.parsed.commands` and `input.parsed.files`, never the text of a command."},
	{"pack_data", "data", "What SQL does, in arguments and in the words of database clients, and personal data on its way out."},
	{"pack_owasp_agentic", "owasp_agentic", "What the OWASP Top 10 for agentic applications names and the other packs leave open."},
}

const docsHead = `# Policy packs

<!-- Made from the metadata of policies/ by: go test -tags nomsgpack ./policies -run TestThePageOfThePacks -update -->

Every pack but the baseline can be switched off by ` + "`policies.packs`" + ` in the [configuration](configuration.md). A rule's behavior is what it says; the strictest of all rules wins.

| pack | rules | deny | ask | allow |
|---|---|---|---|---|
`

func TestThePageOfThePacks(t *testing.T) {
	var b strings.Builder
	b.WriteString(docsHead)
	rules := shipped(t)
	for _, p := range packHeads {
		count := map[string]int{}
		for _, r := range rules {
			if r.pack == p.dir {
				count[r.behavior]++
				count["all"]++
			}
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %d | %d | %d |\n", p.title, p.title, count["all"], count["deny"], count["ask"], count["allow"])
		if count["all"] == 0 {
			t.Errorf("%s has no rules", p.dir)
		}
	}
	b.WriteString("\n" + limits)
	for _, p := range packHeads {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", p.title, p.intro)
		packPage(t, &b, p.dir, rules)
	}
	b.WriteString("\n## Which of the ten a policy can decide\n\nNo policy decides any of them alone. The rules are those of all packs that name the risk.\n\n")
	b.WriteString("| risk | what policy decides | what it cannot | rules |\n|---|---|---|---|\n")
	risksTable(t, &b, rules)
	compare(t, path.Join("..", "docs", "packs.md"), b.String())
}

const limits = `What the packs cannot see:

- What lies in a file that a command runs: ` + "`make deploy`, `bash run.sh`, `python3 tool.py`" + ` pass as what they are called.
- Code in another language in a command's words (` + "`python3 -c …`, `node -e …`" + `), and what a glob or a variable will be. A program whose name only the shell knows asks; a word that only it knows does not by itself.
- How much a query will return, and what a database function, view or trigger does.
- Lists of programs and files are lists. Add your own rules for what you use.
`

// packPage writes the packages of a pack, with their rules.
func packPage(t *testing.T, b *strings.Builder, dir string, rules []rule) {
	t.Helper()
	files, _ := sources(t)
	for _, s := range files {
		if path.Dir(s.name) != dir {
			continue
		}
		about := packageNote(t, s)
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n| rule | behavior | severity | OWASP | title | fires when |\n|---|---|---|---|---|---|\n",
			strings.TrimSuffix(path.Base(s.name), ".rego"), flat(about.Title+". "+about.Description))
		for _, r := range rules {
			if r.file == s.name {
				fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", r.id, r.behavior, r.severity, strings.Join(r.owasp, ", "), cell(r.title), cell(r.description))
			}
		}
	}
}

func packageNote(t *testing.T, s source) *ast.Annotations {
	t.Helper()
	for _, a := range s.module.Annotations {
		if a.Scope == "package" {
			return a
		}
	}
	t.Fatalf("%s: the package has no metadata", s.name)
	return nil
}

// risksTable writes what the OWASP pack says of each risk, with the rules that name it.
func risksTable(t *testing.T, b *strings.Builder, rules []rule) {
	t.Helper()
	files, _ := sources(t)
	named := map[string]bool{}
	for _, s := range files {
		if path.Dir(s.name) != "pack_owasp_agentic" {
			continue
		}
		list, _ := packageNote(t, s).Custom["risks"].([]any)
		for _, one := range list {
			risk, _ := one.(map[string]any)
			id := fmt.Sprint(risk["id"])
			named[id] = true
			var ids []string
			for _, r := range rules {
				for _, o := range r.owasp {
					if o == id {
						ids = append(ids, "`"+r.id+"`")
					}
				}
			}
			if len(ids) == 0 {
				ids = []string{"none"}
			}
			fmt.Fprintf(b, "| %s %s | %s | %s | %s |\n", id, risk["title"], cell(fmt.Sprint(risk["decides"])), cell(fmt.Sprint(risk["cannot"])), strings.Join(ids, ", "))
		}
	}
	for _, r := range rules {
		for _, o := range r.owasp {
			if !named[o] {
				t.Errorf("%s:%d: %s names the risk %s, which the table does not have", r.file, r.line, r.id, o)
			}
		}
	}
	if len(named) != 10 {
		t.Errorf("the table has %d risks, want 10", len(named))
	}
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

func cell(text string) string { return strings.ReplaceAll(flat(text), "|", `\|`) }

func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the metadata says; run this test with -update (%v)", file, err)
	}
}
