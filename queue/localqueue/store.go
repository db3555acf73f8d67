package localqueue

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"ostiary/internal/localdb"
	"ostiary/queue"
)

// Store implements queue.Store on SQLite.
type Store struct{ db *localdb.DB }

var _ queue.Store = (*Store)(nil)

// New returns a store on db.
func New(db *localdb.DB) *Store { return &Store{db} }

// Open implements queue.Store.
func (s *Store) Open(ctx context.Context, item queue.Item, caps queue.Caps) (queue.Item, bool, error) {
	created := false
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		live, err := one(tx.QueryRow(`SELECT doc FROM reviews WHERE tenant=? AND session=? AND action_digest=? AND state IN ('open','approved')`,
			item.Tenant, item.Session, item.ActionDigest))
		if err == nil {
			item = live
			return nil
		}
		if !errors.Is(err, queue.ErrNotFound) {
			return err
		}
		if err := checkCaps(tx, item, caps); err != nil {
			return err
		}
		item.Version = 1
		created = true
		return insert(tx, item)
	})
	return item, created && err == nil, err
}

func checkCaps(tx *sql.Tx, item queue.Item, caps queue.Caps) error {
	var session, agent, tenant int
	err := tx.QueryRow(`SELECT count(*) FILTER (WHERE session=?), count(*) FILTER (WHERE agent=?), count(*) FROM reviews WHERE tenant=? AND state='open'`,
		item.Session, item.Agent, item.Tenant).Scan(&session, &agent, &tenant)
	if err != nil {
		return fmt.Errorf("localqueue: count: %w", err)
	}
	if session >= caps.PerSession || agent >= caps.PerAgent || tenant >= caps.PerTenant {
		return queue.ErrFull
	}
	return nil
}

