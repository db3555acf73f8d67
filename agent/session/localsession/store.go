package localsession

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary/agent/session"
	"ostiary/internal/localdb"
)

// Store implements session.Store on SQLite.
type Store struct{ db *localdb.DB }

var _ session.Store = (*Store)(nil)

// New returns a store on db.
func New(db *localdb.DB) *Store { return &Store{db} }

// Load implements session.Store.
func (s *Store) Load(ctx context.Context, tenant, id string) (session.Record, error) {
	var doc []byte
	err := s.db.Read().QueryRowContext(ctx, `SELECT doc FROM sessions WHERE tenant=? AND id=?`, tenant, id).Scan(&doc)
	if errors.Is(err, sql.ErrNoRows) {
		return session.Record{}, session.ErrNotFound
	}
	var rec session.Record
	if err == nil {
		err = json.Unmarshal(doc, &rec)
	}
	if err != nil {
		return rec, fmt.Errorf("localsession: load: %w", err)
	}
	return rec, nil
}

// Save implements session.Store.
func (s *Store) Save(ctx context.Context, rec session.Record) error {
	doc, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("localsession: record: %w", err)
	}
	var tainted int64
	if !rec.TaintedAt.IsZero() {
		tainted = rec.TaintedAt.UnixMilli()
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO sessions (tenant, id, agent, tainted_at, epoch, doc) VALUES (?,?,?,?,?,?)
			ON CONFLICT (tenant, id) DO UPDATE SET tainted_at=excluded.tainted_at, epoch=excluded.epoch, doc=excluded.doc`,
			rec.Tenant, rec.ID, rec.Agent, tainted, rec.Epoch, doc)
		if err != nil {
			return fmt.Errorf("localsession: save: %w", err)
		}
		return nil
	})
}

// TaintedElsewhere implements session.Store.
func (s *Store) TaintedElsewhere(ctx context.Context, tenant, agent, epoch string, since time.Time) (bool, error) {
	var found bool
	err := s.db.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sessions WHERE tenant=? AND agent=? AND tainted_at > ? AND epoch != ?)`,
		tenant, agent, since.UnixMilli(), epoch).Scan(&found)
	if err != nil {
		return false, fmt.Errorf("localsession: tainted elsewhere: %w", err)
	}
	return found, nil
}
