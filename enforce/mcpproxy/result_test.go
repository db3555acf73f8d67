package mcpproxy

import (
	"errors"
	"strings"
	"testing"

	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
)

// Covers: A12, A15
func TestResultsComeBackCleanAndTheRestOfTheFrameIsKept(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(`{"id":7,"method":"tools/call","params":{"name":"dirty"}}`)
	want := `{"result":{"_meta":{"k":1.0},"content":[{"type":"text","text":"clean words"}],"structuredContent":{"t":"clean"},"isError":false,"x":"\u0041"},"jsonrpc":"2.0","id":7}`
	if got := r.want(`"id":7`); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.send(`{"id":8,"method":"tools/call","params":{"name":"fails"}}`)
	if got := r.want(`"id":8`); got != `{"jsonrpc":"2.0","id":8,"error":{"code":-32050,"message":"clean words","data":{"why":"clean"}}}` {
		t.Errorf("got %s", got)
	}
}

func TestAResultThatCannotBeCleanedIsWithheld(t *testing.T) {
	for name, c := range map[string]struct {
		result func(wire.ResultRequest) (wire.ResultResponse, error)
		words  []string
	}{
		"no answer": {func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{}, errors.New("gone")
		}, []string{"withheld"}},
		"deny": {func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "deny", Reason: "no"}, nil
		}, []string{"withheld", "no"}},
		"ask": {func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "ask", Review: &wire.Review{ID: "rev_9"}}, nil
		}, []string{"withheld", "rev_9"}},
		"no content": {func(wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "allow"}, nil
		}, []string{"withheld"}},
		"no structured content": {func(q wire.ResultRequest) (wire.ResultResponse, error) {
			return wire.ResultResponse{Behavior: "allow", Content: q.Content}, nil
		}, []string{"withheld"}},
		"panic": {func(wire.ResultRequest) (wire.ResultResponse, error) { panic("boom") }, []string{"withheld"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sidecarFuncs{result: c.result}, nil)
			r.send(`{"id":7,"method":"tools/call","params":{"name":"dirty"}}`)
			got := r.want(append([]string{`"id":7`, `"isError":true`}, c.words...)...)
			if strings.Contains(got, "dirty") {
				t.Errorf("shown: %s", got)
			}
		})
	}
}

func TestAnAnswerThatCannotBeReadIsWithheldAndTheCallEnds(t *testing.T) {
	for _, name := range []string{"duplicate", "huge"} {
		r := newRig(t, sidecarFuncs{}, nil)
		r.send(`{"id":7,"method":"tools/call","params":{"name":"` + name + `"}}`)
		if got := r.want(`"id":7`); !strings.Contains(got, "malformed_result") || strings.Contains(got, "dirty") || len(got) > 1000 {
			t.Errorf("%s: got %.300s", name, got)
		}
		if strings.Contains(r.notes.String(), "dirty") {
			t.Errorf("%s: noted %s", name, r.notes)
		}
		r.send(call7)
		r.want(`"id":7`, `r\u0061n`)
	}
}

func TestAToolListThatCannotBeReadIsNotQuotedInANote(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(says(7, "tools/list", "result", `{"tools":[{"name":"a","annotations":{"readOnlyHint":"dirty"}}]}`))
	r.want(`"id":7`)
	if got := r.notes.String(); !strings.Contains(got, "hints") || strings.Contains(got, "dirty") {
		t.Errorf("noted %q", got)
	}
}

