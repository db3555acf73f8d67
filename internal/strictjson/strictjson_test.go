package strictjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"ostiary"
	"ostiary/internal/strictjson"
)

func TestCheckNamesWhyADocumentIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		doc  string
		kind ostiary.Kind
	}{
		"duplicate key":         {`{"a":1,"a":2}`, ostiary.KindDuplicateKey},
		"duplicate deep inside": {`{"x":[{"a":1,"a":2}]}`, ostiary.KindDuplicateKey},
		"duplicate by escape":   {`{"a":1,"\u0061":2}`, ostiary.KindDuplicateKey},
		"invalid UTF-8":         {"{\"a\":\"\xff\"}", ostiary.KindInvalidUTF8},
		"lone surrogate":        {`{"a":"\ud800"}`, ostiary.KindInvalidUTF8},
		"trailing data":         {`{} {}`, ostiary.KindTrailingData},
		"trailing garbage":      {`{}x`, ostiary.KindTrailingData},
		"empty":                 {``, ostiary.KindMalformedJSON},
		"cut short":             {`{"a":`, ostiary.KindMalformedJSON},
		"infinite number":       {`{"a":1e400}`, ostiary.KindUnsafeNumber},
		"vanishing number":      {`{"a":1e-400}`, ostiary.KindUnsafeNumber},
		"too deep":              {strings.Repeat("[", 65) + strings.Repeat("]", 65), ostiary.KindTooDeep},
		"too many keys":         {manyKeys(10_001), ostiary.KindTooManyKeys},
		"long name":             {`{"` + strings.Repeat("n", 1025) + `":1}`, ostiary.KindInvalidField},
	} {
		t.Run(name, func(t *testing.T) {
			if err := strictjson.Check([]byte(c.doc)); ostiary.KindOf(err) != c.kind {
				t.Errorf("got %v, want %s", err, c.kind)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"k`)
		b.WriteString(strings.Repeat("x", i%7))
		b.WriteString(json.Number(strings.TrimSpace(string(appendInt(nil, i)))).String())
		b.WriteString(`":1`)
	}
	return b.String() + "}"
}

func appendInt(b []byte, n int) []byte {
	raw, _ := json.Marshal(n)
	return append(b, raw...)
}

func TestWhatTheLimitsAllowIsRead(t *testing.T) {
	for _, doc := range []string{strings.Repeat("[", 64) + strings.Repeat("]", 64), manyKeys(10_000), `0.0`, `-0`, `123456789012345678901234567890`, `"\ud83d\ude00"`} {
		if err := strictjson.Check([]byte(doc)); err != nil {
			t.Errorf("%.40s: %v", doc, err)
		}
	}
}

func TestDecodeRefusesMembersNobodyNamed(t *testing.T) {
	var v struct {
		A int `json:"a"`
	}
	for doc, kind := range map[string]ostiary.Kind{
		`{"a":1,"b":2}`: ostiary.KindUnknownField, `{"A":1}`: ostiary.KindUnknownField, `{"a":"x"}`: ostiary.KindInvalidField, `{"a":1}`: "",
	} {
		if err := strictjson.Decode([]byte(doc), &v); ostiary.KindOf(err) != kind {
			t.Errorf("%s: got %v, want %q", doc, err, kind)
		}
	}
}

func TestCanonicalFormFollowsTheContract(t *testing.T) {
	for doc, want := range map[string]string{
		`{ "b":1, "a":[ true , null ] }`: `{"a":[true,null],"b":1}`,
		`{"n":1.0}`:                      `{"n":1.0}`,
		`{"n":9007199254740993}`:         `{"n":9007199254740993}`,
		`{"s":"\u0041\/\n\u00e9"}`:       `{"s":"A/\u000aé"}`,
		`{"é":1,"z":2,"😀":3}`:            `{"z":2,"é":1,"😀":3}`,
		`"e\u0301"`:                      "\"e\u0301\"",
		`{}`:                             `{}`,
		`[]`:                             `[]`,
	} {
		got, err := strictjson.Canonical([]byte(doc))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", doc, got, err, want)
		}
	}
}

func TestValuesThatDifferHaveDifferentCanonicalForms(t *testing.T) {
	docs := []string{`1`, `1.0`, `1e0`, `"1"`, `null`, `{"a":null}`, `{}`, `""`, `{"a":""}`, `9007199254740993`, `9007199254740992`, `"é"`, "\"e\u0301\""}
	seen := map[string]string{}
	for _, doc := range docs {
		c, err := strictjson.Canonical([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[string(c)]; twice {
			t.Errorf("%s and %s have one canonical form", doc, other)
		}
		seen[string(c)] = doc
	}
}

func TestCanonicalFormIsStableUnderWhiteSpaceAndKeyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.Map(rapid.String(), any2), rapid.Map(rapid.Int64(), any2))).Draw(rt, "m")
		plain, err := json.Marshal(m)
		if err != nil {
			rt.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, plain, " ", "\t"); err != nil {
			rt.Fatal(err)
		}
		a, errA := strictjson.Canonical(plain)
		b, errB := strictjson.Canonical(spaced.Bytes())
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			rt.Fatalf("%s (%v) and %s (%v)", a, errA, b, errB)
		}
		again, err := strictjson.Canonical(a)
		if err != nil || !bytes.Equal(again, a) {
			rt.Fatalf("the canonical form of %s is %s, %v", a, again, err)
		}
	})
}

