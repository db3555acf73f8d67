package view_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ostiary/queue/view"
)

func join(runs []view.Run) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(r.Text)
	}
	return b.String()
}

func quote(t interface{ Fatal(...any) }, s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHiddenCharactersBecomeChips(t *testing.T) {
	cases := map[string]struct {
		in   string
		want []view.Run
	}{
		"right-to-left override": {"a\u202Eb", []view.Run{{Kind: "text", Text: "a"}, {Kind: "bidi", Text: "\u202E", Code: "U+202E"}, {Kind: "text", Text: "b"}}},
		"zero width":             {"pay\u200B\u200Bpal", []view.Run{{Kind: "text", Text: "pay"}, {Kind: "invisible", Text: "\u200B\u200B", Code: "U+200B ×2"}, {Kind: "text", Text: "pal"}}},
		"byte order mark":        {"\uFEFFx", []view.Run{{Kind: "invisible", Text: "\uFEFF", Code: "U+FEFF"}, {Kind: "text", Text: "x"}}},
		"tag characters":         {"x\U000E0068\U000E0069", []view.Run{{Kind: "text", Text: "x"}, {Kind: "tag", Text: "\U000E0068\U000E0069", Code: "U+E0068 ×2", Says: "hi"}}},
		"variation selector":     {"a\uFE0F", []view.Run{{Kind: "text", Text: "a"}, {Kind: "variation", Text: "\uFE0F", Code: "U+FE0F"}}},
		"private use":            {"\uE000", []view.Run{{Kind: "private", Text: "\uE000", Code: "U+E000"}}},
		"null byte":              {"a\x00b", []view.Run{{Kind: "text", Text: "a"}, {Kind: "control", Text: "\x00", Code: "U+0000"}, {Kind: "text", Text: "b"}}},
		"C1":                     {"a\u0086", []view.Run{{Kind: "text", Text: "a"}, {Kind: "control", Text: "\u0086", Code: "U+0086"}}},
		"colour sequence":        {"\x1b[31mred", []view.Run{{Kind: "ansi", Text: "\x1b[31m", Code: "ESC [31m"}, {Kind: "text", Text: "red"}}},
		"terminal hyperlink":     {"\x1b]8;;u\x07t", []view.Run{{Kind: "ansi", Text: "\x1b]8;;u\x07", Code: "ESC ]8;;u<07>"}, {Kind: "text", Text: "t"}}},
		"8-bit sequence":         {"\u009b2Jx", []view.Run{{Kind: "ansi", Text: "\u009b2J", Code: "<9B>2J"}, {Kind: "text", Text: "x"}}},
		"Cyrillic in a host":     {"p\u0430y.com", []view.Run{{Kind: "text", Text: "p"}, {Kind: "confusable", Text: "\u0430", Code: "U+0430 Cyrillic"}, {Kind: "text", Text: "y.com"}}},
		"full-width letter":      {"r\uFF4D", []view.Run{{Kind: "text", Text: "r"}, {Kind: "confusable", Text: "\uFF4D", Code: "U+FF4D", Says: "m"}}},
		"line breaks":            {"a\nb\r\nc", []view.Run{{Kind: "text", Text: "a"}, {Kind: "break", Text: "\n", Code: "LF"}, {Kind: "text", Text: "b"}, {Kind: "break", Text: "\r\n", Code: "CRLF"}, {Kind: "text", Text: "c"}}},
		"flood of line breaks":   {"a\n\n\nb", []view.Run{{Kind: "text", Text: "a"}, {Kind: "break", Text: "\n\n\n", Code: "LF ×3"}, {Kind: "text", Text: "b"}}},
		"pushed out of sight":    {"ls" + strings.Repeat(" ", 40) + "; rm", []view.Run{{Kind: "text", Text: "ls"}, {Kind: "space", Text: strings.Repeat(" ", 40), Code: "U+0020 ×40"}, {Kind: "text", Text: "; rm"}}},
		"trailing space":         {"a ", []view.Run{{Kind: "text", Text: "a"}, {Kind: "space", Text: " ", Code: "U+0020"}}},
		"no-break space":         {"a\u00a0b", []view.Run{{Kind: "text", Text: "a"}, {Kind: "space", Text: "\u00a0", Code: "U+00A0"}, {Kind: "text", Text: "b"}}},
		"piled marks":            {"a\u0301\u0302\u0303\u0304b", []view.Run{{Kind: "text", Text: "a"}, {Kind: "marks", Text: "\u0301\u0302\u0303\u0304", Code: "U+0301 ×4"}, {Kind: "text", Text: "b"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, view.Runs(c.in)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestOrdinaryTextIsOneRun(t *testing.T) {
	for _, s := range []string{"Quarterly summary, 3rd draft", "naïve café", "Привет, мир", "请查看report.pdf文件", "日本語テキスト", "e\u0301te", "Größe: 10 µm", "한국어 OK"} {
		if got := view.Runs(s); len(got) != 1 || got[0].Kind != view.Text {
			t.Errorf("%q: got %v, want one text run", s, got)
		}
	}
}

func TestEveryKeyAndEmptyContainerIsShown(t *testing.T) {
	args, err := view.Arguments([]byte(`{"a":{},"b":[],"c\u202e":{"d/e":[1.0,null,true,9007199254740993]},"":""}`), func(p string) (string, string) {
		if p == "/b" {
			return "path", "untrusted"
		}
		return "", ""
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range args {
		got = append(got, a.Pointer+" "+a.Type+" "+join(a.Runs))
	}
	want := []string{"/a object {}", "/b array []", "/c\u202e/d~1e/0 number 1.0", "/c\u202e/d~1e/1 null null", "/c\u202e/d~1e/2 boolean true", "/c\u202e/d~1e/3 number 9007199254740993", "/ string "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if args[1].Role != "path" || args[1].Origin != "untrusted" {
		t.Errorf("facts of /b were lost: %+v", args[1])
	}
	if join(args[2].Name) != args[2].Pointer || args[0].Name != nil {
		t.Errorf("only the odd pointer carries runs: %v, %v", args[2].Name, args[0].Name)
	}
}

func TestNotStrictJSONIsRefused(t *testing.T) {
	for _, raw := range []string{`{"a":1,"a":2}`, `{`, ``, `{"a":1e400}`, "{\"a\":\"\xff\"}"} {
		if _, err := view.Arguments([]byte(raw), nil); err == nil {
			t.Errorf("%q was accepted", raw)
		}
	}
}

func TestAnyStringDecodesBackToItsBytes(t *testing.T) {
	alphabet := []rune("ab \t\n\r\x00\x1b[]m;\x07\u0085\u009b\u00a0\u0301\u0430\u03b1\u200b\u200d\u202e\u2066\ufe0f\ufeff\uff4d\ue000\U000e0041\U000e0100\U0001f600\U00010ffff")
	for range 100 { // rapid checks 100 cases per call unless told otherwise by a flag
		rapid.Check(t, func(t *rapid.T) {
			s := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom(alphabet))).Draw(t, "s")
			s = strings.ToValidUTF8(s, "")
			args, err := view.Arguments(quote(t, s), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(args) != 1 || join(args[0].Runs) != s || args[0].Bytes != len(s) || args[0].Runes != utf8.RuneCountInString(s) {
				t.Fatalf("%q became %+v", s, args)
			}
		})
	}
}

func TestTextRunsHoldNothingHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range view.Runs(rapid.String().Draw(t, "s")) {
			if r.Kind != view.Text && r.Code == "" {
				t.Fatalf("chip without a code: %+v", r)
			}
			if r.Kind == view.Text && strings.ContainsAny(r.Text, "\x00\x1b\n\t\u200b\u202e\ufeff\u00ad") {
				t.Fatalf("hidden character in text: %q", r.Text)
			}
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":"\u202e"}`, `[[],{}]`, `"\u001b[31m"`, `{"é":[1,2.50,"x"]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := view.Arguments(raw, nil)
		if err != nil {
			return
		}
		for _, a := range args {
			if len(join(a.Runs)) != a.Bytes {
				t.Fatalf("%s: %d bytes shown of %d", a.Pointer, len(join(a.Runs)), a.Bytes)
			}
			if a.Name != nil && join(a.Name) != a.Pointer {
				t.Fatalf("name %q of %q", join(a.Name), a.Pointer)
			}
		}
	})
}

func TestMaskedBytesAreGoneAndTheRestStays(t *testing.T) {
	args, err := view.Arguments([]byte(`{"h":"Bearer s3cr\u200bet done"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := view.Mask(args, map[string][][2]int{"/h": {{7, 16}, {10, 12}}})
	want := []view.Run{{Kind: "text", Text: "Bearer "}, {Kind: "secret", At: 7, Len: 9}, {Kind: "text", Text: " done"}}
	if diff := cmp.Diff(want, got[0].Runs); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !got[0].Masked() || args[0].Masked() {
		t.Error("masking must mark the copy and leave the original alone")
	}
}

func TestMaskNeverShowsACoveredByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		a := rapid.IntRange(-3, len(s)+3).Draw(t, "a")
		b := rapid.IntRange(-3, len(s)+3).Draw(t, "b")
		args := []view.Argument{{Pointer: "/x", Bytes: len(s), Runs: view.Runs(s)}}
		at := 0
		for _, r := range view.Mask(args, map[string][][2]int{"/x": {{a, b}}})[0].Runs {
			size := len(r.Text)
			if r.Kind == view.Secret {
				if r.At != at || r.Text != "" {
					t.Fatalf("secret at %d says %+v", at, r)
				}
				size = r.Len
			} else if at < b && at+size > a && a < b && size > 0 {
				t.Fatalf("bytes %d–%d of %q are shown", at, at+size, s)
			}
			at += size
		}
		if at != len(s) {
			t.Fatalf("%d bytes accounted for of %d", at, len(s))
		}
	})
}

func TestDigestCoversEverythingShown(t *testing.T) {
	base := []view.Argument{{Pointer: "/a", Type: "string", Bytes: 1, Runes: 1, Runs: []view.Run{{Kind: "text", Text: "x"}}}}
	seen := map[string]string{}
	for name, d := range map[string]string{
		"base":         view.DigestOf(base, "s"),
		"other text":   view.DigestOf(base, "t"),
		"split texts":  view.DigestOf(base, "s", ""),
		"no arguments": view.DigestOf(nil, "s"),
		"masked":       view.DigestOf(view.Mask(base, map[string][][2]int{"/a": {{0, 1}}}), "s"),
		"other origin": view.DigestOf([]view.Argument{{Pointer: "/a", Type: "string", Origin: "user", Bytes: 1, Runes: 1, Runs: base[0].Runs}}, "s"),
	} {
		if other, dup := seen[d]; dup {
			t.Errorf("%s and %s share a digest", name, other)
		}
		seen[d] = name
	}
	if seen[view.DigestOf(base, "s")] != "base" {
		t.Error("the digest is not stable")
	}
}

func TestHugeValuesAreUninspectable(t *testing.T) {
	small, _ := view.Arguments(quote(t, "x"), nil)
	huge, _ := view.Arguments(quote(t, strings.Repeat("x", view.MaxValue+1)), nil)
	if view.Uninspectable(small) || !view.Uninspectable(huge) || !view.Uninspectable(make([]view.Argument, view.MaxArguments+1)) {
		t.Error("the limits do not hold")
	}
}

// hostile texts are long and of marks, escapes or mixed scripts only.
var hostile = []string{strings.Repeat("\u0301", 200_000), strings.Repeat("\x1b]", 200_000), strings.Repeat(" a", 200_000), strings.Repeat("\u0430a", 100_000)}

func TestLongHostileTextLosesNoByte(t *testing.T) {
	for _, s := range hostile {
		if join(view.Runs(s)) != s {
			t.Errorf("%.4q…: bytes were lost", s)
		}
	}
}

func BenchmarkRunsOfHostileText(b *testing.B) {
	for _, s := range hostile {
		b.Run(strconv.QuoteToASCII(s[:4]), func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				view.Runs(s)
			}
		})
	}
}
