package mcpproxy

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ostiary/client"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

const call7 = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"free","arguments":{}}}`

// Covers: B5
func TestAnAllowedCallReachesTheServerByteForByte(t *testing.T) {
	for name, frame := range map[string]string{
		"white space":     "{ \"id\" : 7 ,\t\"jsonrpc\":\"2.0\",\"method\":\"tools/call\", \"params\" : { \"name\":\"free\" , \"arguments\" : { \"b\":1,\"a\":2 } } } ",
		"escapes":         `{"jsonrpc":"2.0","id":7,"m\u0065thod":"tools\/call","params":{"name":"fr\u0065e","arguments":{"s":"\u00e9\/\ud83d\ude00"}}}`,
		"numbers":         `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"free","arguments":{"n":9007199254740993,"f":1.50,"e":1E2}}}`,
		"unknown members": `{"x-a":[1],"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x-b":null,"name":"free","arguments":{},"_meta":{"v":{}}}}`,
		"case variants":   `{"Method":"ping","jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"free","Name":"other","Arguments":{"z":1}}}`,
		"carriage return": call7 + "\r",
	} {
		t.Run(name, func(t *testing.T) {
			var asked wire.DecisionRequest
			r := newRig(t, sidecarFuncs{decide: func(_ context.Context, d wire.DecisionRequest) (wire.Decision, error) {
				asked = d
				return wire.Decision{Behavior: "allow"}, nil
			}}, nil)
			r.send(frame)
			if got := r.want(`"id":7`); got != `{"result":{ "content" : [{"type":"text","text":"r\u0061n"}] },"jsonrpc":"2.0","id":7}` {
				t.Errorf("an answer with nothing to clean was changed: %s", got)
			}
			if got := r.end(); got != frame+"\n" {
				t.Errorf("got  %q\nwant %q", got, frame+"\n")
			}
			if asked.Tool != (tool.Name{Namespace: "fake", Name: "free"}) || asked.SessionID != "s-1" || asked.InvocationID == "" {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

func TestBigAndTextualIDsAreKept(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	for _, id := range []string{`9007199254740993`, `123456789012345678901234567890`, `"a\/b"`, `-1`} {
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"free"}}`)
		r.want(`"id":` + id + `}`)
	}
}

func TestAFrameThatTwoParsersReadDifferentlyIsNotForwarded(t *testing.T) {
	for name, c := range map[string]struct{ frame, code, id string }{
		"duplicate method":        {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"free"}}`, "-32600", `"id":1`},
		"duplicate id":            {`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"free"}}`, "-32600", `"id":null`},
		"duplicate name":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","name":"other"}}`, "-32600", `"id":1`},
		"duplicate deep down":     {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","arguments":{"a":[{"b":1,"\u0062":2}]}}}`, "-32600", `"id":1`},
		"duplicate in other call": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}`, "-32600", `"id":1`},
		"invalid UTF-8":           {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"free\",\"arguments\":{\"a\":\"\xff\"}}}", "-32600", `"id":1`},
		"batch":                   {`[` + call7 + `]`, "-32600", `"id":null`},
		"null id":                 {`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"free"}}`, "-32600", `"id":null`},
		"no method":               {`{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"free"}}`, "-32600", `"id":1`},
		"request and answer":      {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, "-32600", `"id":1`},
		"no JSON":                 {`{"jsonrpc":"2.0","id":1,"method":`, "-32700", `"id":1`},
		"data behind":             {call7 + `{}`, "-32700", `"id":7`},
		"no name":                 {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}`, "-32602", `"id":1`},
		"params a list":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["free"]}`, "-32602", `"id":1`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sidecarFuncs{}, nil)
			r.send(c.frame)
			r.want(`"error"`, c.code, c.id)
			if got := r.end(); got != "" {
				t.Errorf("forwarded %q", got)
			}
		})
	}
}

func TestACallThatNobodyCouldBeToldOfIsDropped(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"free"}}`)
	if got := r.end(); got != "" || len(r.early) > 0 {
		t.Errorf("forwarded %q, answered %s", got, r.early)
	}
}

