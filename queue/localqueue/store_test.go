package localqueue_test

import (
	"context"
	"path/filepath"
	"testing"

	"ostiary/internal/localdb"
	"ostiary/queue"
	"ostiary/queue/localqueue"
	"ostiary/queue/queuetest"
)

type file string

func (f file) Open(t testing.TB) (queue.Store, func()) {
	t.Helper()
	db, err := localdb.Open(context.Background(), string(f))
	if err != nil {
		t.Fatal(err)
	}
	return localqueue.New(db), func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func fresh(t testing.TB) queuetest.Place { return file(filepath.Join(t.TempDir(), "q.db")) }

func TestStore(t *testing.T)      { queuetest.Run(t, fresh) }
func BenchmarkStore(b *testing.B) { queuetest.Bench(b, fresh) }
