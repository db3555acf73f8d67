package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-viper/mapstructure/v2"
	yaml "github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"

	"ostiary"
)

// Postures of policy.md §1.
const (
	Strict   = "strict"
	Balanced = "balanced"
)

// Config is every setting, by its key in the file; OSTIARY_CAPS__PER_SESSION sets caps.per_session.
type Config struct {
	// File is where the configuration file is, or would be; empty when there is no home to look for it in. It is no setting.
	File string `koanf:"-"`
	// Data is the directory of the state, keys and tokens. Defaults to $XDG_STATE_HOME/ostiary.
	Data string `koanf:"data"`
	// Listen is the agents' address. Defaults to 127.0.0.1:7070; port 0 picks a free one.
	Listen string `koanf:"listen"`
	// Socket is the agents' Unix socket. Defaults to sidecar.sock in the data directory.
	Socket string `koanf:"socket"`
	// Console is the reviewers' address; empty means no console. Defaults to 127.0.0.1:7071.
	Console string `koanf:"console"`
	// TrustedNetwork lets the listeners leave loopback without TLS.
	TrustedNetwork bool `koanf:"trusted_network"`
	// Posture is strict (every sink asks) or balanced (sinks are judged by provenance). Defaults to strict.
	Posture string `koanf:"posture"`
	// Tools is a directory of tool declarations; empty means none.
	Tools string `koanf:"tools"`
	// Log is info, or debug, which adds a line for every request that went well: the audit log tells of calls anyway. Defaults to info.
	Log string `koanf:"log"`

	Policies Policies `koanf:"policies"`
	// Exceptions lift what a rule asks about a tool, for a time; policies/schema/exceptions.json lists their members.
	Exceptions []map[string]any `koanf:"exceptions"`
	Baseline   map[string]any   `koanf:"baseline"` // overlays data.ostiary.baseline; policies/schema/baseline.json lists its members
	Caps       Caps             `koanf:"caps"`
	Review     TTL              `koanf:"review"`   // how long a question stays open. Defaults to 1h
	Approval   TTL              `koanf:"approval"` // how long an approval can be used. Defaults to 30m
	Permit     TTL              `koanf:"permit"`   // how long a permit lives, at least 1s. Defaults to 5m
	Veto       TTL              `koanf:"veto"`     // how long a denial answers the same call again. Defaults to 30m
	Audit      Audit            `koanf:"audit"`
	// TaintCarry is how long a tainted session's provenance is handed to the agent's new sessions. Defaults to 1h.
	TaintCarry time.Duration `koanf:"taint_carry"`
}

// Policies says where policies come from.
type Policies struct {
	// Packs are the shipped packs that are on, beside the baseline. Defaults to all; an empty list means none.
	Packs []string `koanf:"packs"`
	// Dir is added to the shipped packs; empty means none.
	Dir string `koanf:"dir"`
	// Timeout bounds one evaluation. Defaults to 50ms.
	Timeout time.Duration `koanf:"timeout"`
	// Bundle is a signed bundle, added too: a file, or an http or https URL; empty means none.
	Bundle string `koanf:"bundle"`
	// BundleKey is the PEM file of the public key that the bundle's signature must fit.
	BundleKey string `koanf:"bundle_key"`
	// BundleToken is a file with the bearer token for the bundle's server; empty means none.
	BundleToken string `koanf:"bundle_token"`
	// Poll is how often the bundle's server is asked, at least every second. Defaults to 1m.
	Poll time.Duration `koanf:"poll"`
}

// Caps bound the open reviews. They default to 32, 64 and 500.
type Caps struct {
	PerSession int `koanf:"per_session"`
	PerAgent   int `koanf:"per_agent"`
	PerTenant  int `koanf:"per_tenant"`
}

// TTL is a life time.
type TTL struct {
	TTL time.Duration `koanf:"ttl"`
}

// Audit says when events are on disk.
type Audit struct {
	// Sync is group (plain allows and denials within 50 ms) or always (before every answer). Defaults to group.
	Sync string `koanf:"sync"`
}

const prefix = "OSTIARY_"

// notSettings are variables of the environment that other parts read: clients find the sidecar by them, and test builds bend time with them.
var notSettings = map[string]bool{"OSTIARY_TOKEN": true, "OSTIARY_CLOCK_OFFSET": true, "OSTIARY_FAILPOINTS": true}

// foreign are prefixes of variables that test harnesses around us set.
var foreign = []string{"OSTIARY_TEST_", "OSTIARY_LIVE_"}

// setting turns a variable into a key and a value; "" for one that is no setting. Members of baseline are JSON, since their types differ.
func setting(name, value string) (string, any) {
	if notSettings[name] || slices.ContainsFunc(foreign, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return "", nil
	}
	key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "__", ".")
	var v any
	if strings.HasPrefix(key, "baseline.") && json.Unmarshal([]byte(value), &v) == nil {
		return key, v
	}
	return key, value
}

