package secret

import (
	"context"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"

	"ostiary/sanitize"
)

func detector(tb testing.TB) *Detector {
	tb.Helper()
	d, err := New(Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func detect(d *Detector, s, key string) []sanitize.Match {
	return d.Detect(context.Background(), sanitize.NewInput(s, key, ""))
}

// fires reports whether r itself finds something in s.
func fires(r *rule, s string) bool {
	found := false
	newIndex([]*rule{r}, nil).each(s, func(at int, _ *keyword) {
		if _, to := r.find(s, at); to > 0 {
			found = true
		}
	})
	return found
}

// samples returns strings that the rule is to find: its own, or for a rule
// without any some made from its expression.
func samples(t *testing.T, rng *rand.Rand, r *rule) []string {
	var out []string
	for _, m := range r.Match {
		out = append(out, expand(rng, m))
	}
	if len(out) > 0 {
		return out
	}
	tree, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		var b strings.Builder
		if i%2 > 0 { // some rules look for their keyword beside the secret
			b.WriteString(r.Keywords[i/2%len(r.Keywords)] + " ")
		}
		produce(rng, tree, &b)
		if s := " " + b.String() + " "; fires(r, s) {
			return []string{s}
		}
	}
	t.Errorf("%s finds none of 300 strings made from its expression", r.ID)
	return nil
}

// Covers: A12
func TestEveryRuleFindsItsSamplesAndOnlyCredentials(t *testing.T) {
	rules, err := load()
	if err != nil {
		t.Fatal(err)
	}
	rng, d := rand.New(rand.NewPCG(1, 2)), detector(t)
	owner := make(map[string]string)
	for _, r := range rules {
		for _, s := range samples(t, rng, r) {
			if !fires(r, s) {
				t.Errorf("%s misses its sample", r.ID)
			}
			if len(detect(d, s, "")) == 0 {
				t.Errorf("%s: the detector as a whole misses the sample", r.ID)
			}
			owner[s] = r.ID
		}
		for _, s := range r.Miss {
			if fires(r, s) {
				t.Errorf("%s finds %q", r.ID, s)
			}
		}
	}
	foreign := 0
	for _, r := range rules {
		for s, id := range owner {
			if id != r.ID && fires(r, s) {
				foreign++
			}
		}
	}
	t.Logf("%d rules, %d samples, %d finds of a sample by another rule", len(rules), len(owner), foreign)
	if most := 2 * len(rules); foreign > most {
		t.Errorf("%d finds by other rules, want at most %d", foreign, most)
	}
}

func TestUnknownDisabledRuleIsRefused(t *testing.T) {
	if _, err := New(Config{Disabled: []string{"no_such_rule"}}); err == nil {
		t.Error("accepted")
	}
	d, err := New(Config{Disabled: []string{"generic"}})
	if err != nil || len(detect(d, `password = "hunter42!"`, "")) > 0 {
		t.Errorf("a disabled rule ran: %v", err)
	}
}

// Covers: A12
func TestValueIsJudgedByTheNameItIsAssignedTo(t *testing.T) {
	d, value := detector(t), "kQ7"+"vP2xR9mT4wZ8"
	for s, want := range map[string]bool{
		`password = "` + value + `"`:       true,
		`"client_secret": "` + value + `"`: true,
		`API_KEY=` + value:                 true,
		`--token ` + value:                 true,
		`密码：` + value:                      true,
		`colour = "` + value + `"`:         false,
		`token_type = "` + value + `"`:     false,
		`password = os.Getenv("PW")`:       false,
		`password: ${DB_PASSWORD}`:         false,
		`token := parser.nextToken2()`:     false,
		`api_key = "your-api-key-here"`:    false,
		`secret: <redacted>`:               false,
	} {
		if got := len(detect(d, s, "")) > 0; got != want {
			t.Errorf("%s: found %v, want %v", s, got, want)
		}
	}
	if len(detect(d, value, "db_password")) == 0 {
		t.Error("the member name is not looked at")
	}
}

func TestHashesAndIdentifiersAreNoSecrets(t *testing.T) {
	d := detector(t)
	for _, s := range []string{
		"uses: actions/setup-go@924ae3a1cded613372ab5595356fb5720e22ba16 # v6",
		"h1:XXeibrt4XbdrYm3FnzXR3uUPs9HbgGduroICjBl6PMw=",
		`"integrity": "sha512-4DpZQTstCpgr5A5lc3X9PfHxq1k2p1Y6bWcHh4pXQb0yq7JmM8m1eQ=="`,
		"id: 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
		"func SetToken(token string) { c.token = token }",
	} {
		if m := detect(d, s, ""); len(m) > 0 {
			t.Errorf("%s: %v", s, m)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("Authorization: Bearer x")
	f.Add("password=\"")
	f.Add("-----BEGIN")
	d := detector(f)
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		for _, m := range detect(d, s, "token") {
			if m.Start < 0 || m.End > len(s) || m.Start >= m.End {
				t.Errorf("%q: %d:%d", s, m.Start, m.End)
			}
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	in := sanitize.NewInput(strings.Repeat("The quick brown fox signs in at noon and reads the news of the day.\n", 1500), "", "")
	d := detector(b)
	b.SetBytes(int64(len(in.Text)))
	for b.Loop() {
		d.Detect(context.Background(), in)
	}
}
