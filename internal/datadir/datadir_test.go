package datadir_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ostiary"
	"ostiary/internal/datadir"
)

func open(t *testing.T, path string) *datadir.Dir {
	t.Helper()
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestEverythingIsItsOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "state")
	d := open(t, path)
	if _, err := d.SigningKey("permit"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.MACKey("audit"); err != nil {
		t.Fatal(err)
	}
	if err := datadir.WriteFile(d.Path("agent.token"), "x"); err != nil {
		t.Fatal(err)
	}
	if m := mode(t, path); m != 0o700 {
		t.Errorf("the directory has mode %o", m)
	}
	for _, f := range []string{"permit.key", "audit.key", "agent.token", "lock"} {
		if m := mode(t, d.Path(f)); m != 0o600 {
			t.Errorf("%s has mode %o", f, m)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestKeysOutliveTheProcessAndDiffer(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	permit, err := d.SigningKey("permit")
	if err != nil {
		t.Fatal(err)
	}
	access, err := d.SigningKey("access")
	if err != nil || bytes.Equal(permit, access) {
		t.Errorf("two names share a key, %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	defer again.Close()
	if key, err := again.SigningKey("permit"); err != nil || !bytes.Equal(key, permit) {
		t.Errorf("the key changed, %v", err)
	}
	if key, err := datadir.SigningKeyAt(path, "access"); err != nil || !bytes.Equal(key, access) {
		t.Errorf("read beside the holder: %v", err)
	}
	if _, err := datadir.SigningKeyAt(t.TempDir(), "access"); ostiary.KindOf(err) != ostiary.KindConfigInvalid {
		t.Errorf("where no sidecar ever was: %v", err)
	}
}

func TestAKeyThatOthersReadOrThatIsDamagedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		kind ostiary.Kind
	}{
		"readable by the group": {"", 0o640, ostiary.KindConfigInvalid},
		"readable by all":       {"", 0o604, ostiary.KindConfigInvalid},
		"writable by the group": {"", 0o620, ostiary.KindConfigInvalid},
		"cut off":               {"AAAA\n", 0o600, ostiary.KindNoKey},
		"empty":                 {"\n", 0o600, ostiary.KindNoKey},
		"no base64":             {"!!!!\n", 0o600, ostiary.KindNoKey},
		"too long":              {strings.Repeat("A", 400) + "\n", 0o600, ostiary.KindNoKey},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			defer d.Close()
			if _, err := d.SigningKey("permit"); err != nil {
				t.Fatal(err)
			}
			if c.text != "" {
				if err := os.WriteFile(d.Path("permit.key"), []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(d.Path("permit.key"), c.mode); err != nil {
				t.Fatal(err)
			}
			key, err := d.SigningKey("permit")
			var e *ostiary.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Fix == "" || key != nil {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestADirectoryHasOneHolder(t *testing.T) {
	path := t.TempDir()
	first := open(t, path)
	_, err := datadir.Open(path)
	var e *ostiary.Error
	if !errors.As(err, &e) || e.Kind != ostiary.KindConfigInvalid || !strings.Contains(e.Msg, "in use") || e.Fix == "" {
		t.Errorf("a second holder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Close(); err != nil {
		t.Error(err)
	}
}

func TestAPlaceThatCannotBeWrittenIsRefusedWithWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "x"), file, "/proc/ostiary"} {
		_, err := datadir.Open(path)
		var e *ostiary.Error
		if !errors.As(err, &e) || e.Kind != ostiary.KindConfigInvalid || !strings.Contains(e.Msg, path) || e.Fix == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"first", "second"} {
		if err := datadir.WriteFile(path, text); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := datadir.WriteFile(filepath.Join(path, "under a file"), "x"); err == nil {
		t.Error("written where nothing can be")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
