package strictjson

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
)

// Limits of every document (wire.md §1).
const (
	MaxDepth = 64
	MaxKeys  = 10_000
	MaxName  = 1024 // bytes of one member name
)

// Decode checks data as Check does and reads it into v; members that v does not name are refused.
func Decode(data []byte, v any) error {
	if small(data) && json.Unmarshal(data, v, json.RejectUnknownMembers(true)) == nil {
		return nil // reading refuses everything that Check does, but for the limits
	}
	if err := Check(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
		return readError(err)
	}
	return nil
}

// plainNumber is how long a number without an exponent may be and surely lie within a double's range, in bytes.
const plainNumber = 300

// small reports whether a JSON text surely keeps every limit. It says nothing of a text that is no JSON.
func small(data []byte) bool {
	depth, keys, text := 0, 0, 0 // text is the length of the latest string
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			start := i
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			text = i - start
		case ':':
			if keys++; keys > MaxKeys || text > MaxName {
				return false
			}
		case '{', '[':
			if depth++; depth > MaxDepth {
				return false
			}
		case '}', ']':
			depth--
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			start := i
			for i+1 < len(data) && bytes.IndexByte([]byte("+-.0123456789eE"), data[i+1]) >= 0 {
				if i++; data[i]|0x20 == 'e' {
					return false
				}
			}
			if i-start > plainNumber {
				return false
			}
		}
	}
	return true
}

// Check reports the first reason why data is not one strict JSON value, as an [ostiary.Error] with a malformed or too-much kind.
func Check(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	keys := 0
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return refuse(ostiary.KindMalformedJSON, "", "the body is empty")
		}
		if err != nil {
			return readError(err)
		}
		if err := checkToken(d, tok, &keys); err != nil {
			return err
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return refuse(ostiary.KindTrailingData, "", "there is data after the JSON value")
	}
	return nil
}

func checkToken(d *jsontext.Decoder, tok jsontext.Token, keys *int) error {
	switch tok.Kind() {
	case '{', '[':
		if d.StackDepth() > MaxDepth {
			return refuse(ostiary.KindTooDeep, "", "the value nests deeper than 64 levels")
		}
	case '0':
		if !representable(tok.String()) {
			return refuse(ostiary.KindUnsafeNumber, string(d.StackPointer()), "the number cannot be represented")
		}
	case '"':
		if !isName(d) {
			return nil
		}
		if *keys++; *keys > MaxKeys {
			return refuse(ostiary.KindTooManyKeys, "", "the value has more than 10,000 keys")
		}
		if len(tok.String()) > MaxName {
			return refuse(ostiary.KindInvalidField, "", "a member name is longer than 1,024 bytes")
		}
	}
	return nil
}

// isName reports whether the string token just read is a member name.
func isName(d *jsontext.Decoder) bool {
	kind, n := d.StackIndex(d.StackDepth())
	return kind == '{' && n%2 == 1
}

// representable refuses what a double can only hold as infinity or, for a non-zero number, as zero.
func representable(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	return f != 0 || !strings.ContainsAny(mantissa, "123456789")
}

func refuse(kind ostiary.Kind, pointer, msg string) *ostiary.Error {
	return &ostiary.Error{Kind: kind, Pointer: pointer, Msg: msg}
}

// readError turns the decoder's errors into kinds; what it cannot name is malformed_json.
func readError(err error) *ostiary.Error {
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		at := string(syn.JSONPointer)
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			return refuse(ostiary.KindDuplicateKey, at, "a member name occurs twice")
		case strings.Contains(syn.Err.Error(), "UTF-8") || strings.Contains(syn.Err.Error(), "surrogate"):
			return refuse(ostiary.KindInvalidUTF8, at, "a string is not valid UTF-8")
		}
		return refuse(ostiary.KindMalformedJSON, at, "the body is not valid JSON")
	}
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		at := string(sem.JSONPointer)
		if errors.Is(err, json.ErrUnknownName) {
			return refuse(ostiary.KindUnknownField, at, "a member is not known here")
		}
		return refuse(ostiary.KindInvalidField, at, "a member has the wrong type")
	}
	return &ostiary.Error{Kind: ostiary.KindMalformedJSON, Msg: "the body is not valid JSON", Err: err}
}

// Canonical returns the one form in which two equal values have equal bytes (wire.md §5, Equality): keys sorted by code point, no white
// space, only '"', '\' and U+0000–001F escaped (as \u00xx), numbers as their exact text. The input must pass [Check].
func Canonical(data []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	out := make([]byte, 0, len(data))
	out, err := appendCanonical(out, d)
	if err != nil {
		return nil, readError(err)
	}
	return out, nil
}

func appendCanonical(out []byte, d *jsontext.Decoder) ([]byte, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		return appendObject(out, d)
	case '[':
		out = append(out, '[')
		for i := 0; d.PeekKind() != ']'; i++ {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = appendCanonical(out, d); err != nil {
				return nil, err
			}
		}
		_, err = d.ReadToken()
		return append(out, ']'), err
	case '"':
		return appendString(out, tok.String()), nil
	default:
		return append(out, tok.String()...), nil
	}
}

type member struct {
	name  string
	value []byte
}

func appendObject(out []byte, d *jsontext.Decoder) ([]byte, error) {
	var members []member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		if m.value, err = appendCanonical(nil, d); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	// Byte order of UTF-8 is code point order.
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// Leaf is one scalar of a document: its place, its JSON kind (jsontext.Kind) and its text; strings are unescaped.
type Leaf struct {
	Pointer string
	Kind    jsontext.Kind
	Text    string
}

// Leaves lists every scalar of data in document order. Empty objects and arrays have none. The input must pass [Check].
func Leaves(data []byte) ([]Leaf, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	var leaves []Leaf
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return leaves, nil
		}
		if err != nil {
			return nil, readError(err)
		}
		switch k := tok.Kind(); k {
		case '"':
			if d.StackDepth() > 0 && isName(d) {
				continue
			}
			leaves = append(leaves, Leaf{string(d.StackPointer()), k, tok.String()})
		case '0', 't', 'f', 'n':
			leaves = append(leaves, Leaf{string(d.StackPointer()), k, tok.String()})
		}
	}
}
