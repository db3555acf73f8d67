package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/internal/strictjson"
)

// Argument is one scalar (or empty container) of the arguments, ready to be shown.
type Argument struct {
	Pointer string `json:"pointer"` // RFC 6901
	// Name holds the pointer's runs when it has characters that must not be shown as they stand; empty otherwise.
	Name   []Run  `json:"name,omitempty"`
	Type   string `json:"type"` // string, number, boolean, null, and for empty containers object, array
	Role   string `json:"role,omitempty"`
	Origin string `json:"origin,omitempty"`
	Bytes  int    `json:"bytes"`
	Runes  int    `json:"runes"`
	Runs   []Run  `json:"runs"`
}

// Run is a stretch of one kind of text. Text runs hold what is shown as it stands; every other kind is shown as a chip with its Code
// (such as "U+202E"). Concatenating the Text of all runs gives the value back.
type Run struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Code string `json:"code,omitempty"`
	// Says is what the characters would tell a machine that reads them: the ASCII behind tag characters and look-alikes.
	Says string `json:"says,omitempty"`
	// Len and At are the length and the place in bytes of a masked secret.
	Len int `json:"len,omitzero"`
	At  int `json:"at,omitzero"`
}

// What can be shown completely: more than this nobody reads to the end.
const (
	MaxValue     = 64 << 10 // bytes of one value
	MaxArguments = 1000
)

// Arguments lists every scalar and every empty container of raw, in document order, each with its runs. facts gives the role and the
// origin of the value at a pointer; it may be nil. An error is one of strictjson's: raw is not strict JSON.
func Arguments(raw []byte, facts func(pointer string) (role, origin string)) ([]Argument, error) {
	if err := strictjson.Check(raw); err != nil {
		return nil, fmt.Errorf("view arguments: %w", err)
	}
	if facts == nil {
		facts = func(string) (string, string) { return "", "" }
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	args := []Argument{}
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return args, nil
		}
		if err != nil {
			return nil, fmt.Errorf("view arguments: %w", err)
		}
		typ, text, ok := shown(d, tok)
		if !ok {
			continue
		}
		a := Argument{Pointer: string(d.StackPointer()), Type: typ, Bytes: len(text), Runes: utf8.RuneCountInString(text), Runs: Runs(text)}
		a.Role, a.Origin = facts(a.Pointer)
		if name := Runs(a.Pointer); len(name) > 1 || len(name) == 1 && name[0].Kind != Text {
			a.Name = name
		}
		args = append(args, a)
	}
}

// shown says whether the token just read is an argument of its own, and gives its type and its text. Strings are unescaped, numbers keep
// their exact text, an empty container's text is its two brackets.
func shown(d *jsontext.Decoder, tok jsontext.Token) (typ, text string, ok bool) {
	switch tok.Kind() {
	case '"':
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
			return "", "", false // a member name: it is part of the pointers below it
		}
		return "string", tok.String(), true
	case '0':
		return "number", tok.String(), true
	case 't', 'f':
		return "boolean", tok.String(), true
	case 'n':
		return "null", "null", true
	case '{':
		return "object", "{}", d.PeekKind() == '}'
	case '[':
		return "array", "[]", d.PeekKind() == ']'
	}
	return "", "", false
}

// Uninspectable reports whether the arguments hold more than a person can be shown completely.
func Uninspectable(args []Argument) bool {
	for _, a := range args {
		if a.Bytes > MaxValue {
			return true
		}
	}
	return len(args) > MaxArguments
}

// DigestOf returns "sha256:<hex>" of everything a reviewer is shown: the arguments with all their runs, and the other texts of the page.
// Every part is length-prefixed, so no two different views share a digest.
func DigestOf(args []Argument, shown ...string) string {
	h := sha256.New()
	part(h, "ostiary.view.v1")
	number(h, len(args))
	for _, a := range args {
		for _, s := range []string{a.Pointer, a.Type, a.Role, a.Origin} {
			part(h, s)
		}
		number(h, a.Bytes)
		number(h, a.Runes)
		runs(h, a.Name)
		runs(h, a.Runs)
	}
	number(h, len(shown))
	for _, s := range shown {
		part(h, s)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func runs(h hash.Hash, list []Run) {
	number(h, len(list))
	for _, r := range list {
		for _, s := range []string{r.Kind, r.Text, r.Code, r.Says} {
			part(h, s)
		}
		number(h, r.Len)
		number(h, r.At)
	}
}

func part(h hash.Hash, s string) {
	number(h, len(s))
	io.WriteString(h, s) // a hash never returns an error
}

func number(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}
