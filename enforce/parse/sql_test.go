package parse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"ostiary/decision"
	"ostiary/tool"
)

func TestWhatSQLDoesIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"select * from t":                                                    "select",
		"SELECT 1;":                                                          "select",
		"select 1; drop table t":                                             "drop multi select",
		"select 'a;b'; -- c; d":                                              "select",
		"select /* ; drop table t */ 1":                                      "select",
		"delete from t":                                                      "delete unbounded",
		"delete from t where id = 1":                                         "delete",
		"delete from t where 1 = 1":                                          "delete unbounded",
		"delete from t where true":                                           "delete unbounded",
		"delete from t using u where t.id = u.id":                            "delete",
		"update t set a = 1":                                                 "unbounded update",
		"update t set a = (select b from u where u.id = 1)":                  "select unbounded update",
		"update t set a = 1 where \"id\" = 1":                                "update",
		"update t set a = 'where id = 1'":                                    "unbounded update",
		"update t set where_ = 1":                                            "unbounded update",
		"with d as (delete from t returning *) select * from d":              "delete select unbounded",
		"with d as (select 1) delete from t where id in (select 1)":          "delete select",
		"with d as (select 1) update t set a = 1":                            "select unbounded update",
		"explain analyze delete from t":                                      "delete unbounded",
		"explain (analyze, verbose) delete from t":                           "delete unbounded",
		"insert into t (a) select b from u":                                  "insert select",
		"insert into t values (1) on conflict (a) do update set a = 1":       "insert",
		"insert into t values (1) on duplicate key update a = 1":             "insert",
		"merge into t using u on t.a = u.a when matched then delete":         "delete merge",
		"select * from t for update":                                         "select",
		"create table t (a int references u on delete cascade)":              "create",
		"create trigger x before update or delete on t execute function f()": "create",
		"grant select, delete on t to u":                                     "grant select",
		"select replace(a, 'x', 'y'), t.delete from t":                       "select",
		"truncate t":             "truncate",
		"select 1 drop table t":  "drop select",
		"select 1 delete from t": "delete select unbounded",
		"begin; update t set a = 1 where b = 2; commit": "multi update",
		"do $$ begin delete from t; end $$":             "do execute",
		"select $1, $tag$ ; drop table t $tag$":         "select",
		"exec sp_who":                                   "exec execute",
		"select * into outfile '/tmp/x' from t":         "export select",
		"select * into u from t":                        "select select_into",
		"copy t to program 'curl x'":                    "copy export",
		"select pg_read_file('/etc/passwd')":            "select system",
		"select [delete] from [a b]":                    "select",
		"(select 1) union (select 2)":                   "select",
		"":                                              "",
		"select 'it''s'":                                "select",
		`select 'a\'; drop table t; --'`:                "unparsable",
		"select /*! 1; drop table t */ 1":               "unparsable",
		"select 1 # 2":                                  "unparsable",
		"select 1--2":                                   "unparsable",
		"select 'open":                                  "unparsable",
		"select (1":                                     "unparsable",
		"show me the customers":                         "show",
		"which customers are there":                     "unparsable",
	} {
		args, err := json.Marshal(map[string]string{"sql": text})
		if err != nil {
			t.Fatal(err)
		}
		if got := facts(arguments(t, tool.Name{}, string(args)).SQL); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func facts(s decision.SQL) string {
	words := append([]string{}, s.Verbs...)
	for name, set := range map[string]bool{"multi": s.Multi, "unbounded": s.Unbounded, "unparsable": s.Unparsable} {
		if set {
			words = append(words, name)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestSQLIsFoundWhereverACallHoldsIt(t *testing.T) {
	for name, c := range map[string]struct {
		of   tool.Name
		args string
		want string
	}{
		"by its role":            {tool.Name{}, `{"sql":"drop table t"}`, "drop"},
		"by the namespace":       {tool.Name{Namespace: "postgres", Name: "run"}, `{"query":"drop table t"}`, "drop"},
		"by the tool's name":     {tool.Name{Namespace: "x", Name: "executeSql"}, `{"statements":["drop table t","select 1"]}`, "drop select"},
		"not with another tool":  {tool.Name{Namespace: "web", Name: "search"}, `{"query":"drop table t"}`, ""},
		"in psql":                {tool.Name{}, `{"command":"psql -h h -c 'drop table t'"}`, "drop"},
		"in psql by an option":   {tool.Name{}, `{"command":"psql --command='drop table t'"}`, "drop"},
		"on psql's input":        {tool.Name{}, `{"command":"psql db <<'E'\ndrop table t;\nE"}`, "drop"},
		"in mysql":               {tool.Name{}, `{"command":"sudo mysql -e 'drop table t' db"}`, "drop"},
		"in sqlite3":             {tool.Name{}, `{"command":"sqlite3 x.db 'drop table t'"}`, "drop"},
		"sqlite3's own commands": {tool.Name{}, `{"command":"sqlite3 x.db .tables"}`, ""},
		"in a variable":          {tool.Name{}, `{"command":"psql -c \"$Q\""}`, "unparsable"},
	} {
		if got := facts(arguments(t, c.of, c.args).SQL); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// FuzzSQL holds that no text panics, and that a statement that is surely a DROP is seen behind whatever else can be read.
func FuzzSQL(f *testing.F) {
	for _, s := range []string{"select 1", "select 'a''b'", "/* x */ select $1", "with a as (select 1)", "update t set a=1 where b", "select \"x;y\"", "$a$ b $a$", "[x]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := json.Marshal(map[string]string{"sql": text + "\n;drop table t"})
		if err != nil {
			return
		}
		got := arguments(t, tool.Name{}, string(args)).SQL
		if !got.Unparsable && !strings.Contains(strings.Join(got.Verbs, " "), "drop") {
			t.Fatalf("%q: %+v", text, got)
		}
	})
}
