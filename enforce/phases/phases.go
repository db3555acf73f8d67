package phases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ostiary/agent"
	"ostiary/agent/session"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/queue"
	"ostiary/tool"
)

// Config of an Adviser. Every field but Location is required.
type Config struct {
	// Decide asks the policies; with an error the outcome denies.
	Decide func(ctx context.Context, in decision.Input) (decision.Outcome, error)
	// Resolve returns the declaration of a tool; an unknown name is the most dangerous tool.
	Resolve  func(ctx context.Context, tenant string, name tool.Name) (tool.Resolved, error)
	Sessions *session.Book
	// Ask puts a question on the desk, or returns what a person said before of the same one.
	Ask func(ctx context.Context, item queue.Item) (queue.Item, error)
	// CheckIDs refuses identifiers that may not be logged.
	CheckIDs func(ids ...string) error
	// Record appends an event; RecordDurable also has it on disk.
	Record        func(audit.Event) error
	RecordDurable func(audit.Event) error
	Now           func() time.Time
	// Server is this sidecar's identity; it is bound into the digest of a conclusion.
	Server string
	// Location is the time zone of input.clock. Default UTC.
	Location *time.Location
}

// Adviser answers for both phases. It is safe for concurrent use.
type Adviser struct{ cfg Config }

// New returns an Adviser, or an error that names every missing part.
func New(cfg Config) (*Adviser, error) {
	var errs []error
	for name, missing := range map[string]bool{
		"Decide": cfg.Decide == nil, "Resolve": cfg.Resolve == nil, "Sessions": cfg.Sessions == nil, "Ask": cfg.Ask == nil, "CheckIDs": cfg.CheckIDs == nil,
		"Record": cfg.Record == nil, "RecordDurable": cfg.RecordDurable == nil, "Now": cfg.Now == nil, "Server": cfg.Server == "",
	} {
		if missing {
			errs = append(errs, errors.New(name+" is required"))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("phases: %w", errors.Join(errs...))
	}
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	return &Adviser{cfg: cfg}, nil
}

// input is what every phase tells policy.
func (a *Adviser) input(phase decision.Phase, who agent.Identity) decision.Input {
	return decision.Input{
		Phase: phase, Caller: decision.Caller{Agent: who.Subject, Tenant: who.Tenant, Profile: string(who.Profile)},
		Parsed: decision.Parsed{Paths: []string{}, Hosts: []string{}}, Clock: decision.ClockAt(a.cfg.Now().In(a.cfg.Location)),
	}
}
