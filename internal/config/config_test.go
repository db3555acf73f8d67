package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ostiary"
	"ostiary/internal/config"
)

func nothing(*config.Config) {}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsBeatEnvironmentBeatsFileBeatsDefaults(t *testing.T) {
	file := write(t, "listen: file:1\nconsole: file:2\nposture: balanced\ncaps: {per_session: 5, per_agent: 6}\n")
	env := []string{"OSTIARY_CONSOLE=env:2", "OSTIARY_CAPS__PER_AGENT=7", "OSTIARY_SOCKET=/env.sock", "OTHER=x"}
	got, err := config.Load(file, env, func(c *config.Config) { c.Socket = "/flag.sock" })
	if err != nil {
		t.Fatal(err)
	}
	if got.Listen != "file:1" || got.Console != "env:2" || got.Socket != "/flag.sock" || got.Posture != "balanced" || got.Caps != (config.Caps{PerSession: 5, PerAgent: 7}) || got.Audit.Sync != "group" {
		t.Errorf("%+v", got)
	}
}

func TestTheDefaultsAreTheSafeOnes(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	got, err := config.Load("", nil, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if got.Data != "/state/ostiary" || got.Socket != "/state/ostiary/sidecar.sock" || got.Listen != "127.0.0.1:7070" || got.Console != "127.0.0.1:7071" || got.Posture != config.Strict || got.TrustedNetwork {
		t.Errorf("%+v", got)
	}
	if dir, err := config.DefaultData(); err != nil || dir != got.Data {
		t.Errorf("clients look in %s, %v", dir, err)
	}
}

func TestTheDefaultFileIsRead(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if err := os.MkdirAll(filepath.Join(dir, "ostiary"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ostiary", "config.yaml"), []byte("posture: balanced\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := config.Load("", nil, nothing); err != nil || got.Posture != config.Balanced {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDurationsHaveUnits(t *testing.T) {
	got, err := config.Load(write(t, "review: {ttl: 90m}\nveto: {ttl: 0}\npolicies: {timeout: 20ms}\n"), []string{"OSTIARY_APPROVAL__TTL=1h30m", "OSTIARY_TAINT_CARRY=5m"}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if got.Review.TTL != 90*time.Minute || got.Veto.TTL != 0 || got.Policies.Timeout != 20*time.Millisecond || got.Approval.TTL != 90*time.Minute || got.TaintCarry != 5*time.Minute {
		t.Errorf("%+v", got)
	}
}

func TestWhatCouldWeakenSecurityUnseenIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file, says string
		env        []string
	}{
		"an unknown key":              {"postur: strict\n", "postur", nil},
		"an unknown key inside":       {"caps: {per_sesion: 1}\n", "per_sesion", nil},
		"an unknown variable":         {"", "postur", []string{"OSTIARY_POSTUR=strict"}},
		"one underscore for two":      {"", "caps_per_agent", []string{"OSTIARY_CAPS_PER_AGENT=1"}},
		"a duration without a unit":   {"veto: {ttl: 30}\n", "no unit", nil},
		"a fraction without a unit":   {"review: {ttl: 1.5}\n", "no unit", nil},
		"a bare number in a variable": {"", "unit", []string{"OSTIARY_VETO__TTL=30"}},
		"a duration that is none":     {"review: {ttl: soon}\n", "review.ttl", nil},
		"a negative duration":         {"approval: {ttl: -1m}\n", "approval.ttl is -1m", nil},
		"a permit of no time":         {"permit: {ttl: 10ms}\n", "at least 1s", nil},
		"a negative cap":              {"caps: {per_tenant: -1}\n", "caps.per_tenant", nil},
		"a word for a number":         {"caps: {per_tenant: many}\n", "per_tenant", nil},
		"an unknown posture":          {"posture: relaxed\n", "strict or balanced", nil},
		"an unknown sync":             {"audit: {sync: never}\n", "group or always", nil},
		"a list for a map":            {"caps: [1]\n", "caps", nil},
		"broken YAML":                 {"caps: {", "config.yaml", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(write(t, c.file), c.env, nothing)
			if said := ostiary.Public(err); said == nil || said.Kind != ostiary.KindConfigInvalid || !strings.Contains(said.Msg, c.says) || strings.Contains(said.Msg, "\n") {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), nil, nothing); ostiary.KindOf(err) != ostiary.KindConfigInvalid {
		t.Errorf("a file that was asked for and is not there: %v", err)
	}
}

func TestEveryFaultIsToldAtOnce(t *testing.T) {
	_, err := config.Load(write(t, "posture: x\nlog: loud\naudit: {sync: y}\npermit: {ttl: 1ms}\n"), nil, nothing)
	for _, part := range []string{"posture", "log is", "audit.sync", "permit.ttl"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not told: %v", part, err)
		}
	}
}

func TestVariablesOfOthersAreNoSettings(t *testing.T) {
	got, err := config.Load(write(t, ""), []string{"OSTIARY_TOKEN=x", "OSTIARY_CLOCK_OFFSET=2h", "OSTIARY_FAILPOINTS=a", "OSTIARY_DATA=relative"}, nothing)
	if err != nil || !filepath.IsAbs(got.Data) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPacksAreAListAndAnEmptyOneIsNotTheDefault(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		env  []string
		want []string
	}{
		"default":            {"posture: strict\n", nil, nil},
		"in the file":        {"policies: {packs: [coding, data]}\n", nil, []string{"coding", "data"}},
		"none":               {"policies: {packs: []}\n", nil, []string{}},
		"in the environment": {"policies: {packs: [data]}\n", []string{"OSTIARY_POLICIES__PACKS=coding,owasp_agentic"}, []string{"coding", "owasp_agentic"}},
		"none there":         {"", []string{"OSTIARY_POLICIES__PACKS="}, []string{}},
	} {
		got, err := config.Load(write(t, c.file), c.env, nothing)
		if err != nil || !slices.Equal(got.Policies.Packs, c.want) || (got.Policies.Packs == nil) != (c.want == nil) {
			t.Errorf("%s: %#v, %v", name, got.Policies.Packs, err)
		}
	}
}
