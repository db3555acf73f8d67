package document

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ostiary/internal/strictjson"
)

// FuzzBelow holds the search in raw arguments against a decoder that takes them apart.
func FuzzBelow(f *testing.F) {
	f.Add(`{"a":{"b":1}}`, "a", "b")
	f.Add(`{"a":[{"b":1}],"":{"":null}}`, "", "")
	f.Add(`{"\u0061":{"b":"\u00e9"}}`, "a", "b")
	f.Fuzz(func(t *testing.T, doc, first, second string) {
		if _, err := strictjson.Canonical([]byte(doc)); err != nil {
			return
		}
		var at any
		dec := json.NewDecoder(strings.NewReader(doc))
		dec.UseNumber()
		if err := dec.Decode(&at); err != nil {
			return
		}
		found := true
		for _, name := range []string{first, second} {
			object, ok := at.(map[string]any)
			if at, found = object[name]; !ok || !found {
				found = false
				break
			}
		}
		got, ok := below([]byte(doc), []string{first, second})
		if ok != found {
			t.Fatalf("found %v, want %v", ok, found)
		}
		if !found {
			return
		}
		want, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
