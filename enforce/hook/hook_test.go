package hook

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ostiary/client"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sidecarFuncs is a sidecar made of what a test says.
type sidecarFuncs struct {
	decide func(wire.DecisionRequest) (wire.Decision, error)
	review func(context.Context, time.Duration) (wire.Decision, error)
	redeem func(wire.RedeemRequest) error
	result func(wire.ResultRequest) (wire.ResultResponse, error)
	said   *[]string
}

func (s sidecarFuncs) Decide(_ context.Context, r wire.DecisionRequest) (wire.Decision, error) {
	return s.decide(r)
}

func (s sidecarFuncs) Review(ctx context.Context, _ string, wait time.Duration) (wire.Decision, error) {
	return s.review(ctx, wait)
}

func (s sidecarFuncs) Redeem(_ context.Context, r wire.RedeemRequest) (wire.RedeemResponse, error) {
	if s.redeem == nil {
		return wire.RedeemResponse{}, errors.New("no permit is good")
	}
	return wire.RedeemResponse{OK: true}, s.redeem(r)
}

func (s sidecarFuncs) Result(_ context.Context, r wire.ResultRequest) (wire.ResultResponse, error) {
	return s.result(r)
}

func (s sidecarFuncs) Message(_ context.Context, session string, m wire.MessageRequest) error {
	if s.said == nil {
		return errors.New("down")
	}
	*s.said = append(*s.said, session+" "+m.Role+" "+m.Text)
	return nil
}

