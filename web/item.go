package web

import (
	"encoding/base64"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ostiary/agent"
	"ostiary/decision"
	"ostiary/queue"
	"ostiary/queue/view"
	"ostiary/tool"
)

// document is an item on the wire (wire.md §5, Console).
type document struct {
	ID           string      `json:"id"`
	State        queue.State `json:"state"`
	Version      int64       `json:"version"`
	ActionDigest string      `json:"action_digest"`
	ViewDigest   string      `json:"view_digest"`
	Kind         string      `json:"kind"`

	Tool       tool.Name   `json:"tool"`
	Definition string      `json:"definition_digest"`
	Agent      string      `json:"agent"`
	Owner      string      `json:"owner,omitempty"`
	Profile    string      `json:"profile,omitempty"`
	SessionID  string      `json:"session_id"`
	Tier       queue.Tier  `json:"tier"`
	Summary    string      `json:"summary"`
	Risk       tool.Risk   `json:"risk"`
	RiskSource tool.Source `json:"risk_source"`

	// Arguments and what follows them are absent in lists.
	Arguments []view.Argument `json:"arguments,omitempty"`
	// Raw is base64 of the exact bytes; absent while a part of them is masked.
	Raw            string               `json:"raw,omitempty"`
	Reasons        []decision.Reason    `json:"reasons"`
	Provenance     []decision.ArgOrigin `json:"provenance,omitempty"`
	Annotations    *tool.Risk           `json:"annotations,omitempty"`
	Justification  string               `json:"justification,omitempty"`
	Badges         []string             `json:"badges"`
	Uninspectable  bool                 `json:"uninspectable"`
	Obligations    []string             `json:"obligations"`
	PolicyRevision string               `json:"policy_revision,omitempty"`
	InvocationID   string               `json:"invocation_id,omitempty"`
	Rulings        []ruling             `json:"rulings"`

	// ApprovedView is what a reviewer made of the arguments; ApprovedInput its JSON, absent while a part of it is masked.
	ApprovedView   []view.Argument `json:"approved_view,omitempty"`
	ApprovedInput  jsontext.Value  `json:"approved_input,omitempty"`
	ApprovedDigest string          `json:"approved_digest,omitempty"`
	ClosedBy       string          `json:"closed_by,omitempty"`
	OpenedAt       time.Time       `json:"opened_at"`
	ExpiresAt      time.Time       `json:"expires_at"`
	ResolvedAt     *time.Time      `json:"resolved_at,omitempty"`
	Now            time.Time       `json:"now"` // the server's clock, for the countdown
}

// ruling is one person's word without the digests it was given on.
type ruling struct {
	Kind       queue.RulingKind `json:"kind"`
	Person     string           `json:"person"`
	ReasonCode string           `json:"reason_code,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	Text       string           `json:"text,omitempty"`
	At         time.Time        `json:"at"`
}

// summarize is an item as it stands in a list.
func (c *Console) summarize(it queue.Item) document {
	d := document{
		ID: it.ID, State: it.State, Version: it.Version, ActionDigest: it.ActionDigest, ViewDigest: it.ViewDigest, Kind: it.Kind,
		Tool: it.Tool, Definition: it.Definition, Agent: it.Agent, Owner: it.Owner, Profile: it.Profile, SessionID: it.Session,
		Tier: it.Tier, Summary: it.Summary, Risk: it.Risk, RiskSource: it.RiskSource, Reasons: it.Reasons, Badges: it.Badges,
		Uninspectable: it.Uninspectable, Obligations: it.Obligations, PolicyRevision: it.PolicyRevision, InvocationID: it.InvocationID,
		Rulings: rulings(it), ClosedBy: it.ClosedBy, OpenedAt: it.OpenedAt.UTC(), ExpiresAt: it.ExpiresAt.UTC(), Now: c.cfg.Now().UTC(),
	}
	if !it.ResolvedAt.IsZero() {
		at := it.ResolvedAt.UTC()
		d.ResolvedAt = &at
	}
	return d
}

// detail is an item with everything that who may see of it now.
func (c *Console) detail(who agent.Identity, it queue.Item) (document, error) {
	d := c.summarize(it)
	args, hidden, err := c.revealed(who, it, asked)
	if err != nil {
		return document{}, err
	}
	d.Arguments, d.Provenance, d.Annotations, d.Justification = args, it.Provenance, &it.Risk, it.Justification
	if !hidden {
		d.Raw = base64.StdEncoding.EncodeToString(it.Input)
	}
	if len(it.EditedInput) == 0 {
		return d, nil
	}
	d.ApprovedDigest = it.EditedDigest
	if d.ApprovedView, hidden, err = c.revealed(who, it, edited); err != nil {
		return document{}, err
	}
	if !hidden {
		d.ApprovedInput = it.EditedInput
	}
	return d, nil
}

// source is one of the documents of an item that values are revealed in. It is written before a pointer where the two must be told
// apart: a JSON pointer is empty or begins with a solidus, so no argument's name can claim it.
type source string

const (
	asked  source = ""               // what the agent asked for
	edited source = "approved_input" // what a reviewer made of it
)

// of returns the masked view of the source's document, and its exact bytes.
func (s source) of(it queue.Item) ([]view.Argument, []byte) {
	if s == edited {
		return it.EditedView, it.EditedInput
	}
	return it.View, it.Input
}

func (s source) at(pointer string) string { return string(s) + pointer }

// revealed returns a view of an item with the values that who has revealed put back, and whether something is still hidden. A document
// that was not rendered counts as hidden: without a view nothing tells which of its bytes are secret.
func (c *Console) revealed(who agent.Identity, it queue.Item, s source) ([]view.Argument, bool, error) {
	masked, input := s.of(it)
	out := append([]view.Argument{}, masked...)
	var open []view.Argument
	hidden := len(masked) == 0
	for i, a := range out {
		if !a.Masked() {
			continue
		}
		if !c.reveals.Shown(who.Subject, it.ID, s.at(a.Pointer), c.cfg.Now()) {
			hidden = true
			continue
		}
		if open == nil {
			var err error
			if open, err = view.Arguments(input, nil); err != nil {
				return nil, false, err
			}
		}
		for _, o := range open {
			if o.Pointer == a.Pointer {
				out[i].Runs = o.Runs
			}
		}
	}
	return out, hidden, nil
}

func rulings(it queue.Item) []ruling {
	out := []ruling{}
	for _, r := range it.Rulings {
		out = append(out, ruling{r.Kind, r.Person, r.ReasonCode, r.Reason, r.Text, r.At.UTC()})
	}
	return out
}

func pointers(args []view.Argument) []string {
	out := make([]string, 0, len(args))
	for _, a := range args {
		out = append(out, a.Pointer)
	}
	return out
}
