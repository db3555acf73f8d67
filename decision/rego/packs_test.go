package rego_test

import (
	"strings"
	"testing"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/rego"
)

func TestPacksCanBeSwitchedOffButTheBaselineCannot(t *testing.T) {
	risky := call(func(in *decision.Input) {
		in.Parsed.Commands = []decision.Command{{Name: "sudo", Args: []string{}, Redirects: []decision.Redirect{}, Via: "plain"}}
		in.Parsed.SQL.Verbs = []string{"drop"}
		in.Session.OverBudget = true
	})
	for name, c := range map[string]struct {
		packs []string
		want  string
	}{
		"all by default": {nil, "agentic.reader_runs session.budget shell.privilege sql.reader_writes sql.schema"},
		"one":            {[]string{"data"}, "session.budget sql.reader_writes sql.schema"},
		"another":        {[]string{"coding"}, "session.budget shell.privilege"},
		"none":           {[]string{}, "session.budget"},
	} {
		var said []string
		for _, v := range decide(t, load(t, rego.Config{Packs: c.packs}), risky).Verdicts {
			if v.Behavior == decision.Ask {
				said = append(said, v.ID)
			}
		}
		if got := strings.Join(said, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	for _, unknown := range []string{"", "pack_coding", "baseline", "codng", "data/.."} {
		if _, err := tryLoad(rego.Config{Packs: []string{unknown}}); ostiary.KindOf(err) != ostiary.KindConfigInvalid || !strings.Contains(ostiary.Public(err).Fix, "coding, data, owasp_agentic") {
			t.Errorf("%q: %v", unknown, err)
		}
	}
}
