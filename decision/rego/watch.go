package rego

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long nothing must change before the policies are read again: an editor or a checkout writes several files.
const quiet = 150 * time.Millisecond

// Watch reloads when something in the operator's directory changes, until ctx ends; told hears of every reload. Without a directory there
// is nothing to watch. It returns once it watches.
func (e *Engine) Watch(ctx context.Context, told func(error)) error {
	if e.cfg.OperatorDir == "" {
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch policies: %w", err)
	}
	if err := watchTree(w, e.cfg.OperatorDir); err != nil {
		w.Close() //nolint:errcheck // the first error tells more
		return fmt.Errorf("watch policies: %w", err)
	}
	go func() {
		defer w.Close() //nolint:errcheck // there is nobody to tell
		e.follow(ctx, w, told)
	}()
	return nil
}

// watchTree watches a directory and all below it: a watch on a directory says nothing of its subdirectories.
func watchTree(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return w.Add(name)
	})
}

func (e *Engine) follow(ctx context.Context, w *fsnotify.Watcher, told func(error)) {
	settled := time.NewTimer(quiet)
	settled.Stop()
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.Events:
			if event.Has(fsnotify.Create) {
				_ = watchTree(w, event.Name) // it may be a file, or gone again
			}
			settled.Reset(quiet)
		case <-w.Errors: // events were lost, so anything may have changed
			settled.Reset(quiet)
		case <-settled.C:
			told(e.Reload(ctx))
		}
	}
}