func insert(tx *sql.Tx, item queue.Item) error {
	doc, err := json.Marshal(item)
	if err != nil {
		return fmt.Errorf("localqueue: item: %w", err)
	}
	_, err = tx.Exec(`INSERT INTO reviews (id, tenant, session, agent, tool, tier, state, action_digest, edited_digest, text, opened_at, expires_at, doc)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		item.ID, item.Tenant, item.Session, item.Agent, item.Tool.String(), string(item.Tier), string(item.State), item.ActionDigest, item.EditedDigest,
		searchText(item), item.OpenedAt.UnixMilli(), item.ExpiresAt.UnixMilli(), doc)
	if err != nil {
		return fmt.Errorf("localqueue: insert: %w", err)
	}
	return nil
}

func searchText(item queue.Item) string {
	return strings.ToLower(strings.Join([]string{item.ID, item.Tool.String(), item.Agent, item.Summary}, "\n"))
}

// Get implements queue.Store.
func (s *Store) Get(ctx context.Context, tenant, id string) (queue.Item, error) {
	return one(s.db.Read().QueryRowContext(ctx, `SELECT doc FROM reviews WHERE id=? AND tenant=?`, id, tenant))
}

// Latest implements queue.Store.
func (s *Store) Latest(ctx context.Context, tenant, session, digest string) (queue.Item, error) {
	return one(s.db.Read().QueryRowContext(ctx, `SELECT doc FROM (
			SELECT doc, opened_at, id FROM reviews WHERE tenant=?1 AND session=?2 AND action_digest=?3
			UNION ALL
			SELECT doc, opened_at, id FROM reviews WHERE tenant=?1 AND session=?2 AND edited_digest=?3
		) ORDER BY opened_at DESC, id DESC LIMIT 1`, tenant, session, digest))
}

// Update implements queue.Store.
func (s *Store) Update(ctx context.Context, tenant, id string, change func(*queue.Item) error) (queue.Item, error) {
	var item queue.Item
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		current, err := one(tx.QueryRow(`SELECT doc FROM reviews WHERE id=? AND tenant=?`, id, tenant))
		if err != nil {
			return err
		}
		item = current
		changed := current
		if err := change(&changed); err != nil {
			return err
		}
		changed.Version = current.Version + 1
		item = changed
		return update(tx, changed)
	})
	return item, err
}

func update(tx *sql.Tx, item queue.Item) error {
	doc, err := json.Marshal(item)
	if err != nil {
		return fmt.Errorf("localqueue: item: %w", err)
	}
	_, err = tx.Exec(`UPDATE reviews SET state=?, edited_digest=?, expires_at=?, doc=? WHERE id=?`,
		string(item.State), item.EditedDigest, item.ExpiresAt.UnixMilli(), doc, item.ID)
	if err != nil {
		return fmt.Errorf("localqueue: update: %w", err)
	}
	return nil
}

const (
	defaultLimit = 50
	maxLimit     = 200
)

// List implements queue.Store.
func (s *Store) List(ctx context.Context, f queue.Filter) (queue.Page, error) {
	where, args := conditions(f)
	var page queue.Page
	if err := s.db.Read().QueryRowContext(ctx, `SELECT count(*) FROM reviews WHERE `+where, args...).Scan(&page.Total); err != nil {
		return page, fmt.Errorf("localqueue: count: %w", err)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	if f.Cursor != "" {
		at, id, err := readCursor(f.Cursor)
		if err != nil {
			return page, err
		}
		where += ` AND (opened_at, id) < (?, ?)`
		args = append(args, at, id)
	}
	rows, err := s.db.Read().QueryContext(ctx, `SELECT doc FROM reviews WHERE `+where+` ORDER BY opened_at DESC, id DESC LIMIT ?`, append(args, limit+1)...)
	if err != nil {
		return page, fmt.Errorf("localqueue: list: %w", err)
	}
	if page.Items, err = many(rows); err != nil {
		return page, err
	}
	if len(page.Items) > limit {
		page.Items = page.Items[:limit]
		last := page.Items[limit-1]
		page.NextCursor = writeCursor(last.OpenedAt.UnixMilli(), last.ID)
	}
	return page, nil
}

// conditions writes the filter as SQL with placeholders only.
func conditions(f queue.Filter) (string, []any) {
	where, args := []string{"tenant=?"}, []any{f.Tenant}
	for _, c := range []struct{ column, value string }{
		{"state", string(f.State)}, {"tier", string(f.Tier)}, {"tool", f.Tool}, {"agent", f.Agent}, {"session", f.Session},
	} {
		if c.value != "" {
			where, args = append(where, c.column+"=?"), append(args, c.value)
		}
	}
	if f.Text != "" {
		where, args = append(where, "instr(text, ?) > 0"), append(args, strings.ToLower(f.Text))
	}
	return strings.Join(where, " AND "), args
}

func writeCursor(at int64, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at, 10) + " " + id))
}

func readCursor(cursor string) (int64, string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, "", queue.ErrCursor
	}
	head, id, found := strings.Cut(string(raw), " ")
	at, err := strconv.ParseInt(head, 10, 64)
	if !found || err != nil {
		return 0, "", queue.ErrCursor
	}
	return at, id, nil
}

// Due implements queue.Store.
func (s *Store) Due(ctx context.Context, now time.Time) ([]queue.Item, error) {
	rows, err := s.db.Read().QueryContext(ctx, `SELECT doc FROM reviews WHERE state IN ('open','approved') AND expires_at <= ?`, now.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("localqueue: due: %w", err)
	}
	return many(rows)
}

// UsePermit implements queue.Store.
func (s *Store) UsePermit(ctx context.Context, jti string, at time.Time, before func() error) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.Exec(`INSERT INTO used_permits (jti, used_at) VALUES (?,?) ON CONFLICT DO NOTHING`, jti, at.UnixMilli())
		if err != nil {
			return fmt.Errorf("localqueue: use permit: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(queue.ErrUsed, err)
		}
		return before()
	})
}

func one(row *sql.Row) (queue.Item, error) {
	var doc []byte
	if err := row.Scan(&doc); errors.Is(err, sql.ErrNoRows) {
		return queue.Item{}, queue.ErrNotFound
	} else if err != nil {
		return queue.Item{}, fmt.Errorf("localqueue: read: %w", err)
	}
	return read(doc)
}

func many(rows *sql.Rows) ([]queue.Item, error) {
	defer rows.Close()
	var items []queue.Item
	for rows.Next() {
		var doc []byte
		if err := rows.Scan(&doc); err != nil {
			return nil, fmt.Errorf("localqueue: read: %w", err)
		}
		item, err := read(doc)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

func read(doc []byte) (queue.Item, error) {
	var item queue.Item
	if err := json.Unmarshal(doc, &item); err != nil {
		return item, fmt.Errorf("localqueue: item: %w", err)
	}
	return item, nil
}
