package rpc

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/internal/strictjson"
)

// What the reader takes as one message, it can take apart: replacing a member leaves the bytes around it, and the outcome reads again.
func FuzzReadAndRewrite(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"free","arguments":{}}}`, `{"id":1,"method":"tools/call","params":{"name":"x"}}`, `{"id":1,"result":{"content":[]}}`, `{"a":1,"a":2}`, `[]`, `{"id":"\ud800"}`,
		`{"id":1,"method":"tools/call","params":{}}`, "{\"id\":1,\"method\":\"\xff\"}", `{"id":1e400,"method":"x"} x`, ` { "params" : { "arguments" : 1 } , "id" : 2 , "method":"x" } `,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		SkimIDs(frame)
		m, err := Read(frame)
		if err != nil {
			return
		}
		params, err := m.Child("params")
		if err != nil {
			return
		}
		out := params.With("arguments", []byte(`{"new":1}`))
		again, err := Read(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", frame, out, err)
		}
		if again.Method != m.Method || again.ID != m.ID {
			t.Fatalf("%q became another message: %q", frame, out)
		}
		edited, err := again.Child("params")
		if err != nil || string(edited.Raw("arguments")) != `{"new":1}` {
			t.Fatalf("%q became %q: %v", frame, out, err)
		}
		name, ok := params.Text("name")
		name2, ok2 := edited.Text("name")
		if name != name2 || ok != ok2 {
			t.Fatalf("the tool of %q changed in %q", frame, out)
		}
	})
}

// Every byte between two newlines arrives in its own frame, and a frame over the limit loses neither the next one nor its own ends.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("a\n\nb\r\n"), 4)
	f.Add([]byte("aaaaaaaa\nb"), 3)
	f.Add([]byte("\n \n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, limit int) {
		if limit < 1 || limit > 1<<16 {
			return
		}
		r := NewFrames(bytes.NewReader(stream), limit)
		for _, want := range bytes.Split(stream, []byte("\n")) {
			if len(bytes.TrimSpace(want)) == 0 && len(want) <= limit {
				continue
			}
			got, err := r.Next()
			switch {
			case len(want) <= limit && (err != nil || !bytes.Equal(got, want)):
				t.Fatalf("got %q, %v; want %q", got, err, want)
			case len(want) > limit && err != ErrTooLong:
				t.Fatalf("%d bytes over %d: %v", len(want), limit, err)
			case len(got) > max(limit, 2*kept):
				t.Fatalf("kept %d bytes", len(got))
			}
		}
		if rest, err := r.Next(); err != io.EOF {
			t.Fatalf("got %q, %v at the end", rest, err)
		}
	})
}

// Whatever comes back, only strings can change: the outcome reads as what came back, and where nothing changed no byte does.
func FuzzSplice(f *testing.F) {
	for _, s := range []string{`{ "a" : [1.50, "x", null] }`, `{"a":"\u0041"}`, `[]`, `"x"`, `{"a":{"b":true},"c":-1e2}`, `{"a":1,"a":2}`} {
		f.Add([]byte(s), []byte(strings.ReplaceAll(s, "x", "y")))
	}
	f.Fuzz(func(t *testing.T, was, now []byte) {
		if !jsontext.Value(was).IsValid() { // it was read before
			return
		}
		if same, err := Splice(was, was); err == nil && string(same) != string(was) {
			t.Fatalf("%q became %q", was, same)
		}
		out, err := Splice(was, now)
		if err != nil {
			return
		}
		got, errGot := strictjson.Canonical(out)
		want, errWant := strictjson.Canonical(now)
		if errGot != nil || errWant != nil || string(got) != string(want) {
			t.Fatalf("%q and %q became %q", was, now, out)
		}
	})
}
