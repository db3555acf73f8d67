package dirwatch

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long nothing must change before it is told: an editor or a checkout writes several files.
const quiet = 150 * time.Millisecond

// Watch calls changed, one call at a time, whenever something below dir has changed and nothing did for a moment, until ctx ends. It returns
// once it watches; what changes from then on is told.
func Watch(ctx context.Context, dir string, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	if err := addTree(w, dir); err != nil {
		w.Close() //nolint:errcheck // the first error tells more
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	go func() {
		defer w.Close() //nolint:errcheck // there is nobody to tell
		follow(ctx, w, changed)
	}()
	return nil
}

// addTree watches a directory and all below it: a watch on a directory says nothing of its subdirectories.
func addTree(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return w.Add(name)
	})
}

func follow(ctx context.Context, w *fsnotify.Watcher, changed func()) {
	settled := time.NewTimer(quiet)
	settled.Stop()
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.Events:
			if event.Has(fsnotify.Create) {
				_ = addTree(w, event.Name) // it may be a file, or gone again
			}
			settled.Reset(quiet)
		case <-w.Errors: //nolint:errcheck // events were lost, so anything may have changed
			settled.Reset(quiet)
		case <-settled.C:
			changed()
		}
	}
}
