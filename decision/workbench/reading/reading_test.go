package reading

import (
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"ostiary"
	"ostiary/decision"
	"ostiary/tool"
)

const head = "package policies.operator.t\n\nimport rego.v2\n\n"

func verdict(id, behavior, body string) string {
	return `verdicts contains {"id": "` + id + `", "behavior": "` + behavior + "\", \"reason\": \"r\"} if {\n" + body + "\n}\n"
}

func TestEveryPlaceCanBeReadAndWritten(t *testing.T) {
	in := decision.Input{Phase: decision.PhaseCall, Tool: decision.ToolFacts{Annotations: tool.Risk{ReadOnly: true}}}
	c := 0.5
	in.Caller.Confidence, in.Evidence = &c, &decision.Evidence{Status: "ok", Warnings: []string{"w"}}
	in.Args = Value(`{"a":{"b":9007199254740993}}`)
	for path, want := range map[string]string{
		"phase": `"call"`, "tool.annotations.read_only": "true", "caller.confidence": "0.5", "caller.verdict": "absent", "evidence.warnings": `["w"]`,
		"result.status": "absent", "args.a.b": "9007199254740993", "args.a.c": "absent", "args.a.b.c": "absent", "args": `{"a":{"b":9007199254740993}}`, "nothing": "absent",
	} {
		if got := Show(Get(&in, strings.Split(path, "."))); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	before := marshal(in)
	other := in
	for path, value := range map[string]Value{"args.a.b": Value("1"), "evidence.status": Value(`"bad"`), "caller.confidence": nil, "result.findings": Value(`{"pii":3}`), "tool.name": Value(`"y"`)} {
		if err := Put(&other, strings.Split(path, "."), value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if got := Show(Get(&other, strings.Split(path, "."))); got != Show(value) {
			t.Errorf("%s is %s, want %s", path, got, Show(value))
		}
	}
	if string(marshal(in)) != string(before) {
		t.Error("the document that was copied changed")
	}
	if err := Put(&other, []string{"tool", "nmae"}, Value(`"x"`)); ostiary.KindOf(err) != ostiary.KindUnknownField {
		t.Errorf("%v", err)
	}
	if err := Put(&other, []string{"evidence", "status"}, nil); err != nil || other.Evidence != nil {
		t.Errorf("%+v, %v", other.Evidence, err)
	}
}

// What is held against constants alone is known in full; every other way of reading is bounded.
func TestHowAPlaceIsReadDecidesWhetherItsValuesAreAll(t *testing.T) {
	for rules, bound := range map[string]bool{
		`input.tool.name == "x"`:                                     false,
		`"x" == input.tool.name`:                                     false,
		`input.tool.name in {"x", "y"}`:                              false,
		"n := input.tool.name\n\tn == \"x\"":                         false,
		`input.tool.name in data.ostiary.baseline.evidence_warnings`: false,
		`input.tool.name > "x"`:                                      true,
		`startswith(input.tool.name, "x")`:                           true,
		`input.tool.name == input.tool.namespace`:                    true,
		"n := input.tool.name\n\tstartswith(n, \"x\")":               true,
		"n := input.tool.name\n\tm := n\n\tstartswith(m, \"x\")":     true,
		"o := input.tool\n\to.name == \"x\"":                         false,
		"o := input.tool\n\tf(o)":                                    true,
		`f(input.tool)`:                                              true,
		`[input.tool.name] == ["x"]`:                                 true,
		`walk(input, [_, "x"])`:                                      true,
		"k := \"name\"\n\tinput.tool[k] == \"x\"":                    true,
		"x := input.tool.name with input as {}\n\tx == 1":            true,
		`{"a": 1}[input.tool.name]`:                                  true,
	} {
		text := verdict("t.x", "ask", "\tinput.tool.namespace != \"\"\n\t"+rules) + "\nf(x) if x.name == \"q\"\n"
		m, err := ast.ParseModule("t.rego", head+text)
		if err != nil {
			t.Fatalf("%s: %v", rules, err)
		}
		u := Find(map[string]*ast.Module{"t.rego": m}, map[string]any{"baseline": map[string]any{"evidence_warnings": []any{"w"}}})
		if d := u.Dimension([]string{"tool", "name"}); (d.Bound != "") != bound {
			t.Errorf("%s: bound %q, values %s", rules, d.Bound, d.Values)
		}
	}
}

// Of every stretch between two thresholds, and beyond the last ones, some value is tried; only such as the place can hold.
func TestEveryStretchBetweenThresholdsIsTried(t *testing.T) {
	for rules, c := range map[string]struct{ place, want string }{
		"input.args.n > -5":                                                {"args.n", "-6 -5 -4"},
		"input.args.n > 1\n\tinput.args.n < 1.5":                           {"args.n", "1 1.25 1.5 2.5"},
		"input.session.error_streak > 2.5":                                 {"session.error_streak", "0 1 2 3 4"},
		"input.caller.confidence < 0.8":                                    {"caller.confidence", "absent 0.79 0.8 0.81"},
		"input.caller.confidence < 0.8\n\tinput.caller.confidence > 0.795": {"caller.confidence", "0.795 0.7975 0.8"},
		"input.result.findings.pii > 3":                                    {"result.findings", `absent {} {"pii":2} {"pii":3} {"pii":4}`},
	} {
		m, err := ast.ParseModule("t.rego", head+verdict("t.x", "ask", "\t"+rules))
		if err != nil {
			t.Fatal(err)
		}
		d := Find(map[string]*ast.Module{"t.rego": m}, nil).Dimension(strings.Split(c.place, "."))
		var got []string
		for _, v := range d.Values {
			got = append(got, Show(v))
			var in decision.Input
			if err := Put(&in, d.Path, v); err != nil {
				t.Errorf("%s cannot be %s: %v", c.place, v, err)
			}
		}
		for _, want := range strings.Fields(c.want) {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q lacks %s", rules, got, want)
			}
		}
	}
}
