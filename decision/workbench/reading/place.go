package reading

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/decision"
)

// Value is a JSON value; nil is an absent one.
type Value = jsontext.Value

// Text writes a place with dots.
func Text(path []string) string { return strings.Join(path, ".") }

// Get reads the place of an input document; it is nil when nothing is there.
func Get(in *decision.Input, path []string) Value {
	if path[0] == "args" {
		return getRaw(in.Args, path[1:])
	}
	v := reflect.ValueOf(in).Elem()
	optional := false
	for _, name := range path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return nil
		}
		if v, optional = fieldOf(v, name); !v.IsValid() {
			return nil
		}
	}
	if optional && v.IsZero() {
		return nil
	}
	raw, err := json.Marshal(v.Interface(), json.Deterministic(true))
	if err != nil {
		return nil
	}
	return raw
}

// fieldOf finds a field by its name in JSON, and whether its zero value is left out.
func fieldOf(v reflect.Value, name string) (reflect.Value, bool) {
	for i := range v.NumField() {
		tag, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if tag == name {
			return v.Field(i), strings.Contains(options, "omitempty")
		}
	}
	return reflect.Value{}, false
}

// Put gives an input document another value at a place, and nil takes away what is there. What the document shares with others is not
// touched. A part that may be absent goes as a whole.
func Put(in *decision.Input, path []string, value Value) error {
	if path[0] == "args" {
		raw, err := PutRaw(in.Args, path[1:], value)
		in.Args = raw
		return err
	}
	v := reflect.ValueOf(in).Elem()
	for _, name := range path {
		if v.Kind() == reflect.Pointer {
			if value == nil {
				v.SetZero()
				return nil
			}
			own := reflect.New(v.Type().Elem())
			if !v.IsNil() {
				own.Elem().Set(v.Elem())
			}
			v.Set(own)
			v = own.Elem()
		}
		if v, _ = fieldOf(v, name); !v.IsValid() {
			return unknownField(path)
		}
	}
	if value == nil {
		v.SetZero()
		return nil
	}
	own := reflect.New(v.Type())
	if err := json.Unmarshal(value, own.Interface(), json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	v.Set(own.Elem())
	return nil
}

// typeOf is the type of a place outside the arguments; nil when there is no such place.
func typeOf(path []string) reflect.Type {
	t := reflect.TypeFor[decision.Input]()
	for _, name := range path {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
		v, _ := fieldOf(reflect.New(t).Elem(), name)
		if !v.IsValid() {
			return nil
		}
		t = v.Type()
	}
	return t
}

func getRaw(doc Value, path []string) Value {
	if len(doc) == 0 {
		doc = Value("{}")
	}
	for _, name := range path {
		members := map[string]Value{}
		if doc.Kind() != '{' || json.Unmarshal(doc, &members) != nil {
			return nil
		}
		below, ok := members[name]
		if !ok {
			return nil
		}
		doc = below
	}
	return doc
}

// PutRaw gives a JSON object another value at a place below it, or takes it away.
func PutRaw(doc Value, path []string, value Value) (Value, error) {
	if len(path) == 0 {
		return value, nil
	}
	members := map[string]Value{}
	if doc.Kind() == '{' {
		if err := json.Unmarshal(doc, &members); err != nil {
			return doc, err
		}
	} else if value == nil {
		return doc, nil // there is nothing to take away
	}
	below, err := PutRaw(members[path[0]], path[1:], value)
	if err != nil {
		return doc, err
	}
	if members[path[0]] = below; below == nil {
		delete(members, path[0])
	}
	return json.Marshal(members, json.Deterministic(true))
}

// Quote is a text as a value.
func Quote(s string) Value {
	raw, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return Value(`""`)
	}
	return raw
}

// Show writes a value for people.
func Show(v Value) string {
	if v == nil {
		return "absent"
	}
	return string(v)
}

func unknownField(path []string) error {
	return ostiary.Errorf(ostiary.KindUnknownField, "the input document has no field %s", Text(path)).WithFix("docs/policies.md lists the fields")
}

// Known reports whether the input document has such a place.
func Known(path []string) bool {
	return len(path) > 0 && (path[0] == "args" || typeOf(path) != nil && typeOf(path).Kind() != reflect.Struct)
}