// Load reads the file at path (empty: the default place, which may be absent), the environment, and what override sets.
func Load(path string, environ []string, override func(*Config)) (Config, error) {
	k := koanf.New(".")
	path, err := loadFile(k, path)
	if err != nil {
		return Config{}, err
	}
	err = k.Load(env.Provider(".", env.Opt{Prefix: prefix, EnvironFunc: func() []string { return environ }, TransformFunc: setting}), nil)
	if err != nil {
		return Config{}, invalid(err, "the environment cannot be read")
	}
	cfg := Config{Listen: "127.0.0.1:7070", Console: "127.0.0.1:7071", Posture: Strict, Log: "info", Audit: Audit{Sync: "group"}}
	err = k.UnmarshalWithConf("", &cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		ErrorUnused: true, WeaklyTypedInput: true, Result: &cfg, TagName: "koanf",
		DecodeHook: mapstructure.ComposeDecodeHookFunc(refuseBareDuration, mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(",")),
	}})
	if err != nil {
		return Config{}, invalid(err, "a setting is unknown or has the wrong type: "+oneLine(err))
	}
	cfg.File = path
	override(&cfg)
	if err := cfg.complete(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// refuseBareDuration refuses a number without a unit: 30 would be 30 nanoseconds, and a veto as good as none.
func refuseBareDuration(from, to reflect.Type, value any) (any, error) {
	if to == reflect.TypeFor[time.Duration]() && from != to && from.Kind() != reflect.String && fmt.Sprint(value) != "0" {
		return nil, fmt.Errorf("%v has no unit; write a duration such as 30m", value)
	}
	return value, nil
}

// loadFile reads the file and returns its path. The default one may be absent.
func loadFile(k *koanf.Koanf, path string) (string, error) {
	given := path != ""
	if !given {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", nil //nolint:nilerr // without a home there is no default file
		}
		path = filepath.Join(dir, "ostiary", "config.yaml")
	}
	err := k.Load(file.Provider(path), yaml.Parser())
	if err == nil || !given && errors.Is(err, os.ErrNotExist) {
		return path, nil
	}
	return "", invalid(err, "the configuration file "+path+" cannot be read: "+oneLine(err))
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// complete fills in the defaults that depend on others and reports every fault at once.
func (c *Config) complete() error {
	var faults []string
	if c.Data == "" {
		dir, err := stateDir()
		if err != nil {
			return invalid(err, "there is no home directory for the state; give --data DIR")
		}
		c.Data = filepath.Join(dir, "ostiary")
	}
	var err error
	if c.Data, err = filepath.Abs(c.Data); err != nil {
		return invalid(err, "the data directory has no absolute path")
	}
	if c.Socket == "" {
		c.Socket = filepath.Join(c.Data, "sidecar.sock")
	}
	if c.Posture != Strict && c.Posture != Balanced {
		faults = append(faults, fmt.Sprintf("posture is %q, want strict or balanced", c.Posture))
	}
	if c.Log != "info" && c.Log != "debug" {
		faults = append(faults, fmt.Sprintf("log is %q, want info or debug", c.Log))
	}
	if mode := c.Baseline["sink_mode"]; c.Posture == Balanced && mode != nil && mode != "provenance" {
		faults = append(faults, fmt.Sprintf("posture is balanced and baseline.sink_mode is %v; leave one of them out", mode))
	}
	if c.Audit.Sync != "group" && c.Audit.Sync != "always" {
		faults = append(faults, fmt.Sprintf("audit.sync is %q, want group or always", c.Audit.Sync))
	}
	if c.Permit.TTL != 0 && c.Permit.TTL < time.Second {
		faults = append(faults, fmt.Sprintf("permit.ttl is %s, want at least 1s", c.Permit.TTL))
	}
	if (c.Policies.Bundle == "") != (c.Policies.BundleKey == "") {
		faults = append(faults, "policies.bundle and policies.bundle_key belong together: an unsigned bundle is not taken")
	}
	if c.Policies.Poll == 0 {
		c.Policies.Poll = time.Minute
	}
	if c.Policies.Poll < time.Second {
		faults = append(faults, fmt.Sprintf("policies.poll is %s, want at least 1s", c.Policies.Poll))
	}
	for name, v := range map[string]time.Duration{"review.ttl": c.Review.TTL, "approval.ttl": c.Approval.TTL, "veto.ttl": c.Veto.TTL, "taint_carry": c.TaintCarry, "policies.timeout": c.Policies.Timeout} {
		if v < 0 {
			faults = append(faults, fmt.Sprintf("%s is %s, want a positive duration", name, v))
		}
	}
	for name, v := range map[string]int{"caps.per_session": c.Caps.PerSession, "caps.per_agent": c.Caps.PerAgent, "caps.per_tenant": c.Caps.PerTenant} {
		if v < 0 {
			faults = append(faults, fmt.Sprintf("%s is %d, want a positive number", name, v))
		}
	}
	if len(faults) > 0 {
		return ostiary.Errorf(ostiary.KindConfigInvalid, "%s", strings.Join(faults, "; "))
	}
	return nil
}

// stateDir is the XDG place of state that should outlive a reboot.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state"), nil
}

// DefaultData is where the state is when nobody says otherwise; clients look for the sidecar there.
func DefaultData() (string, error) {
	dir, err := stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "ostiary"), nil
}

func invalid(err error, msg string) error {
	return ostiary.Wrap(ostiary.KindConfigInvalid, err, msg)
}
