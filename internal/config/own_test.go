package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ostiary/internal/config"
)

func TestOurOwnPathsAreProtectedBeforeTheyExist(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("link/dotfiles/ostiary.yaml", filepath.Join(dir, "dangling.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("round", filepath.Join(dir, "round")); err != nil {
		t.Fatal(err)
	}
	got, err := config.Config{
		Tools: filepath.Join(dir, "dangling.yaml"), Policies: config.Policies{Dir: filepath.Join(dir, "round")},
		File: filepath.Join(link, "ostiary/config.yaml"), Data: filepath.Join(link, "state/ostiary"), Socket: filepath.Join(dir, "run/sidecar.sock"),
	}.OwnPaths()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(link, "ostiary/config.yaml"), filepath.Join(dir, "real/ostiary/config.yaml"),
		filepath.Join(link, "state/ostiary"), filepath.Join(dir, "real/state/ostiary"),
		filepath.Join(dir, "run/sidecar.sock"),
		filepath.Join(dir, "round"),
		filepath.Join(dir, "dangling.yaml"), filepath.Join(dir, "real/dotfiles/ostiary.yaml"),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAnAbsentDefaultConfigurationFileIsOursToo(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	cfg, err := config.Load("", nil, func(*config.Config) {})
	if err != nil {
		t.Fatal(err)
	}
	got, err := cfg.OwnPaths()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(os.Getenv("HOME"), ".config/ostiary/config.yaml"); !slices.Contains(got, want) {
		t.Errorf("%s is not among %q", want, got)
	}
}
