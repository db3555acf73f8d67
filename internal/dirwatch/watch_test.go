package dirwatch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ostiary/internal/dirwatch"
)

func TestEveryChangeBelowADirectoryIsTold(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	changed := make(chan struct{}, 100)
	if err := dirwatch.Watch(ctx, dir, func() { changed <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"a new file", func() error { return os.WriteFile(at("a"), []byte("1"), 0o600) }},
		{"a changed file", func() error { return os.WriteFile(at("a"), []byte("2"), 0o600) }},
		{"a file put in place", func() error {
			check(os.WriteFile(at("new"), nil, 0o600))
			return os.Rename(at("new"), at("a"))
		}},
		{"a new directory", func() error { return os.MkdirAll(at("x/y"), 0o700) }},
		{"a file in it", func() error { return os.WriteFile(at("x/y/b"), nil, 0o600) }},
		{"a removed file", func() error { return os.Remove(at("a")) }},
	} {
		check(step.do())
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s was not told", step.what)
		}
	}
}

func TestADirectoryThatIsNotThereCannotBeWatched(t *testing.T) {
	if err := dirwatch.Watch(t.Context(), filepath.Join(t.TempDir(), "absent"), func() {}); err == nil {
		t.Error("no error")
	}
}
