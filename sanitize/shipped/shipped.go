package shipped

import (
	"errors"
	"fmt"
	"slices"

	"ostiary/sanitize"
	"ostiary/sanitize/hidden"
	"ostiary/sanitize/inject"
	"ostiary/sanitize/markup"
	"ostiary/sanitize/pii"
	"ostiary/sanitize/secret"
)

// New returns a Cleaner of results: with every detector that ships, before
// the ones that cfg brings.
func New(cfg sanitize.Config) (*sanitize.Cleaner, error) {
	injections, err := inject.New()
	if err != nil {
		return nil, fmt.Errorf("shipped: %w", err)
	}
	return with(cfg, markup.New(), hidden.New(), injections)
}

// NewMasker returns a Cleaner of what we ourselves log and show, for which it
// is enough that secrets and personal data do not stand in it.
func NewMasker(cfg sanitize.Config) (*sanitize.Cleaner, error) { return with(cfg) }

// with puts the detectors of secrets and personal data first.
func with(cfg sanitize.Config, more ...sanitize.Detector) (*sanitize.Cleaner, error) {
	secrets, errSecret := secret.New(secret.Config{})
	personal, errPII := pii.New(pii.Config{})
	if err := errors.Join(errSecret, errPII); err != nil {
		return nil, fmt.Errorf("shipped: %w", err)
	}
	cfg.Detectors = slices.Concat([]sanitize.Detector{secrets, personal}, more, cfg.Detectors)
	return sanitize.New(cfg)
}
