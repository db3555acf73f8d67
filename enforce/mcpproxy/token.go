package mcpproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/mcpproxy/rpc"
	"ostiary/enforce/wire"
)

// tokens are strings that the client's program sends back and that the server must find as it wrote them, by their place. Cleaning
// would take many of them for credentials. They go past it only when [proxy.vouch] finds nothing wrong with them.
type tokens map[jsontext.Pointer]jsontext.Value

// opaque is what a token can look like. That alone says little: words with dashes between them fit.
var opaque = regexp.MustCompile(`^"[A-Za-z0-9+/_=.:~-]+"$`)

// maxToken bounds a token, in bytes.
const maxToken = 8 << 10

// taskID is where the id of a task stands: in a task, in a new one's answer, in a list, or beside the result of one.
var taskID = regexp.MustCompile(`^(?:|/task|/tasks/[0-9]+|/_meta/io\.modelcontextprotocol~1related-task)/taskId$`)

// tokensOf finds the tokens in a result.
func tokensOf(r *request, o rpc.Object, result []byte) (tokens, error) {
	if !slices.ContainsFunc([]string{"nextCursor", "requestState", "taskId"}, func(name string) bool { return bytes.Contains(result, []byte(name)) }) {
		return nil, nil
	}
	kind, _ := o.Text("resultType")
	found := tokens{}
	_, err := rpc.Replace(result, func(at jsontext.Pointer, value jsontext.Value) jsontext.Value {
		if len(value) <= maxToken && r.sendsBack(kind, at) && opaque.Match(value) {
			found[at] = value.Clone() // the reader uses its bytes again
		}
		return nil
	})
	return found, err
}

// sendsBack reports whether the protocol has a token at this place of a result of this kind.
func (r *request) sendsBack(kind string, at jsontext.Pointer) bool {
	switch {
	case at == "/nextCursor":
		return strings.HasSuffix(r.method, "/list")
	case at == "/requestState":
		return kind == "input_required"
	case r.method == "tools/call":
		return taskID.MatchString(string(at)) && (at != "/taskId" || kind == "task")
	}
	return strings.HasPrefix(r.method, "tasks/") && taskID.MatchString(string(at))
}

// blank returns doc without the tokens.
func (t tokens) blank(doc []byte) (jsontext.Value, error) {
	return t.each(doc, func(jsontext.Value) jsontext.Value { return jsontext.Value(`""`) })
}

// restore puts the tokens into their places.
func (t tokens) restore(doc []byte) (jsontext.Value, error) {
	return t.each(doc, func(token jsontext.Value) jsontext.Value { return token })
}

func (t tokens) each(doc []byte, now func(jsontext.Value) jsontext.Value) (jsontext.Value, error) {
	if len(t) == 0 {
		return doc, nil
	}
	return rpc.Replace(doc, func(at jsontext.Pointer, _ jsontext.Value) jsontext.Value {
		if token, ok := t[at]; ok {
			return now(token)
		}
		return nil
	})
}

// errSpeaks means that a token is an instruction to the model.
var errSpeaks = errors.New("a token in it speaks to the model")

// vouch leaves of the tokens those that may go past cleaning: the sanitizer reads each as it stands and as the words that it may be made
// of. One that holds a credential of a known form is cleaned with everything else; a sealed state looks like one of no known form, or
// like a JWT. One that speaks to the model is no token: errSpeaks.
func (p *proxy) vouch(t tokens) error {
	if len(t) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.working), resultTimeout)
	defer cancel()
	var places []jsontext.Pointer
	var texts []string
	for at, token := range t {
		text := string(token[1 : len(token)-1]) // it has no escapes
		places, texts = append(places, at), append(texts, text, words(text))
	}
	content, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	resp, err := p.Sidecar.Sanitize(ctx, wire.ResultRequest{Content: content, MaxLength: new(int)})
	if err != nil {
		return err
	}
	if resp.Injection.Flagged || resp.Tainted {
		return errSpeaks
	}
	for _, f := range resp.Findings {
		if f.Family != "secret" || f.Type == "generic" || f.Type == "jwt" {
			continue
		}
		i, err := strconv.Atoi(strings.TrimPrefix(f.Pointer, "/"))
		if err != nil || i < 0 || i >= len(texts) {
			return fmt.Errorf("a finding at %q, where nothing was asked about", f.Pointer)
		}
		delete(t, places[i/2])
	}
	return nil
}

// words is a token as a reader may see it: apart at its signs and where a capital follows a small letter.
func words(token string) string {
	var b strings.Builder
	var last byte
	for _, c := range []byte(token) {
		switch {
		case strings.IndexByte("+/_=.:~-", c) >= 0:
			b.WriteByte(' ')
		case 'A' <= c && c <= 'Z' && 'a' <= last && last <= 'z':
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteByte(c)
		}
		last = c
	}
	return b.String()
}