func TestAnIDInUseIsRefused(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hangs"}}`)
	r.send(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	r.want(`"id":7`, "-32600")
	if got := r.end(); strings.Contains(got, "ping") {
		t.Errorf("forwarded %q", got)
	}
}

// Covers: B16
func TestNothingIsForwardedWithoutAnAnswerThatAllows(t *testing.T) {
	nowhere, err := client.New(client.Config{Socket: filepath.Join(t.TempDir(), "none.sock")})
	if err != nil {
		t.Fatal(err)
	}
	says := func(d wire.Decision) sidecarFuncs {
		return sidecarFuncs{decide: func(context.Context, wire.DecisionRequest) (wire.Decision, error) { return d, nil }}
	}
	permit := "p"
	for name, c := range map[string]struct {
		sidecar Sidecar
		words   []string
	}{
		"no sidecar":              {nowhere, []string{"sidecar_unreachable", "sidecar serve"}},
		"deny":                    {says(wire.Decision{Behavior: "deny", Reason: "not today", Reasons: []wire.Reason{{ID: "r.one"}}}), []string{"not today", "r.one"}},
		"no behavior":             {says(wire.Decision{}), []string{"denied"}},
		"passthrough":             {says(wire.Decision{Behavior: "passthrough"}), []string{"no rule allows"}},
		"ask without a review":    {says(wire.Decision{Behavior: "ask"}), []string{"internal_error"}},
		"obligation":              {says(wire.Decision{Behavior: "allow", Obligations: []string{"x"}}), []string{"obligations"}},
		"approval without permit": {says(wire.Decision{Behavior: "allow", Review: &wire.Review{ID: "rev_1"}}), []string{"without a permit"}},
		"permit not good":         {says(wire.Decision{Behavior: "allow", Permit: &permit}), []string{"internal_error"}},
		"panic": {sidecarFuncs{decide: func(context.Context, wire.DecisionRequest) (wire.Decision, error) { panic("boom") }},
			[]string{"failed while it judged"}},
		"responded": {says(wire.Decision{Behavior: "deny", ContentBlocks: []wire.ContentBlock{{Type: "text", Text: "use the other file"}}}), []string{"use the other file"}},
		"contract": {says(wire.Decision{Behavior: "deny", Source: "contract", Reasons: []wire.Reason{{ID: "c", Pointer: "/path", Reason: "missing"}}}),
			[]string{"/path", "Correct the arguments"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.sidecar, nil)
			r.send(call7)
			r.want(append([]string{`"id":7`, `"isError":true`, `"type":"text"`}, c.words...)...)
			if got := r.end(); got != "" {
				t.Errorf("forwarded %q", got)
			}
		})
	}
}

