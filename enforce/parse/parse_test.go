package parse_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ostiary"
	"ostiary/enforce/parse"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

func TestEveryPathAndHostIsFound(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	for name, c := range map[string]struct {
		args  string
		paths []string
		hosts []string
	}{
		"a path":                     {`{"path":"/a/./b/../c"}`, []string{"/a/c"}, nil},
		"a bare name by its role":    {`{"file":"notes"}`, []string{"/work/notes"}, nil},
		"a bare name of no role":     {`{"x":"notes"}`, nil, nil},
		"a name with a space":        {`{"path":"/a/my file"}`, []string{"/a/my", "/a/my file"}, nil},
		"home":                       {`{"x":["~","~/a","~bob/a"]}`, []string{"/home/ann", "/home/ann/a", "/work/~bob/a"}, nil},
		"home by its variable":       {`{"x":"a $HOME/b ${HOME}/c"}`, []string{"/home/ann/b", "/home/ann/c"}, nil},
		"dots":                       {`{"x":"cat ../a ./b .c"}`, []string{"/a", "/work/.c", "/work/b"}, nil},
		"a command":                  {`{"command":"a;b /x|c>/y&&d </z"}`, []string{"/x", "/y", "/z"}, nil},
		"past the root":              {`{"x":"/../../etc"}`, []string{"/etc"}, nil},
		"a URL":                      {`{"url":"https://User@Example.COM:8080/x"}`, []string{"/8080/x", "/User@Example.COM"}, []string{"example.com"}},
		"URLs in a command":          {`{"command":"curl -o - 'https://a.example/x' http://b.example"}`, nil, []string{"a.example", "b.example"}},
		"an IPv6 host":               {`{"x":"http://[::1]:80/"}`, nil, []string{"::1"}},
		"numbers, booleans and null": {`{"path":7,"file":null,"dir":true}`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			leaves, err := strictjson.Leaves([]byte(c.args))
			if err != nil {
				t.Fatal(err)
			}
			got, err := parse.Arguments(tool.Name{}, leaves, tool.RoleOf, "/work")
			if err != nil {
				t.Fatal(err)
			}
			if c.hosts == nil && !slices.Equal(got.Paths, c.paths) {
				t.Errorf("paths %q, want %q", got.Paths, c.paths)
			}
			if len(c.hosts) > 0 && !slices.Equal(got.Hosts, c.hosts) {
				t.Errorf("hosts %q, want %q", got.Hosts, c.hosts)
			}
			if got.Paths == nil || got.Hosts == nil {
				t.Error("lists must not be nil: policies read them")
			}
		})
	}
}

func TestNoPathIsHiddenAmongOthers(t *testing.T) {
	var many, few strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&many, " /tmp/%d", i)
		few.WriteString(" /tmp/same")
	}
	for name, c := range map[string]struct {
		args string
		ok   bool
	}{
		"in a command":                   {`{"command":"ls` + many.String() + ` /keys"}`, false},
		"in a list":                      {`{"args":["` + strings.ReplaceAll(strings.TrimSpace(many.String()), " ", `","`) + `","/keys"]}`, false},
		"repeated ones are one":          {`{"command":"ls` + few.String() + ` /keys"}`, true},
		"a document does not crowd out":  {`{"content":"` + many.String() + `","path":"/keys"}`, true},
		"whatever the order they are in": {`{"a":"/keys","content":"` + many.String() + `"}`, true},
	} {
		leaves, err := strictjson.Leaves([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse.Arguments(tool.Name{}, leaves, tool.RoleOf, "/")
		if c.ok != (err == nil) || c.ok && !slices.Contains(got.Paths, "/keys") {
			t.Errorf("%s: %v with %d paths", name, err, len(got.Paths))
		}
		if !c.ok && ostiary.KindOf(err) != ostiary.KindInvalidField {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzArguments holds that nothing panics and that every path that policies see is absolute and clean.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"path":"~/../x"}`, `{"command":"cat $HOME/a;ls //b"}`, `{"url":"http://[::1]/%zz"}`, `{"x":["..","./..",".",""]}`, `{"content":"a/b\u0000c"}`} {
		f.Add([]byte(s), "/work")
	}
	f.Fuzz(func(t *testing.T, args []byte, cwd string) {
		if strictjson.Check(args) != nil || !filepath.IsAbs(cwd) {
			return
		}
		leaves, err := strictjson.Leaves(args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse.Arguments(tool.Name{}, leaves, tool.RoleOf, cwd)
		if err != nil {
			return
		}
		for _, p := range got.Paths {
			if !filepath.IsAbs(p) || filepath.Clean(p) != p {
				t.Fatalf("path %q of %s", p, args)
			}
		}
	})
}
