package shipped

import (
	"errors"
	"fmt"

	"ostiary/sanitize"
	"ostiary/sanitize/hidden"
	"ostiary/sanitize/inject"
	"ostiary/sanitize/markup"
	"ostiary/sanitize/pii"
	"ostiary/sanitize/secret"
)

// New returns a Cleaner with every detector that ships, before the ones that
// cfg brings.
func New(cfg sanitize.Config) (*sanitize.Cleaner, error) {
	secrets, errSecret := secret.New(secret.Config{})
	personal, errPII := pii.New(pii.Config{})
	injections, errInject := inject.New()
	if err := errors.Join(errSecret, errPII, errInject); err != nil {
		return nil, fmt.Errorf("shipped: %w", err)
	}
	cfg.Detectors = append([]sanitize.Detector{
		secrets, personal, markup.New(), hidden.New(), injections,
	}, cfg.Detectors...)
	return sanitize.New(cfg)
}
