package main

import (
	"os"
	"path/filepath"
	"strings"

	"ostiary/decision/rego"
	"ostiary/internal/config"
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
	own, err := ownPaths(cfg)
	if err != nil {
		return rego.Config{}, err
	}
	for i, path := range own { // so each stands for itself and all below it, and for no name that only begins alike
		own[i] = strings.TrimSuffix(path, "/") + "/"
	}
	baseline["own_paths"] = own
	return rego.Config{Shipped: policies.FS, Packs: cfg.Policies.Packs, OperatorDir: cfg.Policies.Dir, Timeout: cfg.Policies.Timeout, Settings: map[string]map[string]any{"baseline": baseline}}, nil
}

// ownPaths lists our configuration, state, socket, policies and declarations, by the path given and by what it really is. What is not
// there yet counts as well: a configuration file that an agent could make would be ours at the next start.
func ownPaths(cfg config.Config) ([]string, error) {
	var own []string
	for _, path := range []string{cfg.File, cfg.Data, cfg.Socket, cfg.Policies.Dir, cfg.Policies.Bundle, cfg.Policies.BundleKey, cfg.Tools} {
		if path == "" || strings.Contains(path, "://") {
			continue
		}
		given, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		own = append(own, given)
		if real := resolve(given); real != given {
			own = append(own, real)
		}
	}
	return own, nil
}

// maxLinks is how many symbolic links in a row are followed; Linux gives up at as many.
const maxLinks = 40

// resolve follows the symbolic links of an absolute path, also to where nothing is yet.
func resolve(path string) string { return follow(path, maxLinks) }

func follow(path string, links int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return real
	}
	path = filepath.Join(follow(filepath.Dir(path), links), filepath.Base(path))
	target, err := os.Readlink(path)
	if err != nil || links == 0 {
		return path
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return follow(target, links-1)
}
