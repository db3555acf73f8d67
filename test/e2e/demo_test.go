package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ostiary/internal/testkit"
)

// The demo stops with an error when a scene does not go as it is told.
func TestTheDemoTellsItsStoryToTheEnd(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testkit.Binary(t), filepath.Join(dir, "bin", "sidecar")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "demo"), "./examples/demo")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	demo := exec.Command(filepath.Join(dir, "demo"))
	demo.Dir, demo.Env = dir, append(os.Environ(), "DEMO_AUTO=1", "OSTIARY_POLICIES__TIMEOUT=10s")
	out, err := demo.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "That was the whole story") {
		t.Errorf("%v\n%s", err, out)
	}
}
