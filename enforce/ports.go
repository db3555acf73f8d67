package enforce

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ostiary/agent/session"
	"ostiary/audit"
	"ostiary/decision"
	"ostiary/decision/permit"
	"ostiary/enforce/arguments"
	"ostiary/enforce/clean"
	"ostiary/enforce/seen"
	"ostiary/queue"
	"ostiary/sanitize"
	"ostiary/tool"
)

// Registry is what this package needs of the stored declarations.
type Registry interface {
	// Resolve returns the declaration of a name; an unknown name is the most dangerous tool, not an error.
	Resolve(ctx context.Context, tenant string, name tool.Name) (tool.Resolved, error)
	arguments.Contract
}

// Decider is what this package needs of the policy engine. With an error the outcome denies.
type Decider interface {
	Decide(ctx context.Context, in decision.Input) (decision.Outcome, error)
	Revision() string
}

// Journal is what this package needs of the audit log.
type Journal interface {
	// Append records an event before the answer; AppendDurable also has it on disk.
	Append(e audit.Event) error
	AppendDurable(e audit.Event) error
	// Session returns one session's events, oldest first.
	Session(tenant, session string) ([]audit.Event, error)
	// Check says why no event can be recorded, or nil.
	Check() error
}

// Config of an Enforcer. Every field is required but Location and Server.
type Config struct {
	Registry Registry
	Decider  Decider
	Sessions *session.Book
	Desk     *queue.Desk
	Permits  *permit.Authority
	Journal  Journal
	Cleaner  *sanitize.Cleaner // of results
	Masker   *sanitize.Cleaner // of what is logged and shown: secrets and personal data alone
	Now      func() time.Time
	// MACKey keys the digests of arguments in the log, since short arguments could be guessed. At least 32 bytes.
	MACKey []byte
	// Server is this sidecar's identity; it is bound into every action digest.
	Server string
	// Location is the time zone of input.clock. Default UTC.
	Location *time.Location
}

// Enforcer decides, cleans and redeems. It is safe for concurrent use.
type Enforcer struct {
	cfg   Config
	args  *arguments.Reader
	seen  *seen.Calls
	clean *clean.Cleaner
}

// New returns an Enforcer, or an error that names every missing part.
func New(cfg Config) (*Enforcer, error) {
	var errs []error
	for name, missing := range map[string]bool{
		"Registry": cfg.Registry == nil, "Decider": cfg.Decider == nil, "Sessions": cfg.Sessions == nil, "Desk": cfg.Desk == nil,
		"Permits": cfg.Permits == nil, "Journal": cfg.Journal == nil, "Cleaner": cfg.Cleaner == nil, "Masker": cfg.Masker == nil, "Now": cfg.Now == nil,
	} {
		if missing {
			errs = append(errs, errors.New(name+" is required"))
		}
	}
	if len(cfg.MACKey) < 32 {
		errs = append(errs, errors.New("MACKey needs at least 32 bytes"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("enforce: %w", errors.Join(errs...))
	}
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	args, err := arguments.NewReader(cfg.Registry, cfg.Masker, cfg.MACKey)
	if err != nil {
		return nil, fmt.Errorf("enforce: %w", err)
	}
	return &Enforcer{cfg: cfg, args: args, seen: seen.New(), clean: clean.New(cfg.Cleaner)}, nil
}