func any2[T any](v T) any { return v }

func TestLeavesNameEveryScalarByItsPlace(t *testing.T) {
	leaves, err := strictjson.Leaves([]byte(`{"a":{"b/c":["x",2,true,null]},"":"y"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []strictjson.Leaf{{"/a/b~1c/0", '"', "x"}, {"/a/b~1c/1", '0', "2"}, {"/a/b~1c/2", 't', "true"}, {"/a/b~1c/3", 'n', "null"}, {"/", '"', "y"}}
	if len(leaves) != len(want) {
		t.Fatalf("got %v", leaves)
	}
	for i := range want {
		if leaves[i] != want[i] {
			t.Errorf("leaf %d: got %v, want %v", i, leaves[i], want[i])
		}
	}
}

// What Check lets through, an independent parser reads as the same value.
func FuzzCheckAgreesWithAnotherParser(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x",null,true]}`, `{"a":1,"a":2}`, `"\ud800"`, `1e400`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if strictjson.Check(doc) != nil {
			return
		}
		if !json.Valid(doc) {
			t.Fatalf("%q was let through", doc)
		}
		c, err := strictjson.Canonical(doc)
		if err != nil {
			t.Fatalf("%q has no canonical form: %v", doc, err)
		}
		if !jsontext.Value(c).IsValid() {
			t.Fatalf("%q became %q", doc, c)
		}
	})
}

func FuzzDecodeRefusesWhatCheckRefuses(f *testing.F) {
	for _, s := range []string{
		`{"raw":[1,2.5,"x",null,true]}`, `{"raw":{"a":1,"a":2}}`, `{"raw":"\ud800"}`, `{"raw":1e400}`, `{"raw":-0.0e-9}`, `{"raw":1} `, `{"raw":1}x`, `{"raw":[}`, `{"raw":1,"\u0072aw":2}`,
		`{"raw":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, `{"raw":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, `{"raw":` + strings.Repeat("9", 400) + `}`,
		`{"raw":` + manyKeys(9_999) + `}`, `{"raw":` + manyKeys(10_000) + `}`, `{"raw":{"` + strings.Repeat("n", 1025) + `":1}}`, "{\"raw\":\"\xff\"}", `{"raw":"\\":1}`, ``, `{"raw":"` + strings.Repeat("v", 2000) + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var raw struct {
			Raw jsontext.Value `json:"raw"`
		}
		var whole jsontext.Value
		checked := strictjson.Check(doc)
		if err := strictjson.Decode(doc, &whole); (err == nil) != (checked == nil) || ostiary.KindOf(err) != ostiary.KindOf(checked) {
			t.Fatalf("%q: decoded %v, checked %v", doc, err, checked)
		}
		if strictjson.Decode(doc, &raw) == nil && checked != nil {
			t.Fatalf("%q was decoded, but %v", doc, checked)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	doc := []byte(`{"session_id":"s-42","tool":{"namespace":"files","name":"read"},"input":{"path":"/repo/a.txt","limit":20}}`)
	for b.Loop() {
		var v struct {
			SessionID string            `json:"session_id"`
			Tool      map[string]string `json:"tool"`
			Input     jsontext.Value    `json:"input"`
		}
		if err := strictjson.Decode(doc, &v); err != nil {
			b.Fatal(err)
		}
	}
}