func TestAnApprovedCallIsRedeemedAndAnEditKeepsTheRestOfTheFrame(t *testing.T) {
	permit := "p"
	for name, c := range map[string]struct{ frame, edit, want string }{
		"as it is":           {`{"id":7,"method":"tools/call","params":{"name":"x","arguments":{"a" : 1.0}}}`, ``, `{"id":7,"method":"tools/call","params":{"name":"x","arguments":{"a" : 1.0}}}`},
		"edited":             {`{"id":7,"method":"tools/call","params":{"name":"x", "arguments":{"a" : 1.0},"z":1}}`, `{"a":2}`, `{"id":7,"method":"tools/call","params":{"name":"x", "arguments":{"a":2},"z":1}}`},
		"edited, had no any": {`{"id":7,"method":"tools/call","params":{"name":"x"}}`, `{"a":2}`, `{"id":7,"method":"tools/call","params":{"arguments":{"a":2},"name":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			ruled := make(chan wire.Decision, 1)
			ruled <- wire.Decision{Behavior: "allow", Permit: &permit, Review: &wire.Review{ID: "rev_1"}, UpdatedInput: []byte(c.edit)}
			s := held(ruled)
			var redeemed wire.RedeemRequest
			s.redeem = func(q wire.RedeemRequest) error { redeemed = q; return nil }
			r := newRig(t, s, nil)
			r.send(c.frame)
			r.want(`"id":7`, "content")
			if got := r.end(); got != c.want+"\n" {
				t.Errorf("got  %q\nwant %q", got, c.want+"\n")
			}
			want := c.edit
			if want == "" {
				want = `{"a" : 1.0}`
			}
			if string(redeemed.Input) != want || redeemed.Permit != "p" || redeemed.SessionID != "s-1" {
				t.Errorf("redeemed %+v", redeemed)
			}
		})
	}
}

// Covers: B13
func TestAHeldCallReportsProgressAndEndsWithItsReview(t *testing.T) {
	r := newRig(t, held(nil), func(c *Config) { c.Hold = time.Nanosecond })
	r.send(`{"id":7,"method":"tools/call","params":{"name":"x","arguments":{},"_meta":{"progressToken":"tok"}}}`)
	r.want(`"notifications/progress"`, `"progressToken":"tok"`, "rev_1")
	r.want(`"id":7`, `"isError":true`, "rev_1", "Repeat exactly the same call")
	if got := r.end(); got != "" {
		t.Errorf("forwarded %q", got)
	}
}

func TestOtherTrafficPassesWhileCallsAreHeld(t *testing.T) {
	permit := "p"
	ruled := make(chan wire.Decision)
	s := held(ruled)
	s.redeem = func(wire.RedeemRequest) error { return nil }
	r := newRig(t, s, nil)
	const n = 20
	for i := range n {
		r.send(fmt.Sprintf(`{"id":"h%d","method":"tools/call","params":{"name":"x"}}`, i))
	}
	r.send(`{"id":1,"method":"ping"}`)
	r.want(`"id":1}`)
	r.send(call7)
	r.want(`"id":7`)
	for range n {
		ruled <- wire.Decision{Behavior: "allow", Permit: &permit}
	}
	for i := range n {
		r.want(fmt.Sprintf(`"id":"h%d"`, i), "content")
	}
}

// Covers: A2
func TestHintsOfTheServerArePassedAndUnsetOnesStayUnset(t *testing.T) {
	var mu sync.Mutex
	got := map[string]*wire.CallContext{}
	namespace := ""
	r := newRig(t, sidecarFuncs{decide: func(_ context.Context, d wire.DecisionRequest) (wire.Decision, error) {
		mu.Lock()
		defer mu.Unlock()
		got[d.Tool.Name], namespace = d.Context, d.Tool.Namespace
		return wire.Decision{Behavior: "deny"}, nil
	}}, func(c *Config) { c.Name = "" })
	r.send(`{"id":0,"method":"initialize","params":{}}`)
	r.want(`"id":0`)
	r.send(`{"id":1,"method":"tools/list"}`)
	r.want(`"id":1`)
	for i, name := range []string{"hinted", "bare", "unlisted"} {
		r.send(fmt.Sprintf(`{"id":%d,"method":"tools/call","params":{"name":%q}}`, i+2, name))
		r.want(fmt.Sprintf(`"id":%d,`, i+2))
	}
	mu.Lock()
	defer mu.Unlock()
	yes := true
	want := map[string]*wire.CallContext{"hinted": {Annotations: tool.Annotations{Destructive: &yes}}, "bare": nil, "unlisted": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if namespace != "fake-server" {
		t.Errorf("namespace %q", namespace)
	}
}

func TestAServerCannotNameItselfIntoAnotherNamespace(t *testing.T) {
	p := &proxy{}
	p.nameServer("Claude-Code")
	p.nameServer("other")
	if got := p.serverName(); got != "mcp:claude-code" {
		t.Errorf("got %q", got)
	}
	for name, want := range map[string]string{"My Server/1": "my-server-1", "": unnamed, "ü": unnamed, strings.Repeat("a", 99): strings.Repeat("a", maxSlug)} {
		if got := slug(name); got != want || (tool.Name{Namespace: got, Name: "x"}).Check() != nil {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestAServerIsNamedByEveryRevisionOfTheProtocol(t *testing.T) {
	for method, body := range map[string]string{
		"initialize":      `{"serverInfo":{"name":"Books"}}`,
		"server/discover": `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"Books"}}}`,
	} {
		named := make(chan string, 1)
		r := newRig(t, sidecarFuncs{decide: func(_ context.Context, d wire.DecisionRequest) (wire.Decision, error) {
			named <- d.Tool.Namespace
			return wire.Decision{Behavior: "deny"}, nil
		}}, func(c *Config) { c.Name = "" })
		r.send(says(1, method, "result", body))
		r.want(`"id":1`)
		r.send(call7)
		r.want(`"id":7`)
		if got := <-named; got != "books" {
			t.Errorf("%s: got %q", method, got)
		}
	}
}
