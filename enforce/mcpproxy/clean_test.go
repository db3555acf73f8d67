package mcpproxy

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ostiary/client"
	"ostiary/enforce/wire"
)

// says is a request that the fake server answers with the given result or error, as it stands.
func says(id int, method, member, body string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"free",%q:%s}}`, id, method, member, body)
}

// answer is the fake server's frame for it.
func answer(id int, member, body string) string {
	return fmt.Sprintf(`{ "jsonrpc":"2.0","id":%d, %q : %s }`, id, member, body)
}

// Covers: A12, A14, A15
func TestEverythingThatAServerAnswersIsCleanedAndTheOtherBytesStay(t *testing.T) {
	for name, c := range map[string]struct{ method, member, body string }{
		"texts": {"tools/call", "result", `{ "content" : [ {"type":"text","text":"dirty \u0041\/"} , {"type":"text","text":"r\u0061n"} ] }`},
		"structured content, metadata and unknown members": {"tools/call", "result",
			`{ "content":[], "structuredContent" : {"rows":[{"n": 1.50e1,"note":"dirty"}]}, "_meta":{"k" : "dirty"}, "x":["dirty", 12345678901234567890] }`},
		"embedded resources and links": {"tools/call", "result", `{"content":[{"type":"resource","resource":{"uri":"file:///a" ,"text":"dirty"},"annotations":{"x":"dirty"}},` +
			`{"type":"resource_link","uri":"file:///b","name":"dirty","title":"dirty","description":"dirty"}]}`},
		"blocks that are not listed":   {"tools/call", "result", `{"content": {"type":"text","text":"dirty"}}`},
		"a result without any content": {"tools/call", "result", `{"structuredContent":{"t":"dirty"}}`},
		"an error":                     {"tools/call", "error", `{"code": -32050 ,"message":"dirty","data":{"why":["dirty"]},"x":"dirty"}`},
		"the result of a task":         {"tasks/result", "result", `{"content":[{"type":"text","text":"dirty"}],"_meta":{"x":"dirty"}}`},
		"a resource":                   {"resources/read", "result", `{"contents":[{"uri":"file:///a","mimeType":"text/plain","text" : "dirty"}]}`},
		"a prompt":                     {"prompts/get", "result", `{"description":"dirty","messages":[{"role":"user","content":{"type":"text","text":"dirty"}}]}`},
		"descriptions of tools":        {"tools/list", "result", `{"tools":[{"name":"a","description":"dirty","inputSchema":{"properties":{"p":{"description":"dirty","default":1.0}}}}]}`},
		"a list of resources":          {"resources/list", "result", `{"resources":[{"uri":"file:///a","name":"dirty","description":"dirty"}]}`},
		"completions":                  {"completion/complete", "result", `{"completion":{"values":["dirty"]}}`},
		"instructions":                 {"initialize", "result", `{"instructions":"dirty","serverInfo":{"name":"x","title":"dirty"},"capabilities":{}}`},
		"a method of its own":          {"x/y", "result", `{"any":"dirty"}`},
		"an error of a list":           {"tools/list", "error", `{"code":1,"message":"dirty"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sidecarFuncs{}, nil)
			r.send(says(7, c.method, c.member, c.body))
			want := strings.ReplaceAll(answer(7, c.member, c.body), "dirty", "clean")
			if got := r.want(`"id":7`); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAnswersWithNothingInThemPassEvenWithoutASidecar(t *testing.T) {
	nowhere := sidecarFuncs{
		result:   func(wire.ResultRequest) (wire.ResultResponse, error) { return wire.ResultResponse{}, errUnsaid },
		sanitize: func(wire.ResultRequest) (wire.ResultResponse, error) { return wire.ResultResponse{}, errUnsaid },
	}
	r := newRig(t, nowhere, nil)
	for i, method := range []string{"ping", "tools/call", "x/y"} {
		r.send(says(i, method, "result", `{ }`))
		if got, want := r.want(fmt.Sprintf(`"id":%d`, i)), answer(i, "result", `{ }`); got != want {
			t.Errorf("%s: got %s", method, got)
		}
	}
}