// outcome is what a host sees of one run, as the golden files show it.
func outcome(t *testing.T, cfg Config) string {
	t.Helper()
	var out, errs bytes.Buffer
	cfg.Out, cfg.Err = &out, &errs
	code := Run(t.Context(), cfg)
	return fmt.Sprintf("exit %d\n-- stdout --\n%s-- stderr --\n%s", code, out.String(), errs.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func event1(t *testing.T, host, name string) io.Reader {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", host, name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(raw)
}

func decides(d wire.Decision) sidecarFuncs {
	return sidecarFuncs{
		decide: func(wire.DecisionRequest) (wire.Decision, error) { return d, nil },
		redeem: func(wire.RedeemRequest) error { return nil },
	}
}

// decisions are what a sidecar may say before a call.
func decisions() map[string]sidecarFuncs {
	permit := "p"
	review := &wire.Review{ID: "rev_1", State: "approved"}
	edited := wire.Decision{Behavior: "allow", Source: "review", Reason: "a reviewer approved an edited form of the call", Review: review, Permit: &permit, UpdatedInput: []byte(`{"command":"echo safe"}`)}
	bad := decides(wire.Decision{Behavior: "allow", Reason: "a reviewer approved the call", Review: review, Permit: &permit})
	bad.redeem = nil
	return map[string]sidecarFuncs{
		"passthrough":        decides(wire.Decision{Behavior: "passthrough", Reason: "no rule speaks"}),
		"allow":              decides(wire.Decision{Behavior: "allow", Reason: "listing is harmless"}),
		"approved":           decides(wire.Decision{Behavior: "allow", Source: "review", Reason: "a reviewer approved the call", Review: review, Permit: &permit}),
		"approved-edited":    decides(edited),
		"approved-no-permit": decides(wire.Decision{Behavior: "allow", Reason: "a reviewer approved the call", Review: review}),
		"permit-refused":     bad,
		"obligation":         decides(wire.Decision{Behavior: "allow", Obligations: []string{"unheard_of"}}),
		"deny":               decides(wire.Decision{Behavior: "deny", Reason: "removing is not allowed here", RuleRefs: []string{"shell.no_removal"}}),
		"deny-empty":         decides(wire.Decision{Behavior: "deny"}),
		"responded":          decides(wire.Decision{Behavior: "deny", Reason: "a reviewer answered", ContentBlocks: []wire.ContentBlock{{Type: "text", Text: "remove build/tmp only"}}}),
		"contract":           decides(wire.Decision{Behavior: "deny", Source: "contract", Reason: "the arguments do not fit", Reasons: []wire.Reason{{Pointer: "/command", Reason: "missing"}}}),
		"unknown-behavior":   decides(wire.Decision{Behavior: "maybe"}),
		"ask-no-review":      decides(wire.Decision{Behavior: "ask"}),
		"panic":              {decide: func(wire.DecisionRequest) (wire.Decision, error) { panic("boom") }},
		"down":               {decide: func(wire.DecisionRequest) (wire.Decision, error) { return wire.Decision{}, client.ErrUnreachable }},
	}
}

// Covers: B10
func TestEveryDecisionIsToldInTheClientsOwnForm(t *testing.T) {
	for _, host := range Clients() {
		inputs := []string{"permissionrequest.input.json", "pretooluse.input.json"}
		if host == "claude-code" {
			inputs[1] = "pretooluse.input.bash.json"
		}
		for _, input := range inputs {
			for name, s := range decisions() {
				kind, _, _ := strings.Cut(input, ".")
				golden(t, host+"/"+kind+"."+name, outcome(t, Config{Client: host, Sidecar: s, In: event1(t, host, input)}))
			}
		}
	}
}

// Covers: A12
func TestOutputIsReplacedInItsOwnShapeOnlyWhenItChanged(t *testing.T) {
	wash := func(from string) sidecarFuncs {
		return sidecarFuncs{result: func(r wire.ResultRequest) (wire.ResultResponse, error) {
			a := wire.ResultResponse{Behavior: "allow", Result: r.Result, Content: bytes.ReplaceAll(r.Content, []byte(from), []byte("[redacted]"))}
			if r.Result != nil {
				e := *r.Result
				e.Data = bytes.ReplaceAll(e.Data, []byte(from), []byte("[redacted]"))
				a.Result = &e
			}
			return a, nil
		}}
	}
	says := func(a wire.ResultResponse) sidecarFuncs {
		return sidecarFuncs{result: func(wire.ResultRequest) (wire.ResultResponse, error) { return a, nil }}
	}
	for _, in := range []struct{ host, file, text string }{
		{"claude-code", "posttooluse.input.bash.json", `ok`}, {"claude-code", "posttooluse.input.mcp.json", `Echo: hi`}, {"codex", "posttooluse.input.json", `done`},
	} {
		for name, s := range map[string]sidecarFuncs{
			"unchanged": wash("never there"), "redacted": wash(in.text),
			"withheld":  says(wire.ResultResponse{Behavior: "deny", Reason: "it cannot be shown"}),
			"asked":     says(wire.ResultResponse{Behavior: "ask", Reason: "a person must see it", Review: &wire.Review{ID: "rev_1"}}),
			"shapeless": says(wire.ResultResponse{Behavior: "allow"}),
			"down": {result: func(wire.ResultRequest) (wire.ResultResponse, error) {
				return wire.ResultResponse{}, client.ErrUnreachable
			}},
		} {
			golden(t, in.host+"/"+strings.TrimSuffix(in.file, ".json")+"."+name, outcome(t, Config{Client: in.host, Sidecar: s, In: event1(t, in.host, in.file)}))
		}
	}
}

func TestAResponseThatIsNoStrictJSONIsWithheldInItsShape(t *testing.T) {
	ev := `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Read","tool_input":{},"tool_response":{"type":"text","file":{"content":"cut \ud83d","numLines":3,"lines":["a","b"]}}}`
	golden(t, "claude-code/lone-surrogate", outcome(t, Config{Client: "claude-code", In: strings.NewReader(ev)}))
}

// Covers: B16
func TestAnEventThatCannotBeAnsweredBlocks(t *testing.T) {
	for name, ev := range map[string]string{
		"empty": ``, "no-json": `{"hook_event_name":`, "list": `[]`, "unknown-event": `{"session_id":"s","hook_event_name":"Other","tool_name":"x","tool_input":{}}`,
		"duplicate":          `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_name":"Bash","tool_input":{}}`,
		"duplicate-event":    `{"session_id":"s","hook_event_name":"PostToolUse","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{},"tool_response":""}`,
		"duplicate-argument": `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}}`,
		"no-session":         `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`,
		"no-input":           `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash"}`,
		"wrong-type":         `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":7,"tool_input":{}}`,
		"case-variant":       `{"session_id":"s","Hook_Event_Name":"PostToolUse","tool_name":"Bash","tool_input":{}}`,
	} {
		for _, host := range Clients() {
			got := outcome(t, Config{Client: host, In: strings.NewReader(ev)})
			if !strings.HasPrefix(got, "exit 2\n") || !strings.Contains(got, `"permissionDecision":"deny"`) || strings.HasSuffix(got, "-- stderr --\n") {
				t.Errorf("%s, %s: %s", host, name, got)
			}
		}
	}
	huge := io.MultiReader(strings.NewReader(`{"session_id":"`), strings.NewReader(strings.Repeat("x", maxEvent)), strings.NewReader(`"}`))
	if got := outcome(t, Config{Client: "codex", In: huge}); !strings.HasPrefix(got, "exit 2\n") || !strings.Contains(got, "8 MiB") {
		t.Errorf("too large: %s", got)
	}
	if got := outcome(t, Config{Client: "emacs"}); !strings.HasPrefix(got, "exit 2\n") || !strings.Contains(got, "claude-code, codex") {
		t.Errorf("unknown client: %s", got)
	}
}

func TestACallIsHeldUntilShortlyBeforeTheHostGivesUp(t *testing.T) {
	for _, limit := range []time.Duration{0, 10 * time.Second, 30 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := decides(wire.Decision{Behavior: "ask", Reason: "publishing needs a person", Review: &wire.Review{ID: "rev_1"}})
			s.review = func(ctx context.Context, wait time.Duration) (wire.Decision, error) {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
				return wire.Decision{Behavior: "ask", Reason: "publishing needs a person", Review: &wire.Review{ID: "rev_1"}}, ctx.Err()
			}
			began := time.Now()
			got := outcome(t, Config{Client: "codex", Sidecar: s, Timeout: limit, In: event1(t, "codex", "pretooluse.input.json")})
			if !strings.HasPrefix(got, "exit 0\n") || !strings.Contains(got, "rev_1") || !strings.Contains(got, "Repeat exactly the same call") {
				t.Errorf("got %s", got)
			}
			if limit == 0 {
				limit = codex().timeout
			}
			if took := time.Since(began); took > limit-reserve(limit) || took < limit-reserve(limit)-time.Second {
				t.Errorf("limit %v: held for %v", limit, took)
			}
		})
	}
}

