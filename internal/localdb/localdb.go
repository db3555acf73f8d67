package localdb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// groupMax bounds how many writes share one commit.
const groupMax = 128

// ErrClosed is returned by Write after Close.
var ErrClosed = errors.New("localdb: closed")

// DB is the open file. It is safe for concurrent use.
type DB struct {
	readers *sql.DB
	writer  *sql.DB
	queue   chan *write
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
}

type write struct {
	ctx  context.Context
	fn   func(*sql.Tx) error
	done chan error
}

// Open opens or creates the file at path (mode 0600, WAL, synchronous=FULL) and brings its schema up to date.
func Open(ctx context.Context, path string) (*DB, error) {
	// The driver would make the file, and the two beside it that take after it, readable by others.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("localdb: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("localdb: %w", err)
	}
	dsn := "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	writer, err := sql.Open("sqlite", dsn+"&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("localdb: %w", err)
	}
	writer.SetMaxOpenConns(1)
	if err := migrate(ctx, writer); err != nil {
		return nil, errors.Join(fmt.Errorf("localdb: %w", err), writer.Close())
	}
	readers, err := sql.Open("sqlite", dsn+"&_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("localdb: %w", err), writer.Close())
	}
	readers.SetMaxOpenConns(4)
	d := &DB{readers: readers, writer: writer, queue: make(chan *write, groupMax), stop: make(chan struct{}), done: make(chan struct{})}
	go d.commitGroups()
	return d, nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	var have int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > len(names) {
		return fmt.Errorf("the file was written by a newer version (schema %d, this one knows %d)", have, len(names))
	}
	for n := have; n < len(names); n++ {
		text, err := migrations.ReadFile(names[n])
		if err != nil {
			return err
		}
		if err := step(ctx, db, string(text), n+1); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(names[n], "migrations/"), err)
		}
	}
	return nil
}

func step(ctx context.Context, db *sql.DB, text string, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		return err
	}
	return tx.Commit()
}

// Read returns the pool of read-only connections.
func (d *DB) Read() *sql.DB { return d.readers }

// Write runs fn in a transaction of the one writer and returns when it is on disk. Several writes may share a commit; an error of fn
// undoes only fn's own changes. fn must not call Write.
func (d *DB) Write(ctx context.Context, fn func(*sql.Tx) error) error {
	w := &write{ctx: ctx, fn: fn, done: make(chan error, 1)}
	select {
	case <-d.stop:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	case d.queue <- w:
	}
	// Once queued the outcome is awaited even when ctx ends: a caller must know whether its write is on disk.
	select {
	case err := <-w.done:
		return err
	case <-d.done:
		select {
		case err := <-w.done: // the last group was still written
			return err
		default:
			return ErrClosed
		}
	}
}

func (d *DB) commitGroups() {
	defer close(d.done)
	for {
		select {
		case <-d.stop:
			return
		case first := <-d.queue:
			d.commit(d.gather(first))
		}
	}
}

// gather takes what is waiting already; it never waits for more.
func (d *DB) gather(first *write) []*write {
	group := []*write{first}
	for len(group) < groupMax {
		select {
		case w := <-d.queue:
			group = append(group, w)
		default:
			return group
		}
	}
	return group
}

func (d *DB) commit(group []*write) {
	errs := make([]error, len(group))
	err := d.transact(group, errs)
	for i, w := range group {
		if err != nil {
			w.done <- err
			continue
		}
		w.done <- errs[i]
	}
}

func (d *DB) transact(group []*write, errs []error) error {
	tx, err := d.writer.BeginTx(context.Background(), nil)
	if err != nil {
		return fmt.Errorf("localdb: begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	for i, w := range group {
		if errs[i] = w.ctx.Err(); errs[i] != nil {
			continue
		}
		if err := apply(tx, w.fn, &errs[i]); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("localdb: commit: %w", err)
	}
	return nil
}

// apply runs one write inside a savepoint; a failure of the savepoint itself fails the group.
func apply(tx *sql.Tx, fn func(*sql.Tx) error, result *error) error {
	if _, err := tx.Exec("SAVEPOINT w"); err != nil {
		return fmt.Errorf("localdb: savepoint: %w", err)
	}
	if *result = fn(tx); *result != nil {
		if _, err := tx.Exec("ROLLBACK TO w"); err != nil {
			return fmt.Errorf("localdb: roll back: %w", err)
		}
	}
	if _, err := tx.Exec("RELEASE w"); err != nil {
		return fmt.Errorf("localdb: release: %w", err)
	}
	return nil
}

// Close finishes the writes under way and closes the file.
func (d *DB) Close() error {
	d.once.Do(func() { close(d.stop) })
	<-d.done
	return errors.Join(d.readers.Close(), d.writer.Close())
}