func TestAResultWithoutContentComesThroughUnharmed(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	for i, body := range []string{`{"content":[]}`, `{"content" : [ ]}`, `{"content":null}`, `{"structuredContent":null,"isError" : true}`, `{"content":[],"structuredContent":{}}`} {
		r.send(says(i, "tools/call", "result", body))
		if got, want := r.want(fmt.Sprintf(`"id":%d`, i)), answer(i, "result", body); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Covers: A18
func TestMaterialJoinsTheSessionAndACatalogueOnlyWhenItSpeaksToTheModel(t *testing.T) {
	var mu sync.Mutex
	learned := map[string]bool{}
	s := sidecarFuncs{
		result: func(q wire.ResultRequest) (wire.ResultResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			learned[q.Tool.Name] = q.SessionID == "s-1"
			return washed(q)
		},
		sanitize: func(q wire.ResultRequest) (wire.ResultResponse, error) {
			out, err := washed(q)
			out.Tainted = strings.Contains(string(q.StructuredContent), "orders")
			return out, err
		},
	}
	r := newRig(t, s, nil)
	for i, c := range []struct {
		method, text string
		learns       bool
	}{
		{"resources/read", "dirty", true}, {"prompts/get", "dirty", true}, {"tasks/result", "dirty", true}, {"x/y", "dirty", true},
		{"tools/list", "dirty", false}, {"initialize", "dirty", false}, {"resources/list", "dirty", false},
		{"prompts/list", "dirty orders", true}, {"completion/complete", "dirty orders", true},
	} {
		r.send(says(i, c.method, "result", `{"t":"`+c.text+`"}`))
		if got := r.want(fmt.Sprintf(`"id":%d`, i)); strings.Contains(got, "dirty") {
			t.Errorf("%s: got %s", c.method, got)
		}
		mu.Lock()
		if learned[c.method] != c.learns {
			t.Errorf("%s: learned %v", c.method, learned[c.method])
		}
		mu.Unlock()
	}
}

// Covers: A15
func TestAnAnswerThatCannotBeCheckedIsWithheldAndSaysSo(t *testing.T) {
	nowhere, err := client.New(client.Config{Socket: filepath.Join(t.TempDir(), "none.sock")})
	if err != nil {
		t.Fatal(err)
	}
	both := func(f func(wire.ResultRequest) (wire.ResultResponse, error)) sidecarFuncs {
		return sidecarFuncs{result: f, sanitize: f}
	}
	for name, c := range map[string]struct {
		sidecar Sidecar
		words   []string
	}{
		"no sidecar": {nowhere, []string{"sidecar_unreachable", "sidecar serve"}},
		"no answer": {both(func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{}, errors.New("gone")
		}),
			[]string{"could not be cleaned"}},
		"deny": {both(func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "deny", Reason: "not today"}, nil
		}), []string{"not today"}},
		"ask": {both(func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "ask", Review: &wire.Review{ID: "rev_9"}}, nil
		}), []string{"rev_9"}},
		"nothing": {both(func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "allow"}, nil
		}), []string{"does not fit"}},
		"another shape": {both(func(q wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "allow", Content: q.Content, StructuredContent: []byte(`{"contents":[{"uri":"a"}]}`)}, nil
		}), []string{"does not fit"}},
		"panic": {both(func(wire.ResultRequest) (wire.ResultResponse, error) { panic("boom") }), []string{"failed while it cleaned"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.sidecar, nil)
			for i, method := range []string{"resources/read", "tools/list", "initialize"} {
				r.send(says(i, method, "result", `{"contents":[{"uri":"a","text":"dirty"}]}`))
				got := r.want(append([]string{fmt.Sprintf(`"id":%d`, i), `"error"`, "-32050", method}, c.words...)...)
				if strings.Contains(got, "dirty") {
					t.Errorf("shown: %s", got)
				}
			}
		})
	}
}

func TestAnAnswerThatIsNoObjectIsWithheld(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	for i, body := range []string{`"dirty"`, `["dirty"]`, `null`} {
		r.send(says(i, "resources/read", "result", body))
		r.want(fmt.Sprintf(`"id":%d`, i), "-32050", "malformed_result")
	}
	r.send(says(9, "tools/call", "result", `"dirty"`))
	r.want(`"id":9`, `"isError":true`, "malformed_result")
}
