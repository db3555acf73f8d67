package parse_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary/enforce/parse"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// nested opens brackets without end, which makes a parser that looks ahead begin again at each of them.
var nested = []string{
	"$((", "$(", "$(a ", "<(", "[[ ( ", "{a,", "((", "(( (", "${a:-", "\"$(", "((a[", "${a[$((", "a=(",
}

// flat is as long and as odd, without any depth.
var flat = []string{"$((a[\")])\"", "$((\"))\"", "$(')' ", "`", "{a,b}", "a|", "if a; then ", "case a in a) ", "<<E\n", "!", "f() ", "$'", "eval '", "sh -c \"", "echo a | "}

var queries = []string{"[", "delete from a ", "(", "$a", "'", "update a set b ", "--\n", "/**/", "a;", "select ", "\"", "where a "}

func TestWhatNestsWithoutEndIsNotEvenParsed(t *testing.T) {
	for _, piece := range nested {
		if got := script(t, strings.Repeat(piece, 100)); !got.Unparsable || len(got.Commands) != 0 {
			t.Errorf("%s: unparsable %t, %d commands", piece, got.Unparsable, len(got.Commands))
		}
	}
	for _, text := range []string{strings.Repeat("( ", 60) + "rm x" + strings.Repeat(")", 60), strings.Repeat("a() { b; }; (c); ", 20) + "rm x"} {
		if got := script(t, text); got.Unparsable || got.Commands[len(got.Commands)-1].Name != "rm" {
			t.Errorf("%.20s: %+v", text, got)
		}
	}
}

func TestAStatementOfManyChangesIsUnparsable(t *testing.T) {
	for text, want := range map[string]bool{"delete from a where b ": true, "update a set b = c where d ": true, "select a where b ": false} {
		got := arguments(t, tool.Name{}, arg(t, "sql", strings.Repeat(text, 65)))
		if got.SQL.Unparsable != want {
			t.Errorf("%s: unparsable %t", text, got.SQL.Unparsable)
		}
	}
}

func arg(t testing.TB, name, text string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{name: text})
	if err != nil {
		t.Fatal(err)
	}
	return string(args)
}

// BenchmarkHostile shows what the longest texts cost that are built to cost.
func BenchmarkHostile(b *testing.B) {
	run := func(name, piece string, size int) {
		leaves, err := strictjson.Leaves([]byte(arg(b, name, strings.Repeat(piece, size/len(piece)))))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+" "+strings.TrimSpace(piece), func(b *testing.B) {
			for b.Loop() {
				if _, err := parse.Arguments(tool.Name{}, leaves, tool.RoleOf, "/work"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, piece := range append(nested, flat...) {
		run("command", piece, 32<<10)
	}
	for _, piece := range queries {
		run("sql", piece, 64<<10)
	}
}
