// Package jsonobject writes a JSON object member by member, for the two documents of every call: finding their members by reflection takes
// several times longer.
package jsonobject

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object that is being written. Names are written as they are given, so they must need no escape. What cannot be written,
// such as a string that is no UTF-8, is reported by End. The zero Object is not ready for use.
type Object struct {
	buf []byte
	err error
}

// Append begins an object behind what stands in buf.
func Append(buf []byte) *Object { return &Object{buf: append(buf, '{')} }

// End ends the object and returns all that was written.
func (o *Object) End() ([]byte, error) { return append(o.buf, '}'), o.err }

func (o *Object) name(name string) {
	if o.buf[len(o.buf)-1] != '{' {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(append(append(o.buf, '"'), name...), '"', ':')
}

func (o *Object) quote(text string) {
	buf, err := jsontext.AppendQuote(o.buf, text)
	if err != nil {
		o.err = err
	}
	o.buf = buf
}

// Text writes a string.
func (o *Object) Text(name, value string) {
	o.name(name)
	o.quote(value)
}

// Texts writes an array of strings, which is never null.
func (o *Object) Texts(name string, values []string) {
	o.name(name)
	o.buf = append(o.buf, '[')
	for i, v := range values {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.quote(v)
	}
	o.buf = append(o.buf, ']')
}

// Int writes a number.
func (o *Object) Int(name string, n int64) {
	o.name(name)
	o.buf = strconv.AppendInt(o.buf, n, 10)
}

// Bool writes true or false.
func (o *Object) Bool(name string, v bool) {
	o.name(name)
	o.buf = strconv.AppendBool(o.buf, v)
}

// Time writes a time as RFC 3339 does, with as many digits of the second as it has.
func (o *Object) Time(name string, t time.Time) {
	o.name(name)
	buf, err := t.AppendText(append(o.buf, '"'))
	if err != nil {
		o.err = err
	}
	o.buf = append(buf, '"')
}

// Value writes a value that is JSON already, without white space; null where there is none. Strings in it keep their escapes.
func (o *Object) Value(name string, value jsontext.Value) {
	o.name(name)
	if len(value) == 0 {
		o.buf = append(o.buf, "null"...)
		return
	}
	buf, err := jsontext.AppendFormat(o.buf, value, jsontext.PreserveRawStrings(true))
	if err != nil {
		o.err = err
	}
	o.buf = buf
}

// Objects writes an array of n objects, which each fills in.
func (o *Object) Objects(name string, n int, each func(i int, o *Object)) {
	o.name(name)
	o.buf = append(o.buf, '[')
	for i := range n {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.buf = append(o.buf, '{')
		each(i, o)
		o.buf = append(o.buf, '}')
	}
	o.buf = append(o.buf, ']')
}
