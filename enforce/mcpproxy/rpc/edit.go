package rpc

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Replace returns doc, which is one value, with the strings that now names for their place; all other bytes stay.
func Replace(doc []byte, now func(jsontext.Pointer, jsontext.Value) jsontext.Value) (jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(doc))
	var out []byte
	mark := 0
	for {
		container, n := d.StackIndex(d.StackDepth())
		if d.PeekKind() != '"' || container == '{' && n%2 == 0 { // the rest, or a member's name
			if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
				return append(out, doc[mark:]...), nil
			} else if err != nil {
				return nil, err
			}
			continue
		}
		was, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		if value := now(d.StackPointer(), was); value != nil {
			out = append(append(out, doc[mark:end-len(was)]...), value...)
			mark = end
		}
	}
}

var errShape = errors.New("the two have not the same shape")

// Splice returns was, which is one value, with the strings that now has in their place; all other bytes stay. Cleaning changes strings only, so a value of
// another shape is none that was cleaned.
func Splice(was, now []byte) ([]byte, error) {
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
