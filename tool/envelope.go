package tool

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Status is the outcome of a call (A6).
type Status string

// The four outcomes; empty is not an error (A7).
const (
	OK       Status = "ok"
	Degraded Status = "degraded"
	Empty    Status = "empty"
	Failed   Status = "error"
)

// Envelope is the one form in which results travel (A6).
type Envelope struct {
	Status   Status         `json:"status"`
	Data     jsontext.Value `json:"data"`
	Warnings []string       `json:"warnings"`
	Error    *CallError     `json:"error"`
	Meta     Meta           `json:"meta"`
}

// CallError is the error object of a failed call (A8).
type CallError struct {
	Code              string   `json:"code"`
	Message           string   `json:"message"`
	Detail            string   `json:"detail,omitempty"`
	Recovery          string   `json:"recovery_suggestion,omitempty"`
	NextSteps         []string `json:"next_steps,omitempty"`
	CanRetry          bool     `json:"can_retry"`
	RetryAfterSeconds int      `json:"retry_after_seconds,omitzero"`
}

// Meta describes the run of a call (A11). Members that we do not name are kept.
type Meta struct {
	DurationMS        int64          `json:"duration_ms"`
	Provider          string         `json:"provider,omitempty"`
	CacheHit          bool           `json:"cache_hit"`
	InputFingerprint  string         `json:"input_fingerprint,omitempty"`
	OutputFingerprint string         `json:"output_fingerprint,omitempty"`
	RedactionApplied  bool           `json:"redaction_applied"`
	Truncated         bool           `json:"truncated,omitzero"`
	OriginalLength    int            `json:"original_length,omitzero"`
	ReturnedLength    int            `json:"returned_length,omitzero"`
	Summary           string         `json:"summary,omitempty"`
	Unknown           jsontext.Value `json:",embed"`
}

// Warnings that we add ourselves; stable constants (A10).
const (
	WarnPIIRedacted    = "pii_redacted"
	WarnSecretRedacted = "secret_redacted"
	WarnTruncated      = "truncated_output"
)

// Check reports what makes the envelope contradict itself (A6, A7).
func (e Envelope) Check() error {
	switch e.Status {
	case OK, Empty:
		return nil
	case Degraded:
		if len(e.Warnings) == 0 && len(e.Meta.Unknown) == 0 {
			return fmt.Errorf("status is degraded, and neither warnings nor meta say why")
		}
		return nil
	case Failed:
		if e.Error == nil || e.Error.Code == "" {
			return fmt.Errorf("status is error, and the error object is missing")
		}
		return nil
	default:
		return fmt.Errorf("status is %q, want ok, degraded, empty or error", e.Status)
	}
}
