package whatif

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ostiary/decision"
	"ostiary/decision/rego"
	"ostiary/decision/workbench/invariant"
	"ostiary/decision/workbench/reading"
	"ostiary/policies"
)

func verify(t *testing.T, rules, invariants string, budget int) VerifyReport {
	t.Helper()
	list, err := invariant.Read([]byte(invariants))
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab(t, rules).Verify(t.Context(), list, budget, quietly)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnInvariantThatHoldsIsProved(t *testing.T) {
	r := verify(t, "", "- {name: low confidence asks, when: {caller.confidence: {below: 0.8}}, at_least: ask}", Budget)
	if one := r.Results[0]; !r.OK || !one.Holds || !one.Complete || len(one.Bounds) > 0 || one.Cases < 1e6 || one.Evaluations == 0 || one.Evaluations > 20_000 {
		t.Errorf("%+v", one)
	}
}

func TestACounterexampleIsAsPlainAsItGets(t *testing.T) {
	r := verify(t, "", "- {name: tainted sinks, when: {tool.annotations.sensitive_sink: true, session.tainted: true}, never: [allow, passthrough]}", Budget)
	one := r.Results[0]
	if r.OK || one.Holds || one.Complete || len(one.Counters) == 0 {
		t.Fatalf("%+v", one)
	}
	var places []string
	for _, d := range one.Counters[0].Differs {
		places = append(places, d.Path+"="+reading.Show(d.Value))
	}
	if !slices.Equal(places, []string{`caller.profile="hook"`, `session.labels=["untrusted"]`}) || one.Counters[0].Behavior != decision.Passthrough {
		t.Errorf("%q %s", places, one.Counters[0].Behavior)
	}
	// The engine agrees, about the very call that is shown.
	if a := lab(t, "").ask(t.Context(), &one.Counters[0].Input); a.behavior != decision.Passthrough {
		t.Errorf("the engine says %s", a.behavior)
	}
}

func TestAThresholdInARuleIsFound(t *testing.T) {
	rules := verdict("t.much", "deny", "\tinput.phase == \"call\"\n\tinput.args.amount > 1234")
	invariants := "- {name: sums are numbers, when: {tool.name: pay, args.amount: {at_least: 1000}}, at_least: deny}"
	one := verify(t, rules, invariants, Budget).Results[0]
	if one.Holds || string(reading.Get(&one.Counters[0].Input, []string{"args", "amount"})) != "1233" {
		t.Errorf("%+v", one)
	}
	one = verify(t, rules, strings.Replace(invariants, "1000", "1235", 1), Budget).Results[0]
	if !one.Holds || !one.Complete {
		t.Errorf("%+v", one)
	}
	// The trap of numbers: what is larger than every number in one way is not in the other.
	one = verify(t, rules, "- {name: whatever is no number, when: {args.amount: true}, at_least: deny}", Budget).Results[0]
	if one.Holds {
		t.Errorf("%+v", one)
	}
}

func TestWhatIsNotCompleteSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		rules, invariant, want string
		budget                 int
	}{
		"a way of reading": {verdict("t.x", "allow", "\tstartswith(input.args.to, \"x\")\n\tinput.args.never == 1\n\tinput.tool.annotations.sensitive_sink == false"), "- {when: {tool.annotations.sensitive_sink: true}, never: allow}", "args.to: read by startswith", Budget},
		"the budget":       {"", "- {when: {caller.profile: [api, mcp, gateway], tool.annotations.sensitive_sink: true, tool.annotations_source: [operator, shipped, server]}, never: allow}", "the budget of evaluations", 20},
		"no such call":     {"", "- {when: {tool.annotations_source: none, tool.annotations.read_only: true}, never: allow}", "makes no such call", Budget},
	} {
		t.Run(name, func(t *testing.T) {
			l := lab(t, "")
			if c.rules != "" {
				l = bare(t, c.rules)
			}
			list, err := invariant.Read([]byte(c.invariant))
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.Verify(t.Context(), list, c.budget, quietly)
			if err != nil {
				t.Fatal(err)
			}
			one := r.Results[0]
			if !one.Holds || one.Complete || !strings.Contains(strings.Join(one.Bounds, "\n"), c.want) {
				t.Errorf("%+v", one)
			}
		})
	}
}

func TestATenantsOwnRulesAreTried(t *testing.T) {
	one := verify(t, "", "- {when: {tool.annotations_source: none, caller.profile: api}, never: allow}", Budget).Results[0]
	if !one.Holds {
		t.Fatalf("%+v", one)
	}
	cfgRules := verdict("t.x", "deny", "\tinput.caller.tenant == \"x\"")
	one = verify(t, cfgRules, "- {when: {caller.profile: api}, never: deny}", Budget).Results[0]
	if one.Holds {
		t.Errorf("%+v", one)
	}
}

// bare opens rules without any that we ship.
func bare(t *testing.T, rules string) *Lab {
	t.Helper()
	shipped := fstest.MapFS{}
	for _, name := range []string{"main/main.rego", "data/baseline.json", "schema/baseline.json", "schema/input.json"} {
		raw, err := policies.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shipped[name] = &fstest.MapFile{Data: raw}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.rego"), []byte(head+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), rego.Config{Shipped: shipped, OperatorDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The search leaves much out. Over a small space, it must find what trying everything finds.
func TestTheSearchMissesNothing(t *testing.T) {
	rules := verdict("t.a", "allow", "\tinput.tool.annotations.open_world\n\tinput.request.known\n\tinput.clock.work_hours") + "\n" +
		verdict("t.b", "ask", "\tnot input.request.known\n\tinput.tool.annotations.idempotent")
	l := bare(t, rules)
	flags := []string{"tool.annotations.read_only", "tool.annotations.destructive", "tool.annotations.open_world", "tool.annotations.idempotent", "tool.annotations.sensitive_sink", "request.known", "clock.work_hours"}
	for _, never := range []decision.Behavior{decision.Ask, decision.Allow, decision.Passthrough, decision.Deny} {
		for fixed := range 1 << 3 { // the first three flags are the invariant's
			when := "caller.profile: api, tool.annotations_source: operator"
			for i := range 3 {
				when += ", " + flags[i] + ": " + map[bool]string{true: "true", false: "false"}[fixed>>i&1 == 1]
			}
			list, err := invariant.Read([]byte("- {when: {" + when + "}, never: " + never.String() + "}"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.Verify(t.Context(), list, Budget, quietly)
			if err != nil {
				t.Fatal(err)
			}
			broken := false
			for set := range 1 << len(flags) {
				if set&7 != fixed {
					continue
				}
				in := call(nil)
				for i, f := range flags {
					if err := reading.Put(&in, strings.Split(f, "."), Value(map[bool]string{true: "true", false: "false"}[set>>i&1 == 1])); err != nil {
						t.Fatal(err)
					}
				}
				broken = broken || l.ask(t.Context(), &in).behavior == never
			}
			if one := r.Results[0]; broken && one.Holds {
				t.Errorf("never %s, %s: a call was missed; %+v", never, when, one)
			}
		}
	}
}
