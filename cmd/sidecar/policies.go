package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"ostiary"
	"ostiary/audit"
	"ostiary/decision/rego"
	"ostiary/decision/rego/bundle"
	"ostiary/decision/shadow"
	"ostiary/internal/config"
	"ostiary/internal/datadir"
	"ostiary/internal/dirwatch"
	"ostiary/policies"
)

// policyConfig makes the operator's settings and our own paths part of the policies' data.
func policyConfig(cfg config.Config) (rego.Config, error) {
	baseline := map[string]any{}
	for k, v := range cfg.Baseline {
		baseline[k] = v
	}
	if cfg.Posture == config.Balanced {
		baseline["sink_mode"] = "provenance"
	}
	own, err := cfg.OwnPaths()
	if err != nil {
		return rego.Config{}, err
	}
	for i, path := range own { // so each stands for itself and all below it, and for no name that only begins alike
		own[i] = strings.TrimSuffix(path, "/") + "/"
	}
	baseline["own_paths"] = own
	settings := map[string]map[string]any{"baseline": baseline}
	if len(cfg.Exceptions) > 0 { // a bundle may hold some too
		settings["exceptions"] = map[string]any{"list": cfg.Exceptions}
	}
	return rego.Config{Shipped: policies.FS, Packs: cfg.Policies.Packs, OperatorDir: cfg.Policies.Dir, Timeout: cfg.Policies.Timeout, Settings: settings}, nil
}

// policiesAndDirectory opens the data directory last, so that a mistake in the policies, which is the operator's to mend, leaves nothing
// behind. Only a bundle needs the directory before: it remembers which serial was in force.
func (a *app) policiesAndDirectory(ctx context.Context) (err error) {
	if a.cfg.Policies.Bundle == "" {
		if err := a.loadPolicies(ctx); err != nil {
			return err
		}
	}
	if a.dir, err = datadir.Open(a.cfg.Data); err != nil || a.policies != nil {
		return err
	}
	return a.loadPolicies(ctx)
}

// loadPolicies puts the policies in force.
func (a *app) loadPolicies(ctx context.Context) (err error) {
	cfg, err := policyConfig(a.cfg)
	if err != nil {
		return err
	}
	cfg.Record = a.recordPolicies
	if p := a.cfg.Policies; p.Bundle != "" {
		a.bundle, err = bundle.New(bundle.Config{
			Location: p.Bundle, KeyFile: p.BundleKey, TokenFile: p.BundleToken, FloorFile: filepath.Join(a.cfg.Data, "bundle.serial"),
		})
		if err != nil {
			return err
		}
		cfg.Bundle = a.bundle
	}
	engine, err := rego.Load(ctx, cfg)
	if err == nil {
		a.policies, a.decider = shadow.Over(engine, now)
	}
	return err
}

// recordPolicies has it on record which policies are about to be in force. At the start there is no log yet; then sidecar_started tells.
func (a *app) recordPolicies(revision string) error {
	if a.log == nil {
		return nil
	}
	return a.log.AppendDurable(audit.Event{Class: audit.PolicyActivated, Revision: revision})
}

// watchPolicies takes changes of the policies in until ctx ends.
func (a *app) watchPolicies(ctx context.Context, log *slog.Logger) error {
	reload := make(chan struct{}, 1)
	changed := func() {
		select {
		case reload <- struct{}{}:
		default: // one is due already
		}
	}
	dirs := []string{a.cfg.Policies.Dir}
	if a.bundle != nil && !a.bundle.Remote() {
		dirs = append(dirs, filepath.Dir(a.cfg.Policies.Bundle))
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		if err := dirwatch.Watch(ctx, dir, changed); err != nil {
			return err
		}
	}
	go a.reloadPolicies(ctx, reload, log)
	return nil
}

// reloadPolicies reloads when something has changed, and as often as a bundle's server is to be asked; it tells of what came of it once.
func (a *app) reloadPolicies(ctx context.Context, changed <-chan struct{}, log *slog.Logger) {
	var due <-chan time.Time
	if a.bundle != nil && a.bundle.Remote() {
		ticker := time.NewTicker(a.cfg.Policies.Poll)
		defer ticker.Stop()
		due = ticker.C
	}
	told := a.policies.Revision()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-due:
		}
		err := a.policies.Reload(ctx)
		said, fresh := ostiary.Public(err), a.policies.Revision()
		if err != nil {
			fresh = said.Msg
		}
		if fresh == told {
			continue
		}
		if told = fresh; err != nil {
			log.Error("the changed policies are refused; what was there stays in force", "kind", said.Kind, "detail", said.Msg, "fix", said.Fix)
		} else {
			log.Info("policies are in force", "revision", fresh)
		}
	}
}
