package rpc

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

// Object is a JSON object whose members are known by their place in the frame, so that one can be replaced and the rest stay as they are.
type Object struct {
	frame   []byte
	open    int // offset right behind '{'
	members map[string]span
}

type span struct{ start, end int }

// fault is what is wrong with a frame, in words of our own.
type fault string

func (f fault) Error() string { return string(f) }

const (
	errNoObject = fault("not a JSON object")
	errTrailing = fault("data after the JSON value")
	errMethod   = fault("method is not a string")
	errID       = fault("id is neither a string nor a number")
	errKind     = fault("neither a request, a notification nor a response")
)

// ErrOtherCase is for a frame with a member that Object.OtherCase tells of.
const ErrOtherCase = fault("a member's name differs from the protocol's in case alone")

// Plainly says what is wrong with a frame without quoting it, as errors of the JSON reader do.
func Plainly(err error) string {
	var f fault
	switch {
	case errors.As(err, &f):
		return string(f)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "an object in it has two members of one name"
	}
	return "it is not valid JSON"
}

// readAt reads the object at frame[at.start:at.end] strictly. Member names match exactly; other cases are other members.
func readAt(frame []byte, at span) (Object, error) {
	o := Object{frame: frame, members: map[string]span{}}
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

// ReadObject reads a value that is one object.
func ReadObject(raw []byte) (Object, error) { return readAt(raw, span{0, len(raw)}) }

// Empty reports whether there is no member.
func (o Object) Empty() bool { return len(o.members) == 0 }

// Bytes returns the frame that the object stands in.
func (o Object) Bytes() []byte { return o.frame }

// Has reports whether there is a member of this name.
func (o Object) Has(name string) bool { _, ok := o.members[name]; return ok }

// Raw returns a member's bytes, or nil.
func (o Object) Raw(name string) jsontext.Value {
	at, ok := o.members[name]
	if !ok {
		return nil
	}
	return jsontext.Value(o.frame[at.start:at.end])
}

// Child reads a member as an object.
func (o Object) Child(name string) (Object, error) {
	at, ok := o.members[name]
	if !ok {
		return Object{}, errNoObject
	}
	return readAt(o.frame, at)
}

// Text returns a member that is a string.
func (o Object) Text(name string) (string, bool) { return unquote(o.Raw(name)) }

func unquote(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	raw, err := jsontext.AppendUnquote(nil, v)
	return string(raw), err == nil
}

// With returns the frame with one member of the object replaced, or put in front of the others.
func (o Object) With(name string, value []byte) []byte {
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

// Message is one JSON-RPC frame.
type Message struct {
	Object
	Method string
	ID     string // canonical text, to compare; the frame keeps the client's own bytes
}

// IsRequest reports whether m wants an answer.
func (m Message) IsRequest() bool { return m.Method != "" && m.Has("id") }

// IsResponse reports whether m is an answer.
func (m Message) IsResponse() bool { return m.Method == "" && m.Has("id") }

// envelope names the members that say what a frame is.
var envelope = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// OtherCase reports whether there is a member that a reader who does not mind case takes for one of the protocol's.
func (o Object) OtherCase() bool {
	for name := range o.members {
		for _, known := range envelope {
			if name != known && strings.EqualFold(name, known) {
				return true
			}
		}
	}
	return false
}

// Bare is a response with nothing in it but what a response holds. Other members would reach the client unread.
func (m Message) Bare() (Message, error) {
	extra := false
	for name := range m.members {
		switch name {
		case "id", "result", "error":
		case "jsonrpc":
			extra = extra || string(m.Raw(name)) != `"2.0"`
		default:
			extra = true
		}
	}
	if !extra {
		return m, nil
	}
	at := "result"
	if m.Has("error") {
		at = "error"
	}
	return Read(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.Raw("id"), []byte(`,"`+at+`":`), m.Raw(at), []byte(`}`)))
}

// Read parses a frame as far as it is needed to tell what it is.
func Read(frame []byte) (Message, error) {
	o, err := ReadObject(frame)
	if err != nil {
		return Message{}, err
	}
	m := Message{Object: o}
	if o.Has("method") {
		var ok bool
		if m.Method, ok = o.Text("method"); !ok || m.Method == "" {
			return m, errMethod
		}
	}
	if o.Has("id") {
		raw := o.Raw("id")
		if k := raw.Kind(); k != '"' && k != '0' && (k != 'n' || m.Method != "") {
			return m, errID
		}
		if m.ID, err = Key(raw); err != nil {
			return m, err
		}
	}
	answers := o.Has("result") || o.Has("error")
	if (m.Method != "") == answers || answers && (!o.Has("id") || o.Has("result") == o.Has("error")) {
		return m, errKind
	}
	return m, nil
}

// Key is the text by which ids are compared. Numbers keep their exact text: 1 and 1.0 are two ids here, and a big integer is not rounded.
func Key(raw jsontext.Value) (string, error) {
	c, err := strictjson.Canonical(raw)
	return string(c), err
}

// lastID finds an id at the very end of a frame, where most servers write it.
var lastID = regexp.MustCompile(`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*\}\s*$`)

// SkimIDs lists what may be the ids of a frame that could not be read, each once, so that whoever waits for it can be told.
func SkimIDs(frame []byte) []string {
	var ids []string
	add := func(raw []byte) {
		if id, err := Key(raw); err == nil {
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

// Marshal writes a value of our own types; raw JSON in it has been checked.
func Marshal(v any) []byte {
	raw, err := json.Marshal(v, jsontext.PreserveRawStrings(true), json.Deterministic(true))
	if err != nil {
		return []byte(`null`)
	}
	return raw
}
