package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary"
	"ostiary/decision"
	"ostiary/tool"
)

// DecisionRequest asks whether a call may run: POST /v1/decisions.
type DecisionRequest struct {
	SessionID       string         `json:"session_id"`
	ParentSessionID string         `json:"parent_session_id,omitempty"`
	RequestID       string         `json:"request_id,omitempty"`
	Iteration       int            `json:"iteration,omitzero"`
	InvocationID    string         `json:"invocation_id,omitempty"`
	Tool            tool.Name      `json:"tool"`
	Input           jsontext.Value `json:"input"`
	Confidence      *float64       `json:"confidence,omitempty"`
	Verdict         string         `json:"verdict,omitempty"`
	Evidence        *Evidence      `json:"evidence,omitempty"`
	Context         *CallContext   `json:"context,omitempty"`
	// WaitMS holds the answer until the review ends or the time is up; 0 answers at once.
	WaitMS     int  `json:"wait_ms,omitzero"`
	WantPermit bool `json:"want_permit,omitzero"`
}

// Evidence is what the caller's confidence rests on.
type Evidence struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings"`
}

// CheckConfidence refuses a confidence outside 0 to 1; an absent one is none.
func CheckConfidence(c *float64) error {
	if c != nil && (*c < 0 || *c > 1) {
		return &ostiary.Error{Kind: ostiary.KindInvalidField, Pointer: "/confidence", Msg: "confidence must lie between 0 and 1"}
	}
	return nil
}

// CallContext is what the caller adds about a call. Annotations are hints: they can only make the call more dangerous.
type CallContext struct {
	UserRequest   string           `json:"user_request,omitempty"`
	CWD           string           `json:"cwd,omitempty"`
	Annotations   tool.Annotations `json:"annotations,omitzero"`
	Justification string           `json:"justification,omitempty"`
}

// Decision is the answer to a DecisionRequest and the document of a review (B8).
type Decision struct {
	SchemaVersion          string         `json:"schema_version"`
	DecisionID             string         `json:"decision_id"`
	InvocationID           string         `json:"invocation_id"`
	Behavior               string         `json:"behavior"`
	Mode                   string         `json:"mode"`
	Source                 string         `json:"source"`
	Reason                 string         `json:"reason"`
	Reasons                []Reason       `json:"reasons"`
	RuleRefs               []string       `json:"rule_refs"`
	PolicyRefs             []string       `json:"policy_refs"`
	Obligations            []string       `json:"obligations"`
	SuggestedUpdates       []string       `json:"suggested_updates"`
	UpdatedInput           jsontext.Value `json:"updated_input"`
	UserModified           bool           `json:"user_modified"`
	PendingClassifierCheck bool           `json:"pending_classifier_check"`
	BlockedPath            *string        `json:"blocked_path"`
	ContentBlocks          []ContentBlock `json:"content_blocks"`
	AcceptFeedback         bool           `json:"accept_feedback"`
	ActionDigest           string         `json:"action_digest"`
	DecidedAt              time.Time      `json:"decided_at"`
	ExpiresAt              *time.Time     `json:"expires_at"`
	Review                 *Review        `json:"review"`
	Permit                 *string        `json:"permit"`
}

// DecisionOf maps a decision onto the wire; lists are never null.
func DecisionOf(d decision.Decision) Decision {
	doc := Decision{
		SchemaVersion: ostiary.SchemaVersion, DecisionID: d.ID, InvocationID: d.InvocationID, Behavior: d.Behavior.String(), Mode: "enforce",
		Source: d.Source, Reason: d.Reason, Reasons: make([]Reason, 0, len(d.Reasons)), RuleRefs: d.RuleRefs(), PolicyRefs: []string{},
		Obligations: append([]string{}, d.Obligations...), SuggestedUpdates: []string{}, UpdatedInput: d.UpdatedInput,
		UserModified: len(d.UpdatedInput) > 0, ContentBlocks: []ContentBlock{}, AcceptFeedback: true,
		ActionDigest: d.ActionDigest, DecidedAt: d.DecidedAt,
	}
	if d.Revision != "" {
		doc.PolicyRefs = append(doc.PolicyRefs, d.Revision)
	}
	if d.BlockedPath != "" {
		doc.BlockedPath = &d.BlockedPath
	}
	if !d.ExpiresAt.IsZero() {
		doc.ExpiresAt = &d.ExpiresAt
	}
	for _, r := range d.Reasons {
		doc.Reasons = append(doc.Reasons, Reason(r))
	}
	return doc
}

// Reason is one reason of a decision; Pointer names the place in the arguments when there is one.
type Reason struct {
	ID       string `json:"id"`
	Policy   string `json:"policy"`
	Reason   string `json:"reason"`
	Severity string `json:"severity,omitempty"`
	Pointer  string `json:"pointer,omitempty"`
}

// ContentBlock is a piece of text for the model, such as a reviewer's answer.
type ContentBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Review points to the item that a person will rule on.
type Review struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// RedeemRequest uses a permit: POST /v1/permits/redeem.
type RedeemRequest struct {
	Permit    string         `json:"permit"`
	SessionID string         `json:"session_id"`
	Tool      tool.Name      `json:"tool"`
	Input     jsontext.Value `json:"input"`
}

// RedeemResponse says that the permit was good, once.
type RedeemResponse struct {
	OK  bool   `json:"ok"`
	JTI string `json:"jti"`
}
