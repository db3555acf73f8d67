package config

import (
	"os"
	"path/filepath"
	"strings"
)

// OwnPaths lists our configuration, state, socket, policies and declarations, by the path given and by what it really is. What is not
// there yet counts as well: a configuration file that an agent could make would be ours at the next start.
func (c Config) OwnPaths() ([]string, error) {
	var own []string
	for _, path := range []string{c.File, c.Data, c.Socket, c.Policies.Dir, c.Policies.Bundle, c.Policies.BundleKey, c.Tools} {
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
