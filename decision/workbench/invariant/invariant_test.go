package invariant_test

import (
	"slices"
	"strings"
	"testing"

	"ostiary"
	"ostiary/decision"
	"ostiary/decision/workbench/invariant"
	"ostiary/decision/workbench/reading"
)

func TestWhatIsNoInvariantIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "there are none",
		`[]`:                                     "there are none",
		`{name: x}`:                              "JSON", // one, and no list
		`[{name: x, never: alow}]`:               "alow",
		`[{name: x}]`:                            "either never or at_least",
		`[{never: allow, at_least: ask}]`:        "either never or at_least",
		`[{never: []}]`:                          "want allow, ask, deny or passthrough",
		`[{at_least: passthrough}]`:              "forbids nothing",
		`[{nevr: allow}]`:                        "nevr",
		`[{never: allow, never: ask}]`:           "never",
		`[{never: allow, when: {tool.nmae: x}}]`: "tool.nmae, which is no field",
		`[{never: allow, when: {tool: x}}]`:      "no field",
		`[{never: allow, when: {session.tainted: yes please}}]`:        "session.tainted cannot be",
		`[{never: allow, when: {session.labels: untrusted}}]`:          "{has: …}",
		`[{never: allow, when: {session.labels: {hs: untrusted}}}]`:    `"hs" is unknown`,
		`[{never: allow, when: {session.labels: {has: a, lacks: b}}}]`: "want one of has",
		`[{never: allow, when: {caller.confidence: {below: low}}}]`:    "want a number",
		`[{never: allow, when: {evidence.status: {absent: false}}}]`:   "want true",
		`[{`: "these are no invariants",
	} {
		_, err := invariant.Read([]byte(text))
		if ostiary.KindOf(err) != ostiary.KindConfigInvalid || !strings.Contains(err.Error(), want) && want != "JSON" || ostiary.Public(err).Fix == "" {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestAllFormsNarrowAPlace(t *testing.T) {
	list, err := invariant.Read([]byte(`
- name: all
  when:
    tool.name: [a, b]
    session.labels: {has: pii}
    result.labels: {lacks: pii}
    caller.confidence: {below: 0.5}
    session.error_streak: {at_least: 3}
    caller.profile: {not: [hook, mcp]}
    evidence.status: {absent: true}
    args.n: 7
    provenance.args: {has: {origin: untrusted}}
  at_least: ask
`))
	if err != nil || len(list) != 1 || !slices.Equal(list[0].Never, []decision.Behavior{decision.Allow, decision.Passthrough}) {
		t.Fatalf("%+v, %v", list, err)
	}
	values := map[string][]string{
		"tool.name": {`"c"`}, "session.labels": {`[]`, `["pii"]`, `["pii","secret"]`}, "result.labels": {`[]`, `["pii"]`},
		"caller.confidence": {"0", "0.8"}, "session.error_streak": {"0", "2", "3", "4"}, "caller.profile": {`"api"`, `"mcp"`, `"hook"`},
		"provenance.args": {`[]`, `[{"origin":"untrusted","role":"url"}]`, `[{"origin":"user"}]`},
	}
	want := map[string]string{
		"phase": `"call"`, "tool.name": `"a" "b"`, "session.labels": `["pii"] ["pii","secret"]`, "result.labels": `[]`, "caller.confidence": "0 0.49 -0.5 0.25 0.495",
		"session.error_streak": "3 4", "caller.profile": `"api"`, "evidence.status": "absent", "args.n": "7", "provenance.args": `[{"origin":"untrusted","role":"url"}]`,
	}
	for _, c := range list[0].When {
		at := reading.Text(c.Path)
		d := reading.Dimension{Path: c.Path}
		for _, v := range values[at] {
			d.Values = append(d.Values, reading.Value(v))
		}
		got, err := c.Narrow(d)
		if err != nil {
			t.Errorf("%s: %v", at, err)
		}
		var shown []string
		for _, v := range got.Values {
			shown = append(shown, reading.Show(v))
		}
		if strings.Join(shown, " ") != want[at] {
			t.Errorf("%s: got %s, want %s", at, shown, want[at])
		}
	}
	if len(list[0].When) != len(want) {
		t.Errorf("%+v", list[0].When)
	}
}
