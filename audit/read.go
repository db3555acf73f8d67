package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
)

// recover reads every segment in order, rebuilds the index and opens the last segment behind its last whole line.
func (l *Log) recover() error {
	names, err := filepath.Glob(filepath.Join(l.cfg.Dir, "*.jsonl"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	last, end := 1, int64(0)
	for _, name := range names {
		var n int
		if _, err := fmt.Sscanf(filepath.Base(name), "%06d.jsonl", &n); err != nil {
			return fmt.Errorf("%s is no segment of this log", name)
		}
		last = n
		if end, err = l.readSegment(n); err != nil {
			return err
		}
	}
	if err := l.openSegment(last); err != nil {
		return err
	}
	l.size = end
	return l.file.Truncate(end)
}

// readSegment indexes one segment and returns where its last whole line ends.
func (l *Log) readSegment(n int) (int64, error) {
	f, err := os.Open(l.path(n))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	var end int64
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return end, nil // what is left has no newline: torn
		}
		if err != nil {
			return 0, err
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("%s, byte %d: not an event: %w", filepath.Base(l.path(n)), end, err)
		}
		if e.Seq != l.seq+1 {
			return 0, fmt.Errorf("%s, byte %d: event %d follows event %d", filepath.Base(l.path(n)), end, e.Seq, l.seq)
		}
		l.seq = e.Seq
		l.index.add(e, place{n, end, len(line) - 1})
		end += int64(len(line))
	}
}

// syncDir makes the creation of a file in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Session returns the events of one session of one tenant, oldest first.
func (l *Log) Session(tenant, session string) ([]Event, error) {
	places := l.index.session(tenant, session)
	events := make([]Event, 0, len(places))
	files := map[int]*os.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for _, p := range places {
		f, err := l.segmentFile(files, p.segment)
		if err != nil {
			return nil, err
		}
		line := make([]byte, p.length)
		if _, err := f.ReadAt(line, p.offset); err != nil {
			return nil, fmt.Errorf("audit: read event: %w", err)
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit: read event: %w", err)
		}
		events = append(events, e)
	}
	return events, nil
}

func (l *Log) segmentFile(open map[int]*os.File, n int) (*os.File, error) {
	if f := open[n]; f != nil {
		return f, nil
	}
	f, err := os.Open(l.path(n))
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	open[n] = f
	return f, nil
}

// index knows where each session's events stand. It lives in memory and is rebuilt from the segments at start.
type index struct {
	mu     sync.RWMutex
	places map[string][]place
}

type place struct {
	segment int
	offset  int64
	length  int
}

func newIndex() *index { return &index{places: map[string][]place{}} }

func (x *index) add(e Event, p place) {
	if e.Session == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	key := indexKey(e.Tenant, e.Session)
	x.places[key] = append(x.places[key], p)
}

func (x *index) session(tenant, session string) []place {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.places[indexKey(tenant, session)])
}

func indexKey(tenant, session string) string {
	return tenant + "\x00" + session
}
