package mcpproxy

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/wire"
)

// body is the part of an answer that the server fills as it likes, taken apart for cleaning.
type body struct {
	at      string         // its member in the frame: result or error
	empty   bool           // there is nothing in it
	content jsontext.Value // the content blocks of a tool's result; an empty list where there are none
	rest    jsontext.Value // everything else, with blanks where members were lifted out
	lifted  []member
}

// member is one that is put back as it was, or as its own cleaning left it.
type member struct {
	name  string
	value jsontext.Value
}

const contentBlocks = "content"

// bodyOf takes out of the body what is not cleaned with the rest: the content blocks, which are cleaned as such, and tokens.
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
	if blocks := o.raw(contentBlocks); r.ofTool() && blocks.Kind() == '[' {
		b.content = blocks
		if o, err = b.lift(o, contentBlocks, "[]"); err != nil {
			return b, err
		}
	}
	for _, name := range tokens(r, o) {
		if o, err = b.lift(o, name, `""`); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (b *body) lift(o object, name, blank string) (object, error) {
	b.lifted = append(b.lifted, member{name, o.raw(name)})
	b.rest = o.with(name, []byte(blank))
	return wholeObject(b.rest)
}

// opaque is what a token looks like: no words, so nothing that a model would read as such.
var opaque = regexp.MustCompile(`^"[A-Za-z0-9+/_=.:~-]*"$`)

// tokens names the members that the client's program sends back and that the server must find as it wrote them. A sealed state looks like a
// credential to whoever cleans it.
func tokens(r *request, o object) []string {
	var names []string
	if strings.HasSuffix(r.method, "/list") && opaque.Match(o.raw("nextCursor")) {
		names = append(names, "nextCursor")
	}
	if kind, _ := o.text("resultType"); kind == "input_required" && opaque.Match(o.raw("requestState")) {
		names = append(names, "requestState")
	}
	return names
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
	for _, m := range b.lifted {
		o, err := wholeObject(whole)
		if err != nil {
			return nil, err
		}
		if m.name == contentBlocks {
			m.value = content
		}
		whole = o.with(m.name, m.value)
	}
	return whole, nil
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
