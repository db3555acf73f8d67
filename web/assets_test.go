package web_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary"
	"ostiary/web"
)

func TestFirstLoadIsSmall(t *testing.T) {
	b := open(t)
	_, page := b.call(t, "GET", "/login", "")
	total := 0
	for _, path := range append(regexp.MustCompile(`/assets/[^"]+`).FindAllString(page, -1), "/login") {
		res, body := b.call(t, "GET", path, "", "Accept-Encoding", "gzip")
		if res.StatusCode != 200 || res.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %d %s", path, res.StatusCode, res.Header.Get("Content-Encoding"))
		}
		total += len(body)
	}
	if t.Logf("first load: %d bytes", total); total > 60<<10 {
		t.Errorf("the first load is %d bytes, want at most 60 KiB", total)
	}
}

func TestPageHasNoInlineScriptOrStyle(t *testing.T) {
	page, err := os.ReadFile("dist/index.html")
	if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`(?i)<style|style=|\son\w+=|<script>|javascript:|https?:`).Match(page) {
		t.Errorf("%s", page)
	}
}

func catalogue(t *testing.T, language string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("ui/src/messages/" + language + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var words map[string]string
	if err := json.Unmarshal(raw, &words); err != nil {
		t.Fatal(err)
	}
	return words
}

func TestBothLanguagesSayEverything(t *testing.T) {
	en, zh := catalogue(t, "en"), catalogue(t, "zh")
	holes := func(s string) []string {
		found := regexp.MustCompile(`\{\w+\}`).FindAllString(s, -1)
		slices.Sort(found)
		return found
	}
	for _, key := range slices.Sorted(maps.Keys(en)) {
		if zh[key] == "" || en[key] == "" || !slices.Equal(holes(en[key]), holes(zh[key])) {
			t.Errorf("%s: %q and %q", key, en[key], zh[key])
		}
	}
	if len(en) != len(zh) {
		t.Errorf("%d words in English, %d in Chinese", len(en), len(zh))
	}
}

func TestEveryWordIsUsed(t *testing.T) {
	var source strings.Builder
	files, err := filepath.Glob("ui/src/*.ts*")
	if err != nil || len(files) == 0 {
		t.Fatal("no source", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(b)
	}
	for key := range catalogue(t, "en") {
		group, _, _ := strings.Cut(key, ".")
		byGroup := strings.Contains(source.String(), "word('"+group+"'") || strings.Contains(source.String(), "`"+group+".${")
		if !byGroup && !strings.Contains(source.String(), "'"+key+"'") {
			t.Errorf("%s is never shown", key)
		}
	}
}

func TestUntrustedTextIsNeverMarkup(t *testing.T) {
	files, err := filepath.Glob("ui/src/*.ts*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|\beval\(|new Function|srcdoc`).Find(b); m != nil {
			t.Errorf("%s uses %s", f, m)
		}
	}
}

func TestLoginURLNeedsSomebodyToSignIn(t *testing.T) {
	b := open(t)
	if !strings.HasPrefix(b.console.LoginURL("http://127.0.0.1:7071"), "http://127.0.0.1:7071/login?code=") {
		t.Error("no login link")
	}
	res, body := b.call(t, "POST", "/login", `{"code":""}`)
	want(t, res, body, 401, ostiary.KindUnauthorized)
	if web.CookieName != "__Host-ostiary" {
		t.Error(web.CookieName)
	}
}
