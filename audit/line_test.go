package audit

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fill gives a field of an event a value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2026, 1, 2, 3, 4, 5, 60_000, time.UTC)
	case *jsontext.Value:
		*x = jsontext.Value("{ \"a\" : \"\\u00e9\" ,\n\"n\":1.0}")
	case *[]string:
		*x = []string{"a", "b \"c\" <d>"}
	case *map[string]int:
		*x = map[string]int{"b": 2, "a": 1}
	case *uint64:
		*x = 7
	case *int:
		*x = 8
	case *int64:
		*x = 9
	default:
		if v.Kind() != reflect.String {
			t.Fatalf("a field of a type that this test does not know: %s", v.Type())
		}
		v.SetString("a\n\u2028\"" + v.Type().Name())
	}
}

func TestAnEventIsWrittenAsItsTagsSay(t *testing.T) {
	events, full := []Event{{}}, Event{}
	for i := range reflect.TypeFor[Event]().NumField() {
		one := Event{}
		fill(t, reflect.ValueOf(&one).Elem().Field(i))
		fill(t, reflect.ValueOf(&full).Elem().Field(i))
		events = append(events, one)
	}
	for _, e := range append(events, full) {
		want, err := json.Marshal(e, json.Deterministic(true), jsontext.PreserveRawStrings(true))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.line(); err != nil || string(got) != string(want)+"\n" {
			t.Errorf("got  %s%v\nwant %s", got, err, want)
		}
	}
	if _, err := (&Event{Reason: "\xff"}).line(); err == nil {
		t.Error("a string that is no UTF-8 was written")
	}
}
