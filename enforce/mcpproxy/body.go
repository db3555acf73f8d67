package mcpproxy

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/wire"
)

// body is the part of an answer that the server fills as it likes, taken apart for cleaning.
type body struct {
	at      string         // its member in the frame: result or error
	empty   bool           // there is nothing in it
	status  bool           // it tells how a task stands, and nothing else
	content jsontext.Value // the content blocks of a tool's result; an empty list where there are none
	blocks  bool           // content was lifted out of rest
	rest    jsontext.Value // everything else, with blanks where something was lifted out
	tokens  tokens         // what may be lifted out too, and put back as it was
}

const contentBlocks = "content"

// bodyOf finds in the body what is not cleaned with the rest: the content blocks, which are cleaned as such, and tokens.
func bodyOf(r *request, m message) (body, error) {
	b := body{at: "result", content: jsontext.Value("[]")}
	if m.has("error") {
		b.at = "error"
	}
	b.rest = m.raw(b.at)
	o, err := wholeObject(b.rest)
	if err != nil {
		return b, err
	}
	b.empty = len(o.members) == 0
	if b.at == "error" {
		return b, nil
	}
	b.status = strings.HasPrefix(r.method, "tasks/") && r.method != "tasks/result" && tellsStatus(b.rest)
	if b.tokens, err = tokensOf(r, o, b.rest); err != nil {
		return b, err
	}
	if blocks := o.raw(contentBlocks); r.ofTool() && blocks.Kind() == '[' {
		b.content, b.blocks, b.rest = blocks, true, o.with(contentBlocks, []byte("[]"))
	}
	return b, nil
}

// taskStatus names what the protocol tells of a task beside its outcome. A status message is not among it: it may sum the outcome up.
var taskStatus = []string{"taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval", "pollIntervalMs", "resultType", "nextCursor"}

// tellsStatus reports whether a result says of a task, or of each in a list, how it stands and no more.
func tellsStatus(result jsontext.Value) bool {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(result, &members); err != nil {
		return false
	}
	for name, value := range members {
		var list []jsontext.Value
		switch {
		case name == "_meta":
		case name == "tasks":
			if err := json.Unmarshal(value, &list); err != nil || !all(list, tellsStatus) {
				return false
			}
		case !slices.Contains(taskStatus, name), value.Kind() == '{', value.Kind() == '[':
			return false
		}
	}
	return true
}

func all(list []jsontext.Value, holds func(jsontext.Value) bool) bool {
	return !slices.ContainsFunc(list, func(v jsontext.Value) bool { return !holds(v) })
}

// together puts what came back into the place of what was sent.
func (b *body) together(resp wire.ResultResponse) (jsontext.Value, error) {
	content, err := splice(b.content, resp.Content)
	if err != nil {
		return nil, err
	}
	whole, err := splice(b.rest, resp.StructuredContent)
	if err != nil {
		return nil, err
	}
	if whole, err = b.tokens.restore(whole); err != nil || !b.blocks {
		return whole, err
	}
	o, err := wholeObject(whole)
	if err != nil {
		return nil, err
	}
	return o.with(contentBlocks, content), nil
}

var errShape = errors.New("the two have not the same shape")

// splice returns was, which is one value, with the strings that now has in their place; all other bytes stay. Cleaning changes strings only, so a value of
// another shape is none that was cleaned.
func splice(was, now []byte) ([]byte, error) {
	a, b := jsontext.NewDecoder(bytes.NewReader(was)), jsontext.NewDecoder(bytes.NewReader(now))
	var out []byte
	mark := 0
	for {
		kind := a.PeekKind()
		if kind != b.PeekKind() {
			return nil, errShape
		}
		if kind != '"' {
			x, errX := a.ReadToken()
			y, errY := b.ReadToken()
			if errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF) {
				return append(out, was[mark:]...), nil
			}
			if errX != nil || errY != nil || kind == '0' && x.String() != y.String() {
				return nil, errors.Join(errShape, errX, errY)
			}
			continue
		}
		x, errX := a.ReadValue()
		y, errY := b.ReadValue()
		textX, okX := unquote(x)
		textY, okY := unquote(y)
		if errX != nil || errY != nil || !okX || !okY {
			return nil, errors.Join(errShape, errX, errY)
		}
		if textX != textY {
			end := int(a.InputOffset())
			out = append(append(out, was[mark:end-len(x)]...), y...)
			mark = end
		}
	}
}
