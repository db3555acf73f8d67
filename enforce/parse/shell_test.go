package parse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary/decision"
	"ostiary/enforce/parse"
	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// arguments parses the arguments of a tool.
func arguments(t *testing.T, of tool.Name, args string) decision.Parsed {
	t.Helper()
	leaves, err := strictjson.Leaves([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse.Arguments(of, leaves, tool.RoleOf, "/work")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func script(t *testing.T, text string) decision.Parsed {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		t.Fatal(err)
	}
	return arguments(t, tool.Name{}, string(args))
}

// line writes a command as: via:name arg arg >path, with ? for what is not constant and ! for dynamic.
func line(c decision.Command) string {
	show := func(s string) string {
		if s == "" {
			return "?"
		}
		return s
	}
	out := []string{c.Via + ":" + show(c.Name)}
	for _, a := range c.Args {
		out = append(out, show(a))
	}
	for _, r := range c.Redirects {
		out = append(out, r.Op+show(r.Path))
	}
	if c.Dynamic {
		out = append(out, "!")
	}
	return strings.Join(out, " ")
}

func TestWhatAShellCommandRunsIsFound(t *testing.T) {
	for text, want := range map[string][]string{
		"git status":                               {"plain:git status"},
		"/usr/bin/rm -rf 'a b' \"c\"\\ d":          {"plain:rm -rf a b c d"},
		"a && b || c; d &":                         {"plain:a", "plain:b", "plain:c", "plain:d"},
		"a | b |& c":                               {"plain:a", "pipe:b", "pipe:c"},
		"echo $(rm x) `rm y`":                      {"substitution:rm x", "substitution:rm y", "plain:echo ? ?"},
		"diff <(a) >(b)":                           {"substitution:a", "substitution:b", "plain:diff ? ?"},
		"X=$(rm x)":                                {"substitution:rm x"},
		"for i in $(a); do rm $i; done":            {"substitution:a", "plain:rm ?"},
		"if a; then b; elif c; then d; else e; fi": {"plain:a", "plain:b", "plain:c", "plain:d", "plain:e"},
		"while a; do b; done < f":                  {"plain:a <f", "plain:b <f"},
		"case $x in a) b;; *) c;; esac":            {"plain:b", "plain:c"},
		"f() { rm x; }; f":                         {"plain:rm x", "plain:f"},
		"(a; { b; }) > f":                          {"plain:a >f", "plain:b >f"},
		"[[ -n $(a) ]] && (( $(b) > 1 ))":          {"substitution:a", "substitution:b"},
		"export X=$(a)":                            {"substitution:a"},
		"time rm x":                                {"plain:rm x"},
		"! rm x":                                   {"plain:rm x"},
		"sh -c 'rm x; rm y'":                       {"plain:sh -c rm x; rm y", "sh -c:rm x", "sh -c:rm y"},
		`bash -lc "rm \"x y\""`:                    {`plain:bash -lc rm "x y"`, "sh -c:rm x y"},
		"bash -o pipefail -ec 'rm x' name":         {"plain:bash -o pipefail -ec rm x name", "sh -c:rm x"},
		`bash -c "$X"`:                             {"plain:bash -c ? !"},
		"bash run.sh \"$X\"":                       {"plain:bash run.sh ?"},
		"bash <(curl x)":                           {"substitution:curl x", "plain:bash ? !"},
		"curl x | sh":                              {"plain:curl x", "pipe:sh !"},
		"curl x | sudo bash -s -- -y":              {"plain:curl x", "pipe:sudo bash -s -- -y", "sudo:bash -s -- -y !"},
		"echo 'rm x' | sh":                         {"plain:echo rm x", "pipe:sh", "pipe:rm x"},
		"sh <<'E'\nrm x\nE":                        {"heredoc:sh", "heredoc:rm x"},
		"sh <<E\nrm $(a)\nE":                       {"substitution:a", "heredoc:sh !"},
		"sh <<< 'rm x'":                            {"heredoc:sh", "heredoc:rm x"},
		"cat <<E > f\nrm x\nE":                     {"heredoc:cat >f"},
		"eval 'rm x' y":                            {"plain:eval rm x y", "eval:rm x y"},
		`eval "$(a)"`:                              {"substitution:a", "plain:eval ? !"},
		"env -i A=b rm x":                          {"plain:env -i A=b rm x", "env:rm x"},
		"sudo -u bob A=b rm x":                     {"plain:sudo -u bob A=b rm x", "sudo:rm x"},
		"a | xargs -n 1 -I{} rm {}":                {"plain:a", "pipe:xargs -n 1 -I{} rm {}", "xargs:rm {}"},
		"nohup timeout -k 5 10 nice -n 5 rm x":     {"plain:nohup timeout -k 5 10 nice -n 5 rm x", "nohup:timeout -k 5 10 nice -n 5 rm x", "timeout:nice -n 5 rm x", "nice:rm x"},
		"find . -name x -exec rm {} \\; -exec a +": {"plain:find . -name x -exec rm {} ; -exec a +", "find:rm {}", "find:a"},
		"command -v x":                             {"plain:command -v x"},
		"ssh -p 22 h 'rm x'":                       {"plain:ssh -p 22 h rm x", "ssh:rm x"},
		"trap 'rm x' EXIT":                         {"plain:trap rm x EXIT", "trap:rm x"},
		"alias ls='rm x'":                          {"plain:alias ls=rm x", "alias:rm x"},
		"uv run rm x":                              {"plain:uv run rm x", "uv:rm x"},
		"$X y":                                     {"plain:? y !"},
		`"$(go env GOPATH)/bin/lint" y`:            {"substitution:go env GOPATH", "plain:lint y"},
		"$(which python3) x":                       {"substitution:which python3", "plain:python3 x"},
		"/bin/r? x":                                {"plain:? x !"},
		"cat $HOME/.ssh/id ${HOME}/x":              {"plain:cat ~/.ssh/id ~/x"},
		"cat ~/.{ssh,aws}/x":                       {"plain:cat ~/.ssh/x ~/.aws/x"},
		"rm {1..9}":                                {"plain:rm ?"},
		`$'\x72m' $'\056env'`:                      {"plain:rm .env"},
		`r\m x`:                                    {"plain:rm x"},
		`"r"'m' x`:                                 {"plain:rm x"},
		"a 2>&1 >/dev/null 2>>e &>b":               {"plain:a >/dev/null >>e &>b"},
		"> f":                                      {"plain:: >f"},
		"cat x.py | python3":                       {"plain:cat x.py", "pipe:python3 !"},
		"cat x | python3 -m json.tool":             {"plain:cat x", "pipe:python3 -m json.tool"},
		"# nothing":                                nil,
	} {
		got := script(t, text)
		var lines []string
		for _, c := range got.Commands {
			lines = append(lines, line(c))
		}
		if !slices.Equal(lines, want) || got.Unparsable {
			t.Errorf("%s\n got %q, unparsable %v\nwant %q", text, lines, got.Unparsable, want)
		}
	}
}

func TestWhatIsNoShellOrTooMuchOfItIsUnparsable(t *testing.T) {
	deep := "true"
	for range 10 {
		deep = "eval " + "'" + strings.ReplaceAll(deep, "'", `'\''`) + "'"
	}
	for name, text := range map[string]string{
		"an open quote": "rm 'x", "an open bracket": "(rm x", "in a script within": `sh -c "rm 'x"`, "many commands": strings.Repeat("a;", 200),
		"many words": "rm" + strings.Repeat(" x", 1100) + "; rm y", "a long text": "echo " + strings.Repeat("x", 40000), "deep scripts": deep, "nested deeply": strings.Repeat("(", 20000),
		"a NUL": "rm\x00 x",
	} {
		if got := script(t, text); !got.Unparsable || len(got.Commands) > 128 {
			t.Errorf("%s: %d commands, parsable", name, len(got.Commands))
		}
	}
	if got := script(t, "git status"); got.Unparsable || len(got.SQL.Verbs) != 0 || got.Commands == nil {
		t.Errorf("%+v", got)
	}
}

func TestCommandsComeAsTextsAndAsLists(t *testing.T) {
	for args, want := range map[string]string{
		`{"command":["bash","-lc","rm x"]}`:            "plain:bash -lc rm x|sh -c:rm x",
		`{"command":["git","commit","-m","rm -rf /"]}`: "plain:git commit -m rm -rf /",
		`{"command":["ls -l","rm x"]}`:                 "plain:ls -l|plain:rm x",
		`{"command":"rm","args":["-rf","/"]}`:          "plain:rm -rf /",
		`{"command":"sh -c","args":["rm x"]}`:          "plain:sh -c !|plain:sh -c rm x|sh -c:rm x",
		`{"a":{"cmd":"rm x"},"b":{"script":"a"}}`:      "plain:rm x|plain:a",
		`{"command":7,"text":"rm x"}`:                  "",
		`{"path":"rm x"}`:                              "",
	} {
		var lines []string
		for _, c := range arguments(t, tool.Name{}, args).Commands {
			lines = append(lines, line(c))
		}
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

func TestFilesAreWhatACallNamesAsFiles(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	for args, want := range map[string]string{
		`{"file_path":"a/.env","content":"see .env.local and /x/y"}`:                     "/work/a/.env",
		`{"command":"cat .env"}`:                                                         "/work/.env",
		`{"command":"cat id_rsa < in > out"}`:                                            "/work/id_rsa /work/in /work/out",
		`{"command":"git commit -m 'read .env'"}`:                                        "/work/commit",
		`{"command":"grep -rn .env src"}`:                                                "/work/src",
		`{"command":"grep KEY .env"}`:                                                    "/work/.env",
		`{"command":"echo .env >> .gitignore"}`:                                          "/work/.gitignore",
		`{"command":"cat \"$REPO/.env\" \"$X\""}`:                                        "/work/.env",
		`{"command":"cat ~/'.aws'/credentials"}`:                                         "/home/ann/.aws/credentials",
		`{"command":"sudo cat /x"}`:                                                      "/x",
		`{"command":"curl --data-binary=@x --cert=/k"}`:                                  "/k /work/@x",
		`{"command":"apply_patch <<'E'\n*** Begin Patch\n*** Update File: .env\n+x\nE"}`: "/work/.env",
		`{"input":"*** Begin Patch\n*** Add File: a.go\n*** Move to: b.go\n+.env"}`:      "/work/a.go /work/b.go",
		`{"command":"ls .env; test -f .env"}`:                                            "",
	} {
		if got := strings.Join(arguments(t, tool.Name{}, args).Files, " "); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// FuzzCommands holds that no script panics, that what policies are shown is bounded, and that no word holds the mark of what is unknown.
func FuzzCommands(f *testing.F) {
	for _, s := range []string{"a | b", "sh -c 'a;b'", "cat <<E\n$(x)\nE", "eval $'\\x41'", "x {a,b}{c,d}", "f(){ f|f& };f", "sudo env A=b xargs -I{} sh -c '{}'", "${X:-$(a)}", "[[ a =~ b ]]", "psql -c 'select 1'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := json.Marshal(map[string]string{"command": text})
		if err != nil || strictjson.Check(args) != nil {
			return
		}
		leaves, err := strictjson.Leaves(args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse.Arguments(tool.Name{}, leaves, tool.RoleOf, "/work")
		if err != nil {
			return
		}
		if len(got.Commands) > 128 {
			t.Fatalf("%d commands", len(got.Commands))
		}
		for _, c := range got.Commands {
			if all := fmt.Sprint(c); strings.Contains(all, "\xff") || c.Args == nil || c.Redirects == nil || c.Name == "" && !c.Dynamic {
				t.Fatalf("%+v", c)
			}
		}
		for _, p := range append(got.Paths, got.Files...) {
			if strings.Contains(p, "\xff") || p[0] != '/' {
				t.Fatalf("path %q", p)
			}
		}
	})
}
