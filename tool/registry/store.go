package registry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ostiary/internal/localdb"
	"ostiary/tool"
)

// LocalStore implements Store on the sidecar's SQLite file.
type LocalStore struct{ db *localdb.DB }

// NewLocalStore returns a store on db.
func NewLocalStore(db *localdb.DB) *LocalStore { return &LocalStore{db} }

// Get implements Store.
func (s *LocalStore) Get(ctx context.Context, tenant string, name tool.Name) ([]byte, error) {
	var doc []byte
	err := s.db.Read().QueryRowContext(ctx, `SELECT doc FROM tools WHERE tenant=? AND namespace=? AND name=?`, tenant, name.Namespace, name.Name).Scan(&doc)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("registry: read: %w", err)
	}
	return doc, nil
}

// Put implements Store.
func (s *LocalStore) Put(ctx context.Context, tenant string, name tool.Name, doc []byte) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO tools (tenant, namespace, name, doc) VALUES (?,?,?,?)
			ON CONFLICT (tenant, namespace, name) DO UPDATE SET doc=excluded.doc`, tenant, name.Namespace, name.Name, doc)
		if err != nil {
			return fmt.Errorf("registry: store: %w", err)
		}
		return nil
	})
}

// Delete implements Store.
func (s *LocalStore) Delete(ctx context.Context, tenant string, name tool.Name) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.Exec(`DELETE FROM tools WHERE tenant=? AND namespace=? AND name=?`, tenant, name.Namespace, name.Name)
		if err != nil {
			return fmt.Errorf("registry: delete: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(ErrNotFound, err)
		}
		return nil
	})
}

// List implements Store.
func (s *LocalStore) List(ctx context.Context, tenant string, after tool.Name, limit int) ([][]byte, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT doc FROM tools WHERE tenant=? AND (namespace, name) > (?, ?) ORDER BY namespace, name LIMIT ?`,
		tenant, after.Namespace, after.Name, limit)
	if err != nil {
		return nil, fmt.Errorf("registry: list: %w", err)
	}
	defer rows.Close()
	var out [][]byte
	for rows.Next() {
		var doc []byte
		if err := rows.Scan(&doc); err != nil {
			return nil, fmt.Errorf("registry: list: %w", err)
		}
		out = append(out, doc)
	}
	return out, rows.Err()
}
