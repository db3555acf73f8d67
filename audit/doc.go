// Package audit keeps the append-only record of what was decided and what came of it: one JSON line per event in segment files that are
// only ever appended to. No record, no effect: callers append before they answer.
package audit
