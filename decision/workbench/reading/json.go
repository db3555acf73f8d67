package reading

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Elements are those of a list; nil for what is none.
func Elements(list Value) []Value {
	var out []Value
	if list.Kind() != '[' || json.Unmarshal(list, &out) != nil {
		return nil
	}
	return out
}

// Members are those of an object; nil for what is none.
func Members(object Value) map[string]Value {
	out := map[string]Value{}
	if object.Kind() != '{' || json.Unmarshal(object, &out) != nil {
		return nil
	}
	return out
}

// List is a list of values.
func List(elements []Value) Value {
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = string(e)
	}
	return Value("[" + strings.Join(texts, ",") + "]")
}

// SameSet reports whether two lists hold the same elements.
func SameSet(a, b Value) bool {
	has := func(list []Value) func(Value) bool {
		return func(v Value) bool {
			return !slices.ContainsFunc(list, func(x Value) bool { return string(x) == string(v) })
		}
	}
	x, y := Elements(a), Elements(b)
	return b.Kind() == '[' && !slices.ContainsFunc(x, has(y)) && !slices.ContainsFunc(y, has(x))
}
