package wire_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ostiary/enforce/wire"
)

// fill gives every field of a struct a value of its own.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)))
		return
	case jsontext.Value:
		v.SetBytes([]byte(`{ "a/b" : "\u00e9\n<x>" , "n" : [1.0, 12345678901234567890] }`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("“a” \"b\" <c> \\ \u2028 " + v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic("a kind that this test does not know: " + v.Kind().String())
	}
}

func TestADecisionIsWrittenAsItsTagsSay(t *testing.T) {
	full := wire.Decision{}
	fill(reflect.ValueOf(&full).Elem())
	decisions := []wire.Decision{{}, full}
	for i := range reflect.TypeFor[wire.Decision]().NumField() {
		one := wire.Decision{}
		fill(reflect.ValueOf(&one).Elem().Field(i))
		decisions = append(decisions, one)
	}
	for _, d := range decisions {
		want, err := json.Marshal(d, jsontext.PreserveRawStrings(true), json.FormatNilSliceAsNull(false))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.JSON(); err != nil || string(got) != string(want) {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	if _, err := (&wire.Decision{Reason: "\xff"}).JSON(); err == nil {
		t.Error("a string that is no UTF-8 was written")
	}
	if _, err := (&wire.Decision{UpdatedInput: jsontext.Value(`{"a":`)}).JSON(); err == nil {
		t.Error("a value that is no JSON was written")
	}
}
