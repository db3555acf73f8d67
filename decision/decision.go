package decision

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"ostiary"
	"ostiary/tool"
)

// Verdict is one rule's opinion.
type Verdict struct {
	ID          string   `json:"id"`
	Policy      string   `json:"policy"`
	Behavior    Behavior `json:"behavior"`
	Reason      string   `json:"reason"`
	Severity    string   `json:"severity,omitempty"`
	Obligations []string `json:"obligations,omitempty"`
	// BlockedPath is the protected path that made the rule speak.
	BlockedPath string `json:"blocked_path,omitempty"`
}

// What a verdict can oblige to.
const (
	// ObligationReason asks the reviewer who approves for a reason.
	ObligationReason = "reason"
	// ObligationCite asks the agent to mark its conclusion as [Inferred] (A18).
	ObligationCite = "cite_as_inferred"
)

// Inferred is the mark of a conclusion that rests on text from outside (A18).
const Inferred = "inferred from text, needs review"

// Outcome is what the engine answers: the verdicts of one evaluation, combined. The zero Outcome denies.
type Outcome struct {
	Behavior Behavior
	// Spoke is false when no rule had a verdict; Behavior then means nothing and the profile's default applies.
	Spoke    bool
	Verdicts []Verdict
	// Revision names the snapshot that answered: "sha256:…".
	Revision string
}

// Reason is why, for the agent and for the reviewer.
type Reason struct {
	ID       string `json:"id"`
	Policy   string `json:"policy"`
	Reason   string `json:"reason"`
	Severity string `json:"severity,omitempty"`
	Pointer  string `json:"pointer,omitempty"`
}

// Origin of a decision (wire.md §2).
const (
	SourcePolicy   = "policy"
	SourceReview   = "review"
	SourceContract = "contract"
	SourceError    = "error"
)

// Decision is the record of B8.
type Decision struct {
	ID           string
	InvocationID string
	Behavior     Behavior
	Source       string
	Reason       string // one sentence for the agent
	Reasons      []Reason
	Obligations  []string
	Revision     string
	ActionDigest string
	UpdatedInput jsontext.Value // set when a reviewer edited the call
	BlockedPath  string         // the protected path that made a rule deny, when one did
	DecidedAt    time.Time
	ExpiresAt    time.Time
}

// RuleRefs lists the ids of the rules that decided.
func (d Decision) RuleRefs() []string {
	refs := make([]string, 0, len(d.Reasons))
	for _, r := range d.Reasons {
		refs = append(refs, r.ID)
	}
	return refs
}

// Combine turns verdicts into a behavior: the strictest wins, so order cannot matter. It reports false when there is none.
func Combine(verdicts []Verdict) (Behavior, bool) {
	if len(verdicts) == 0 {
		return Deny, false
	}
	b := Passthrough
	for _, v := range verdicts {
		b = min(b, v.Behavior)
	}
	return b, true
}

// Reasons returns the verdicts that carried the day: those as strict as b.
func Reasons(verdicts []Verdict, b Behavior) []Reason {
	var out []Reason
	for _, v := range verdicts {
		if v.Behavior == b {
			out = append(out, Reason{ID: v.ID, Policy: v.Policy, Reason: v.Reason, Severity: v.Severity})
		}
	}
	return out
}

// Carried joins what the verdicts that carried the day oblige to, and the first path that one of them blocked.
func Carried(verdicts []Verdict, b Behavior) (obligations []string, blockedPath string) {
	for _, v := range verdicts {
		if v.Behavior != b {
			continue
		}
		obligations = append(obligations, v.Obligations...)
		if blockedPath == "" {
			blockedPath = v.BlockedPath
		}
	}
	slices.Sort(obligations)
	return slices.Compact(obligations), blockedPath
}

// NewID returns a fresh id of a decision; ids sort by time.
func NewID() string { return "dec_" + uuid.Must(uuid.NewV7()).String() }

// FromPolicy turns an outcome into a decision. When no rule spoke, otherwise applies: ask, allow or passthrough.
func FromPolicy(out Outcome, otherwise Behavior) Decision {
	if !out.Spoke {
		why := silence(otherwise)
		return Decision{Behavior: otherwise, Source: SourcePolicy, Reason: why, Revision: out.Revision,
			Reasons: []Reason{{ID: "default." + otherwise.String(), Policy: "ostiary", Reason: why, Severity: "low"}}}
	}
	reasons := Reasons(out.Verdicts, out.Behavior)
	obligations, path := Carried(out.Verdicts, out.Behavior)
	return Decision{Behavior: out.Behavior, Source: SourcePolicy, Reason: reasons[0].Reason, Reasons: reasons, Revision: out.Revision,
		Obligations: obligations, BlockedPath: path}
}

// silence says what it means that no rule spoke.
func silence(b Behavior) string {
	switch b {
	case Allow:
		return "no rule speaks against it"
	case Passthrough:
		return "no rule speaks of this call; the host's own prompt applies"
	default:
		return "no rule speaks of this call, so a person is asked"
	}
}

// Failure is the decision for something missing on our side: it denies and names the kind (trust.md §3).
func Failure(err error) Decision {
	said := ostiary.Public(err)
	return Decision{
		Behavior: Deny, Source: SourceError, Reason: said.Msg,
		Reasons: []Reason{{ID: string(said.Kind), Policy: "ostiary", Reason: said.Msg, Severity: "high"}},
	}
}

// Contract is the decision for arguments that do not fit the tool's schema.
func Contract(faults []tool.Fault) Decision {
	d := Decision{Behavior: Deny, Source: SourceContract, Reason: "the arguments do not fit the tool's input schema: " + faults[0].Message}
	for _, f := range faults {
		d.Reasons = append(d.Reasons, Reason{ID: "contract.invalid_arguments", Policy: "ostiary", Reason: f.Message, Severity: "medium", Pointer: f.Pointer})
	}
	return d
}
