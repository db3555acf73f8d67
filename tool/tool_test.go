package tool_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary/tool"
)

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// Covers: A2, B3
func TestWhatIsNotDeclaredIsTakenAsMostDangerous(t *testing.T) {
	got := tool.Annotations{}.Resolve()
	want := tool.Risk{ReadOnly: false, Idempotent: false, Destructive: true, OpenWorld: true, SensitiveSink: true}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if r := (tool.Annotations{ReadOnly: yes()}).Resolve(); r.Destructive || !r.OpenWorld || !r.SensitiveSink {
		t.Errorf("a declared read: %+v", r)
	}
}

// Covers: A2
func TestAHintCanOnlyMakeACallMoreDangerous(t *testing.T) {
	safe := tool.Risk{ReadOnly: true, Idempotent: true}
	if got := safe.Worsen(tool.Annotations{ReadOnly: no(), Destructive: yes()}); got.ReadOnly || !got.Destructive {
		t.Errorf("got %+v", got)
	}
	dangerous := tool.Annotations{}.Resolve()
	if got := dangerous.Worsen(tool.Annotations{ReadOnly: yes(), Destructive: no(), OpenWorld: no(), SensitiveSink: no()}); got != dangerous {
		t.Errorf("a hint made %+v safer: %+v", dangerous, got)
	}
}

func TestOutputOfOpenWorldAndUndeclaredToolsIsUntrusted(t *testing.T) {
	if got := tool.UndeclaredTool(tool.Name{Name: "x"}).Output(); got != tool.Untrusted {
		t.Errorf("undeclared: %s", got)
	}
	open := tool.NewResolved(tool.Declaration{Annotations: tool.Annotations{OpenWorld: yes()}}, tool.FromOperator, "d")
	if open.Output() != tool.Untrusted {
		t.Error("open world is trusted")
	}
	closed := tool.NewResolved(tool.Declaration{Annotations: tool.Annotations{OpenWorld: no()}}, tool.FromOperator, "d")
	if closed.Output() != tool.Trusted {
		t.Error("closed world is untrusted")
	}
	told := tool.NewResolved(tool.Declaration{OutputTrust: tool.Untrusted, Annotations: tool.Annotations{OpenWorld: no()}}, tool.FromOperator, "d")
	if told.Output() != tool.Untrusted {
		t.Error("the declaration's own word is not heard")
	}
}

func action(change func(*tool.Action)) tool.Action {
	a := tool.Action{Tenant: "t", Agent: "a", Session: "s", Server: "v", Tool: tool.Name{Namespace: "n", Name: "m"}, Definition: "d", Arguments: `{"x":1}`}
	if change != nil {
		change(&a)
	}
	return a
}

func TestTheActionDigestTellsEveryDifferenceApart(t *testing.T) {
	seen := map[string]string{action(nil).Digest(): "the call itself"}
	for name, change := range map[string]func(*tool.Action){
		"tenant":     func(a *tool.Action) { a.Tenant = "u" },
		"agent":      func(a *tool.Action) { a.Agent = "b" },
		"session":    func(a *tool.Action) { a.Session = "r" },
		"server":     func(a *tool.Action) { a.Server = "w" },
		"namespace":  func(a *tool.Action) { a.Tool.Namespace = "o" },
		"name":       func(a *tool.Action) { a.Tool.Name = "p" },
		"definition": func(a *tool.Action) { a.Definition = "e" },
		"value":      func(a *tool.Action) { a.Arguments = `{"x":2}` },
		"number":     func(a *tool.Action) { a.Arguments = `{"x":1.0}` },
		"null":       func(a *tool.Action) { a.Arguments = `{"x":null}` },
		"absent":     func(a *tool.Action) { a.Arguments = `{}` },
		"shifted":    func(a *tool.Action) { a.Tenant, a.Agent = "ta", "" },
	} {
		d := action(change).Digest()
		if other, twice := seen[d]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}

// Covers: B1, B22
func TestUnknownMembersOfADeclarationAreKeptAndPinned(t *testing.T) {
	read := func(doc string) tool.Declaration {
		var d tool.Declaration
		if err := json.Unmarshal([]byte(doc), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := read(`{"namespace":"n","name":"m","annotations":{},"x-vendor":{"k":[1]}}`)
	raw, err := json.Marshal(d)
	if err != nil || !strings.Contains(string(raw), `"x-vendor":{"k":[1]}`) {
		t.Errorf("got %s, %v", raw, err)
	}
	one, err1 := tool.DefinitionDigest(d)
	two, err2 := tool.DefinitionDigest(read(`{"namespace":"n","name":"m","annotations":{},"x-vendor":{"k":[2]}}`))
	if err1 != nil || err2 != nil || one == two {
		t.Errorf("a changed unknown member keeps the pin: %v %v", err1, err2)
	}
}

// Covers: A6, A7
func TestAnEnvelopeThatContradictsItselfIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		e  tool.Envelope
		ok bool
	}{
		"ok":                 {tool.Envelope{Status: tool.OK}, true},
		"empty":              {tool.Envelope{Status: tool.Empty}, true},
		"degraded, said why": {tool.Envelope{Status: tool.Degraded, Warnings: []string{"text_only"}}, true},
		"degraded, silent":   {tool.Envelope{Status: tool.Degraded}, false},
		"error with object":  {tool.Envelope{Status: tool.Failed, Error: &tool.CallError{Code: "tool.x.y.z"}}, true},
		"error without":      {tool.Envelope{Status: tool.Failed}, false},
		"an unknown status":  {tool.Envelope{Status: "fine"}, false},
		"no status":          {tool.Envelope{}, false},
	} {
		if err := c.e.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesThatCouldConfuseAreRefused(t *testing.T) {
	for n, ok := range map[tool.Name]bool{
		{Namespace: "crm", Name: "send_email"}: true, {Name: "a.b/c"}: true, {Name: ""}: false, {Name: "a b"}: false, {Name: "a\n"}: false,
		{Name: "а"}: false, {Namespace: "-x", Name: "a"}: false, {Name: strings.Repeat("a", 129)}: false,
	} {
		if err := n.Check(); (err == nil) != ok {
			t.Errorf("%q: %v", n, err)
		}
	}
}

func TestRolesFollowFromArgumentNames(t *testing.T) {
	for pointer, want := range map[string]tool.Role{
		"/to": tool.RoleRecipient, "/recipients/0": tool.RoleRecipient, "/file_path": tool.RolePath, "/targetUrl": tool.RoleURL, "/command": tool.RoleShell,
		"/iban": tool.RoleAccount, "/amount": tool.RoleAmount, "/api_token": tool.RoleSecret, "/message/body": tool.RoleText, "/zzz": "", "": "",
	} {
		if got := tool.RoleOf(pointer); got != want {
			t.Errorf("%s: got %q, want %q", pointer, got, want)
		}
	}
}
