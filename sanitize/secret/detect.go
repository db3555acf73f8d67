package secret

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ostiary/sanitize"
)

// Config sets up a Detector.
type Config struct {
	// Disabled names rules that do not run, by the type of their findings.
	// Default none.
	Disabled []string
}

// Detector finds credentials.
type Detector struct {
	index   *index
	generic bool
}

var _ sanitize.Detector = (*Detector)(nil)

// genericType is the type of a value found by the name it is assigned to.
const genericType = "generic"

// New returns a Detector; it fails on a disabled rule that does not exist.
func New(cfg Config) (*Detector, error) {
	rules, err := load()
	if err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	for _, id := range cfg.Disabled {
		known := func(r *rule) bool { return r.ID == id }
		if id != genericType && !slices.ContainsFunc(rules, known) {
			return nil, fmt.Errorf("secret: Disabled names %q, which is no rule", id)
		}
		rules = slices.DeleteFunc(rules, known)
	}
	d := &Detector{generic: !slices.Contains(cfg.Disabled, genericType)}
	var names []string
	if d.generic {
		names = assignNames()
	}
	d.index = newIndex(rules, names)
	return d, nil
}

// Families implements sanitize.Detector. Credentials in URLs are among the
// rules, so it answers for URLs too.
func (d *Detector) Families() []sanitize.Family {
	return []sanitize.Family{sanitize.Secret, sanitize.URL}
}

// Detect implements sanitize.Detector.
func (d *Detector) Detect(_ context.Context, in *sanitize.Input) []sanitize.Match {
	out := d.view(nil, in, in.Main)
	for _, v := range in.Derived {
		out = d.view(out, in, v)
	}
	if d.generic && in.Key != "" && len(in.Text) <= maxValue {
		if s := strengthOf(in.Key); s > 0 && plausible(s, in.Text, true) {
			out = append(out, match(genericType, 0, len(in.Text), 0.8))
		}
	}
	return out
}

// askEvery is after how many keywords the clock is looked at.
const askEvery = 64

func (d *Detector) view(out []sanitize.Match, in *sanitize.Input, v *sanitize.View) []sanitize.Match {
	s := v.Text
	done := 0 // end of the last assigned value: names inside it start nothing
	seen, over := 0, false
	d.index.each(s, func(at int, k *keyword) {
		if seen++; seen%askEvery == 0 {
			over = over || in.Expired()
		}
		if over {
			return
		}
		for _, r := range k.rules {
			if from, to := r.find(s, at); to > 0 {
				start, end := v.Original(from, to)
				out = append(out, match(r.ID, start, end, 0.95))
			}
		}
		if k.assign && at >= done {
			if from, to := assigned(s, at, len(k.text)); to > 0 {
				start, end := v.Original(from, to)
				out = append(out, match(genericType, start, end, 0.7))
				done = to
			}
		}
	})
	return out
}

func match(id string, start, end int, confidence float64) sanitize.Match {
	return sanitize.Match{
		Family: sanitize.Secret, Type: id, Start: start, End: end,
		Action: sanitize.Redacted, Confidence: confidence,
	}
}

// find runs the rule around its keyword at s[at:] and returns the secret.
func (r *rule) find(s string, at int) (from, to int) {
	low := max(0, at-lookBehind)
	if r.leads {
		if r.word && at > 0 && isWord(s[at-1]) && isWord(s[at]) {
			return 0, 0
		}
		low = at
	}
	window := s[low:min(len(s), at+r.reach)]
	loc := r.re.FindStringSubmatchIndex(window)
	if loc == nil || low+loc[1] <= at {
		return 0, 0
	}
	from, to = loc[0], loc[1]
	switch {
	case r.Group > 0:
		from, to = loc[2*r.Group], loc[2*r.Group+1]
	default:
		for g := 2; g+1 < len(loc); g += 2 {
			if loc[g] >= 0 && loc[g] < loc[g+1] {
				from, to = loc[g], loc[g+1]
				break
			}
		}
	}
	if from < 0 || !r.accepts(window[from:to], window[loc[0]:loc[1]]) {
		return 0, 0
	}
	return low + from, low + to
}

// accepts applies what a regular expression cannot say.
func (r *rule) accepts(value, whole string) bool {
	if r.Entropy > 0 && entropy(value) <= r.Entropy || placeholder(value) {
		return false
	}
	if r.Token && !strings.ContainsAny(value, "0123456789") {
		return false
	}
	for _, a := range r.allow {
		if a.MatchString(value) || a.MatchString(whole) {
			return false
		}
	}
	return true
}

func isWord(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_'
}
