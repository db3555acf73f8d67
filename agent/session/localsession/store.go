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
		_, err := tx.Exec(`INSERT INTO sessions (tenant, id, agent, tainted_at, doc) VALUES (?,?,?,?,?)
			ON CONFLICT (tenant, id) DO UPDATE SET tainted_at=excluded.tainted_at, doc=excluded.doc`, rec.Tenant, rec.ID, rec.Agent, tainted, doc)
		if err != nil {
			return fmt.Errorf("localsession: save: %w", err)
		}
		return nil
	})
}

// LastTaint implements session.Store.
func (s *Store) LastTaint(ctx context.Context, tenant, agent string) (time.Time, error) {
	var at sql.NullInt64
	err := s.db.Read().QueryRowContext(ctx, `SELECT max(tainted_at) FROM sessions WHERE tenant=? AND agent=?`, tenant, agent).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("localsession: last taint: %w", err)
	}
	if at.Int64 == 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(at.Int64), nil
}
