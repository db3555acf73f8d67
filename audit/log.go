package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
)

const segmentBytes = 64 << 20

// Config of a Log.
type Config struct {
	// Dir holds the segments NNNNNN.jsonl; it is created with mode 0700. Required.
	Dir string
	// Now is the clock. Required.
	Now func() time.Time
	// Always fsyncs every event before Append returns (audit.sync: always). Default: plain events are committed in groups.
	Always bool
	// GroupDelay bounds how long a plain event may wait for its fsync. Default 50ms.
	GroupDelay time.Duration
}

// Log appends events. It is safe for concurrent use. After the first write or sync error every Append fails: a log with a hole is no log.
type Log struct {
	cfg Config

	mu      sync.Mutex
	file    *os.File
	size    int64
	seq     uint64
	segment int
	written uint64 // events handed to the operating system
	broken  error

	syncMu sync.Mutex
	synced uint64 // events known to be on disk; guarded by syncMu

	index *index
	wake  chan struct{}
	done  chan struct{}
	stop  chan struct{}
}

// Open opens the log for appending, reads what is there, and cuts a torn last line, which was never acknowledged.
func Open(cfg Config) (*Log, error) {
	if cfg.Dir == "" || cfg.Now == nil {
		return nil, errors.New("audit: Dir and Now are required")
	}
	if cfg.GroupDelay == 0 {
		cfg.GroupDelay = 50 * time.Millisecond
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{cfg: cfg, index: newIndex(), wake: make(chan struct{}, 1), done: make(chan struct{}), stop: make(chan struct{})}
	if err := l.recover(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	go l.commitGroups()
	return l, nil
}

// Append writes one event before it returns; Seq, ID and Time are filled in. The event survives the death of the process, and a power cut
// once its group is synced.
func (l *Log) Append(e Event) error {
	n, err := l.write(e)
	if err != nil {
		return err
	}
	if l.cfg.Always {
		return l.syncTo(n)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// AppendDurable is Append, and the event is on disk when it returns.
func (l *Log) AppendDurable(e Event) error {
	n, err := l.write(e)
	if err != nil {
		return err
	}
	return l.syncTo(n)
}

func (l *Log) write(e Event) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return 0, l.broken
	}
	id, err := uuid.NewV7()
	if err != nil {
		return 0, fmt.Errorf("audit: event id: %w", err)
	}
	e.Seq, e.ID, e.Time = l.seq+1, "evt_"+id.String(), l.cfg.Now().UTC()
	line, err := e.line()
	if err != nil {
		return 0, fmt.Errorf("audit: event: %w", err)
	}
	if l.size >= segmentBytes {
		if err := l.rotate(); err != nil {
			return 0, l.breakDown(err)
		}
	}
	if _, err := l.file.Write(line); err != nil {
		return 0, l.breakDown(err)
	}
	l.index.add(e, place{l.segment, l.size, len(line) - 1})
	l.size += int64(len(line))
	l.seq++
	l.written++
	return l.written, nil
}

func (l *Log) breakDown(err error) error {
	l.broken = fmt.Errorf("audit: the log cannot be written: %w", err)
	return l.broken
}

// rotate closes the full segment, synced, and starts the next one.
func (l *Log) rotate() error {
	if err := l.file.Sync(); err != nil {
		return err
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	return l.openSegment(l.segment + 1)
}

func (l *Log) openSegment(n int) error {
	f, err := os.OpenFile(l.path(n), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := syncDir(l.cfg.Dir); err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.segment, l.size = f, n, 0
	return nil
}

// syncTo makes event n durable; concurrent callers share one fsync.
func (l *Log) syncTo(n uint64) error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	if l.synced >= n {
		return nil
	}
	l.mu.Lock()
	file, upTo, broken := l.file, l.written, l.broken
	l.mu.Unlock()
	if broken != nil {
		return broken
	}
	// A rotation in between has synced the old file itself, so syncing a closed one is no loss.
	if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.breakDown(err)
	}
	l.synced = upTo
	return nil
}

func (l *Log) commitGroups() {
	defer close(l.done)
	timer := time.NewTimer(l.cfg.GroupDelay)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
		}
		timer.Reset(l.cfg.GroupDelay)
		select {
		case <-l.stop:
			return
		case <-timer.C:
		}
		l.mu.Lock()
		n := l.written
		l.mu.Unlock()
		// A failure is kept in broken, and every later Append reports it.
		_ = l.syncTo(n)
	}
}

// Check reports why the log cannot take events, or nil.
func (l *Log) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Close syncs and closes the log.
func (l *Log) Close() error {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = errors.New("audit: the log is closed")
	}
	return errors.Join(l.file.Sync(), l.file.Close())
}

func (l *Log) path(n int) string { return filepath.Join(l.cfg.Dir, fmt.Sprintf("%06d.jsonl", n)) }