// Covers: A15
func TestAResponseHoldsNothingBesideItsResult(t *testing.T) {
	const content = `{"content":[{"type":"text","text":"dirty"}]}`
	for name, c := range map[string]struct{ around, want string }{
		"another member":             {`{"jsonrpc":"2.0","result":{},"output":` + content + `}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		"another member of an error": {`{"jsonrpc":"2.0","error":{"code":1},"x":"dirty"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1}}`},
		"words as a version":         {`{"jsonrpc":"dirty","result":{"a" : 1.0}}`, `{"jsonrpc":"2.0","id":7,"result":{"a" : 1.0}}`},
		"no version":                 {`{"result":{"a" : 1.0}}`, `{"id":7,"result":{"a" : 1.0}}`},
		"another case":               {`{"jsonrpc":"2.0","result":{},"Result":` + content + `}`, "malformed_result"},
		"another case of an error":   {`{"jsonrpc":"2.0","result":{},"ERROR":{"message":"dirty"}}`, "malformed_result"},
		"a letter that folds":        {`{"jsonrpc":"2.0","result":{},"reſult":` + content + `}`, "malformed_result"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sidecarFuncs{}, nil)
			r.send(`{"id":7,"method":"x/y","params":{"around":` + c.around + `}}`)
			got := r.want(`"id":7`)
			if strings.Contains(got, "dirty") || got != c.want && (c.want[0] == '{' || !strings.Contains(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A client that does not mind case would take such a request for the answer.
func TestARequestOfTheServerThatCouldBeReadAsAnAnswerIsDropped(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(`{"id":1,"method":"x/y","params":{"around":{"jsonrpc":"2.0","method":"notifications/x","params":{},"Result":{"t":"dirty"}}}}`)
	if got := r.want(`"id":1`); !strings.Contains(got, "malformed_result") || strings.Contains(got, "dirty") {
		t.Errorf("got %s", got)
	}
}

func TestAnswersThatNobodyWaitsForAreDropped(t *testing.T) {
	r := newRig(t, held(nil), nil)
	r.send(`{"id":"held","method":"tools/call","params":{"name":"x"}}`)
	r.send(`{"id":7,"method":"tools/call","params":{"name":"unasked"}}`)
	r.want(`"id":7`)
	r.end()
	for _, frame := range r.early {
		if strings.Contains(string(frame), "dirty") {
			t.Errorf("shown: %s", frame)
		}
	}
	r.want(`"id":"held"`, "rev_1")
}

func TestRequestsOfTheServerPassAsTheyAre(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(`{"id":7,"method":"tools/call","params":{"name":"asks"}}`)
	if got := r.want("sampling"); got != `{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"odd" : 1.50}}` {
		t.Errorf("got %s", got)
	}
	answer := `{"jsonrpc":"2.0", "id":"s1","result":{"text" : "x"}}`
	r.send(answer)
	if got := r.end(); !strings.HasSuffix(got, answer+"\n") {
		t.Errorf("forwarded %q", got)
	}
}

func TestAFrameOverTheLimitIsRefusedAndTheNextOneIsRead(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(`{"id":3,"method":"tools/call","params":{"name":"free","arguments":{"a":"` + strings.Repeat("x", rpc.MaxFrame) + `"}}}`)
	r.want("-32600", "16 MiB")
	r.send(call7)
	r.want(`"id":7`)
	if got := r.end(); got != call7+"\n" {
		t.Errorf("forwarded %.300q", got)
	}
}

func TestTheEndOfTheServerIsToldToWhoeverWaitsAndItsExitCodeIsPassed(t *testing.T) {
	r := newRig(t, sidecarFuncs{}, nil)
	r.send(`{"id":1,"method":"tools/call","params":{"name":"hangs"}}`)
	r.send(`{"id":2,"method":"prompts/list","params":{"name":"hangs"}}`)
	r.send(`{"id":3,"method":"tools/call","params":{"name":"dies"}}`)
	<-r.doneAfter()
	r.want(`"id":1`, `"isError":true`, "upstream_error")
	r.want(`"id":2`, "-32603", "upstream_error")
	r.want(`"id":3`, `"isError":true`, "upstream_error")
	if r.code != 7 {
		t.Errorf("exit code %d", r.code)
	}
}

func TestToldToStopTheProxyStopsTheServerAndEndsWell(t *testing.T) {
	r := newRig(t, held(nil), nil)
	r.send(`{"id":1,"method":"tools/call","params":{"name":"x"}}`)
	r.send(`{"id":2,"method":"ping"}`)
	r.want(`"id":2}`)
	r.stop()
	r.want(`"id":1`, `"isError":true`)
	<-r.doneAfter()
	if r.code != 0 {
		t.Errorf("exit code %d", r.code)
	}
}

func TestAServerThatCannotBeStartedIsSaid(t *testing.T) {
	_, err := Run(t.Context(), Config{Command: []string{"/nonexistent"}, Sidecar: sidecarFuncs{}, Session: "s"})
	if err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("got %v", err)
	}
	if _, err := Run(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "Sidecar is required") {
		t.Errorf("got %v", err)
	}
}

// doneAfter reads on until the proxy has ended, so that it is not kept by its own output.
func (r *rig) doneAfter() <-chan struct{} {
	for {
		frame, err := r.out.Next()
		if err != nil {
			return r.done
		}
		r.early = append(r.early, frame)
	}
}
