package localdb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ostiary/internal/localdb"
)

func open(t testing.TB, path string) *localdb.DB {
	t.Helper()
	db, err := localdb.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func insert(jti string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO used_permits (jti, used_at) VALUES (?, 1)`, jti)
		return err
	}
}

func count(t testing.TB, db *localdb.DB) (n int) {
	t.Helper()
	if err := db.Read().QueryRow(`SELECT count(*) FROM used_permits`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAFailedWriteIsUndoneAlone(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	defer db.Close()
	no := errors.New("no")
	// The first write holds the writer, so that the others gather in one group behind it.
	entered, release := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		if err := db.Write(context.Background(), func(*sql.Tx) error {
			close(entered)
			<-release
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-entered
	for i := range 60 {
		group.Go(func() {
			err := db.Write(context.Background(), func(tx *sql.Tx) error {
				if err := insert(fmt.Sprint(i))(tx); err != nil {
					return err
				}
				switch i % 3 {
				case 1:
					return no
				case 2:
					return insert(fmt.Sprint(i))(tx) // violates the primary key
				}
				return nil
			})
			if (err == nil) != (i%3 == 0) || i%3 == 1 && !errors.Is(err, no) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	close(release)
	group.Wait()
	if n := count(t, db); n != 20 {
		t.Errorf("%d of 20 good writes are there", n)
	}
}

func TestAWriteWhoseCallerHasGoneIsNotMade(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	defer db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.Write(ctx, insert("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestWhatIsWrittenIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	if err := db.Write(context.Background(), insert("a")); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, path)
	defer db.Close()
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestAClosedFileTakesNothing(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := db.Write(context.Background(), insert("a")); !errors.Is(err, localdb.ErrClosed) {
			t.Fatalf("%v", err)
		}
	}
}

func TestClosingUnderLoadTellsTheTruthAboutEveryWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	var mu sync.Mutex
	stored := 0
	var group sync.WaitGroup
	started := make(chan struct{}, 50)
	for i := range 50 {
		group.Go(func() {
			started <- struct{}{}
			err := db.Write(context.Background(), insert(fmt.Sprint(i)))
			if err != nil && !errors.Is(err, localdb.ErrClosed) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				stored++
			}
		})
	}
	for range 25 {
		<-started
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	db = open(t, path)
	defer db.Close()
	if n := count(t, db); n != stored {
		t.Errorf("%d rows are there, %d were acknowledged", n, stored)
	}
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	defer db.Close()
	for _, text := range []string{`INSERT INTO used_permits VALUES ('a', 1)`, `DELETE FROM reviews`, `DROP TABLE tools`, `CREATE TABLE x (y)`} {
		if _, err := db.Read().Exec(text); err == nil || !strings.Contains(err.Error(), "readonly") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	defer db.Close()
	if err := db.Write(context.Background(), insert("a")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(f)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info, err)
		}
	}
}

func TestAFileThatIsNotOursIsRefused(t *testing.T) {
	t.Parallel()
	newer := filepath.Join(t.TempDir(), "newer.db")
	db := open(t, newer)
	err := db.Write(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`PRAGMA user_version = 99`)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{newer: "newer version", garbage: "not a database", t.TempDir(): "localdb"} {
		if db, err := localdb.Open(context.Background(), path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", path, db, err)
		}
	}
}