func TestAnEventThatNeverEndsArrivingBlocksInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		got := outcome(t, Config{Client: "codex", In: in, Timeout: 30 * time.Second})
		w.Close()
		if !strings.HasPrefix(got, "exit 2\n") || !strings.Contains(got, `"deny"`) {
			t.Errorf("got %s", got)
		}
		synctest.Wait()
	})
}

func TestAnApprovalOfAnEditIsRedeemedForTheEdit(t *testing.T) {
	s := decisions()["approved-edited"]
	var redeemed wire.RedeemRequest
	s.redeem = func(r wire.RedeemRequest) error { redeemed = r; return nil }
	outcome(t, Config{Client: "claude-code", Sidecar: s, In: event1(t, "claude-code", "pretooluse.input.bash.json")})
	if string(redeemed.Input) != `{"command":"echo safe"}` || redeemed.Tool != (tool.Name{Namespace: "claude-code", Name: "Bash"}) {
		t.Errorf("redeemed %+v", redeemed)
	}
}

func TestTheCallIsNamedAsTheSidecarKnowsIt(t *testing.T) {
	for _, c := range []struct {
		name, server string
		want         tool.Name
	}{
		{"Bash", "", tool.Name{Namespace: "claude-code", Name: "Bash"}},
		{"mcp__everything__echo", "everything", tool.Name{Namespace: "everything", Name: "echo"}},
		{"mcp__everything__echo", "", tool.Name{Namespace: "everything", Name: "echo"}},
		{"mcp__a__b__c", "a__b", tool.Name{Namespace: "a__b", Name: "c"}},
		{"mcp__claude-code__Read", "claude-code", tool.Name{Namespace: "mcp:claude-code", Name: "Read"}},
		{"mcp__codex__update_plan", "", tool.Name{Namespace: "mcp:codex", Name: "update_plan"}},
		{"mcp__odd", "", tool.Name{Namespace: "mcp", Name: "mcp__odd"}},
	} {
		ev := event{ToolName: c.name}
		ev.MCPServer.Name = c.server
		if got := ev.tool("claude-code"); got != c.want {
			t.Errorf("%s of %q: got %+v", c.name, c.server, got)
		}
	}
	if diff := cmp.Diff(client.Hosts(), Clients()); diff != "" {
		t.Errorf("a client's built-in tools could be claimed by a server: %s", diff)
	}
}

func TestTheUsersWordsAreToldAndNothingIsSaid(t *testing.T) {
	for _, host := range Clients() {
		var said []string
		got := outcome(t, Config{Client: host, Sidecar: sidecarFuncs{said: &said}, In: event1(t, host, "userpromptsubmit.input.json")})
		golden(t, host+"/userpromptsubmit", got)
		if len(said) != 1 || !strings.HasSuffix(said[0], " user Clean the build folder") {
			t.Errorf("said %q", said)
		}
		if got := outcome(t, Config{Client: host, Sidecar: sidecarFuncs{}, In: event1(t, host, "userpromptsubmit.input.json")}); !strings.HasPrefix(got, "exit 1\n") {
			t.Errorf("down: %s", got)
		}
	}
}
