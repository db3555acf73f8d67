package mcpproxy

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/internal/strictjson"
)

// object is a JSON object whose members are known by their place in the frame, so that one can be replaced and the rest stay as they are.
type object struct {
	frame   []byte
	open    int // offset right behind '{'
	members map[string]span
}

type span struct{ start, end int }

// fault is what is wrong with a frame, in words of our own.
type fault string

func (f fault) Error() string { return string(f) }

const (
	errNoObject  = fault("not a JSON object")
	errTrailing  = fault("data after the JSON value")
	errMethod    = fault("method is not a string")
	errID        = fault("id is neither a string nor a number")
	errKind      = fault("neither a request, a notification nor a response")
	errOtherCase = fault("a member's name differs from the protocol's in case alone")
)

// plainly says what is wrong with a frame without quoting it, as errors of the JSON reader do.
func plainly(err error) string {
	var f fault
	switch {
	case errors.As(err, &f):
		return string(f)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "an object in it has two members of one name"
	}
	return "it is not valid JSON"
}

// readObject reads the object at frame[at.start:at.end] strictly. Member names match exactly; other cases are other members.
func readObject(frame []byte, at span) (object, error) {
	o := object{frame: frame, members: map[string]span{}}
	d := jsontext.NewDecoder(bytes.NewReader(frame[at.start:at.end]))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return o, errors.Join(errNoObject, err)
	}
	o.open = at.start + int(d.InputOffset())
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return o, err
		}
		name := tok.String()
		value, err := d.ReadValue()
		if err != nil {
			return o, err
		}
		end := at.start + int(d.InputOffset())
		o.members[name] = span{end - len(value), end}
	}
	if _, err := d.ReadToken(); err != nil {
		return o, err
	}
	if rest := frame[at.start+int(d.InputOffset()) : at.end]; len(bytes.TrimSpace(rest)) > 0 {
		return o, errTrailing
	}
	return o, nil
}

// wholeObject reads a value that is one object.
func wholeObject(raw []byte) (object, error) { return readObject(raw, span{0, len(raw)}) }

func (o object) has(name string) bool { _, ok := o.members[name]; return ok }

// raw returns a member's bytes, or nil.
func (o object) raw(name string) jsontext.Value {
	at, ok := o.members[name]
	if !ok {
		return nil
	}
	return jsontext.Value(o.frame[at.start:at.end])
}

// child reads a member as an object.
func (o object) child(name string) (object, error) {
	at, ok := o.members[name]
	if !ok {
		return object{}, errNoObject
	}
	return readObject(o.frame, at)
}

// text returns a member that is a string.
func (o object) text(name string) (string, bool) { return unquote(o.raw(name)) }

func unquote(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	raw, err := jsontext.AppendUnquote(nil, v)
	return string(raw), err == nil
}

// with returns the frame with one member of the object replaced, or put in front of the others.
func (o object) with(name string, value []byte) []byte {
	at, ok := o.members[name]
	if !ok {
		at = span{o.open, o.open}
		lead, err := jsontext.AppendQuote(nil, name)
		if err != nil {
			return nil
		}
		value = append(append(lead, ':'), value...)
		if len(o.members) > 0 {
			value = append(value, ',')
		}
	}
	out := make([]byte, 0, len(o.frame)+len(value))
	out = append(out, o.frame[:at.start]...)
	out = append(out, value...)
	return append(out, o.frame[at.end:]...)
}

// message is one JSON-RPC frame.
type message struct {
	object
	method string
	id     string // canonical text, to compare; the frame keeps the client's own bytes
}

// Shapes of a message.
func (m message) isRequest() bool  { return m.method != "" && m.has("id") }
func (m message) isResponse() bool { return m.method == "" && m.has("id") }

// envelope names the members that say what a frame is.
var envelope = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// otherCase reports whether there is a member that a reader who does not mind case takes for one of the protocol's.
func (o object) otherCase() bool {
	for name := range o.members {
		for _, known := range envelope {
			if name != known && strings.EqualFold(name, known) {
				return true
			}
		}
	}
	return false
}

// bare is a response with nothing in it but what a response holds. Other members would reach the client unread.
func (m message) bare() (message, error) {
	extra := false
	for name := range m.members {
		switch name {
		case "id", "result", "error":
		case "jsonrpc":
			extra = extra || string(m.raw(name)) != `"2.0"`
		default:
			extra = true
		}
	}
	if !extra {
		return m, nil
	}
	at := "result"
	if m.has("error") {
		at = "error"
	}
	return read(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.raw("id"), []byte(`,"`+at+`":`), m.raw(at), []byte(`}`)))
}

// read parses a frame as far as it is needed to tell what it is.
func read(frame []byte) (message, error) {
	o, err := wholeObject(frame)
	if err != nil {
		return message{}, err
	}
	m := message{object: o}
	if o.has("method") {
		var ok bool
		if m.method, ok = o.text("method"); !ok || m.method == "" {
			return m, errMethod
		}
	}
	if o.has("id") {
		raw := o.raw("id")
		if k := raw.Kind(); k != '"' && k != '0' && (k != 'n' || m.method != "") {
			return m, errID
		}
		if m.id, err = key(raw); err != nil {
			return m, err
		}
	}
	answers := o.has("result") || o.has("error")
	if (m.method != "") == answers || answers && (!o.has("id") || o.has("result") == o.has("error")) {
		return m, errKind
	}
	return m, nil
}

// key is the text by which ids are compared. Numbers keep their exact text: 1 and 1.0 are two ids here, and a big integer is not rounded.
func key(raw jsontext.Value) (string, error) {
	c, err := strictjson.Canonical(raw)
	return string(c), err
}

// lastID finds an id at the very end of a frame, where most servers write it.
var lastID = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*\}\s*$`)

// skimIDs lists what may be the ids of a frame that could not be read, each once, so that whoever waits for it can be told.
func skimIDs(frame []byte) []string {
	var ids []string
	add := func(raw []byte) {
		if id, err := key(raw); err == nil {
			ids = append(ids, id)
		}
	}
	d := jsontext.NewDecoder(bytes.NewReader(frame), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if tok, err := d.ReadToken(); err == nil && tok.Kind() == '{' {
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				break
			}
			isID := name.String() == "id"
			value, err := d.ReadValue()
			if err != nil {
				break
			}
			if isID {
				add(value)
			}
		}
	}
	if m := lastID.FindSubmatch(frame); m != nil {
		add(m[1])
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// marshal writes a value of our own types; raw JSON in it has been checked.
func marshal(v any) []byte {
	raw, err := json.Marshal(v, jsontext.PreserveRawStrings(true), json.Deterministic(true))
	if err != nil {
		return []byte(`null`)
	}
	return raw
}
