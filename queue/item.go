package queue

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/decision"
	"ostiary/queue/view"
	"ostiary/tool"
)

// Tier is how much harm the call could do; it sets how much friction approving has.
type Tier string

// Tiers, from the mildest.
const (
	TierLow    Tier = "low"
	TierMedium Tier = "medium"
	TierHigh   Tier = "high"
)

// Kinds of items.
const (
	KindCall       = "call"
	KindResult     = "result"
	KindConclusion = "conclusion"
)

// Item is one call, result or conclusion that waits for a person.
type Item struct {
	ID      string
	State   State
	Version int64 // grows by one with every change; a ruling names the version it was made on
	Kind    string

	Tenant  string
	Agent   string // the agent's subject
	Owner   string // the person the agent works for; may not rule on it
	Profile string
	Session string

	InvocationID string
	DecisionID   string
	Tool         tool.Name
	Definition   string // the declaration's pin
	Input        []byte // the exact JSON bytes that were asked about; no encoder may touch them
	// CWD and Hints are what the caller told of the call's surroundings; the call is judged by them again before it runs.
	CWD          string
	Hints        tool.Annotations
	ActionDigest string
	ViewDigest   string          // digest of arguments, tool, agent, session, summary and tier as shown; what a ruling vouches for
	View         []view.Argument `json:"-"` // rendered from Input when the item is read; secrets masked
	EditedView   []view.Argument `json:"-"` // the same of EditedInput

	Tier           Tier
	Summary        string // one server-written sentence of what will happen
	Reasons        []decision.Reason
	Provenance     []decision.ArgOrigin
	Risk           tool.Risk
	RiskSource     tool.Source
	Justification  string // the agent's own words, unchecked
	Badges         []string
	Uninspectable  bool
	Obligations    []string
	PolicyRevision string

	Rulings []Ruling
	// EditedInput is what was approved instead of Input; EditedDigest its action digest. Empty unless a reviewer edited.
	EditedInput  []byte
	EditedDigest string
	PermitID     string // jti of every permit minted for this item, so that one redemption uses them all up
	// ClosedBy says in one sentence why the item ended otherwise than by a ruling.
	ClosedBy string

	OpenedAt   time.Time
	ExpiresAt  time.Time // of the question while open, of the approval once approved
	ResolvedAt time.Time
}

// Approvable returns the bytes and digest that an approval covers: the reviewer's edit, or what was asked.
func (i Item) Approvable() ([]byte, string) {
	if len(i.EditedInput) > 0 {
		return i.EditedInput, i.EditedDigest
	}
	return i.Input, i.ActionDigest
}

// RulingKind is what a person said.
type RulingKind string

// Kinds of rulings.
const (
	Approve RulingKind = "approve"
	Deny    RulingKind = "deny"
	Edit    RulingKind = "edit"
	Respond RulingKind = "respond"
)

// Ruling is one person's word on an item.
type Ruling struct {
	Kind         RulingKind     `json:"kind"`
	Version      int64          `json:"version"`
	ActionDigest string         `json:"action_digest"`
	ViewDigest   string         `json:"view_digest"`
	ReasonCode   string         `json:"reason_code,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	EditedInput  jsontext.Value `json:"edited_input,omitempty"`
	Text         string         `json:"text,omitempty"`
	Person       string         `json:"person"`
	At           time.Time      `json:"at"`
}

// Filter selects items for a list; zero fields do not restrict.
type Filter struct {
	Tenant  string
	State   State
	Tier    Tier
	Tool    string
	Agent   string
	Session string
	Text    string
	Cursor  string
	Limit   int // default 50, at most 200
}

// Page is one page of a list.
type Page struct {
	Items      []Item
	NextCursor string
	Total      int
}
