package audit

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Class is the kind of an event.
type Class string

// Event classes that the sidecar emits.
const (
	SessionMessage Class = "session_message"
	CallDecided    Class = "call_decided"
	ReviewOpened   Class = "review_opened"
	RulingRecorded Class = "ruling_recorded"
	ReviewClosed   Class = "review_closed"
	PermitMinted   Class = "permit_minted"
	PermitRedeemed Class = "permit_redeemed"
	PermitRefused  Class = "permit_refused"
	ResultCleaned  Class = "result_cleaned"
	ResultWithheld Class = "result_withheld"
	ValueRevealed  Class = "value_revealed"
	ToolDeclared   Class = "tool_declared"
	ToolRemoved    Class = "tool_removed"
	SidecarStarted Class = "sidecar_started"
	SidecarStopped Class = "sidecar_stopped"
	ValueEndorsed  Class = "value_endorsed"
	// ConclusionDecided: an agent asked whether it may state what it concludes.
	ConclusionDecided Class = "conclusion_decided"
	// PolicyActivated: other policies are about to be in force.
	PolicyActivated Class = "policy_activated"
	// PolicyRolledBack: somebody is about to go back to the policies before.
	PolicyRolledBack Class = "policy_rolled_back"
)

// Event is one line of the log. Every field is safe to read: arguments are masked before they get here, digests of them are keyed (A27).
type Event struct {
	Seq     uint64    `json:"seq"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Class   Class     `json:"event"`
	Tenant  string    `json:"tenant,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session_id,omitempty"`
	Request string    `json:"request_id,omitempty"`

	Iteration    int    `json:"iteration,omitzero"`
	InvocationID string `json:"invocation_id,omitempty"`
	DecisionID   string `json:"decision_id,omitempty"`
	ReviewID     string `json:"review_id,omitempty"`
	PermitID     string `json:"permit_id,omitempty"`
	Tool         string `json:"tool,omitempty"`

	Behavior  string   `json:"behavior,omitempty"`
	Source    string   `json:"source,omitempty"`
	Rules     []string `json:"rules,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Revision  string   `json:"revision,omitempty"`
	ArgsMAC   string   `json:"args_mac,omitempty"`
	State     string   `json:"state,omitempty"`
	Ruling    string   `json:"ruling,omitempty"`
	Person    string   `json:"person,omitempty"`
	Status    string   `json:"status,omitempty"`
	ErrorCode string   `json:"error_code,omitempty"`
	Labels    []string `json:"labels,omitempty"`

	DurationMS    int64          `json:"duration_ms,omitzero"`
	WarningsCount int            `json:"warnings_count,omitzero"`
	Findings      map[string]int `json:"findings,omitzero"`
	Args          jsontext.Value `json:"args,omitempty"` // masked arguments
	Kind          string         `json:"kind,omitempty"` // why something was refused
}
