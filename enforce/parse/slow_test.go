package parse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary/tool"
)

func TestNoTextTakesLong(t *testing.T) {
	for _, piece := range []string{"$((", "$(", "$(a ", "`", "<(", "[[ ( ", "{a,", "{a,b}", "((", "(( (", "${a:-", "\"$(", "a|", "if a; then ", "case a in a) ", "<<E\n", "!", "f() ", "$'", "((a[", "${a[$((", "a=(", "eval '", "sh -c \"", "echo a | "} {
		for _, text := range []string{strings.Repeat(piece, 32<<10/len(piece)), strings.Repeat(piece, 32<<10/len(piece)) + "x"} {
			timed(t, "command", text)
		}
	}
	for _, piece := range []string{"[", "delete from a ", "(", "$a", "'", "update a set b ", "--\n", "/**/", "a;", "select ", "\"", "where a "} {
		timed(t, "sql", strings.Repeat(piece, 64<<10/len(piece)))
	}
}

func timed(t *testing.T, name, text string) {
	t.Helper()
	args, err := json.Marshal(map[string]string{name: text})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	arguments(t, tool.Name{}, string(args))
	if took := time.Since(start); took > 2*time.Second { // the machine may be loaded; what is quadratic takes longer still
		t.Errorf("%.20q… took %s", text, took)
	} else if took > 100*time.Millisecond {
		t.Logf("%.20q… took %s", text, took)
	}
}
