package decision

import (
	"slices"
	"strings"
	"time"

	"ostiary/internal/strictjson"
	"ostiary/tool"
)

// Exception is an operator's word that one rule need not ask about one tool, for a time. It lifts nothing but asking: a deny is absolute.
type Exception struct {
	Rule   string    `json:"rule"` // the verdict's id
	Tool   tool.Name `json:"tool"`
	Below  []string  `json:"below,omitempty"` // every path and file that the call names must be one of these or lie below; none means wherever
	Owner  string    `json:"owner"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"` // it ends here
}

// Except takes the verdicts away that an exception lifts at this time, and combines the others again. Where operators or we declared the
// tool, the exception allows in their place; elsewhere nobody has spoken for it, and behind a hook silence leaves the call to the host's
// own prompt. The outcome's own verdicts stay as they are: others may hold them.
func Except(out Outcome, exceptions []Exception, in *Input, now time.Time) Outcome {
	kept, lifted := make([]Verdict, 0, len(out.Verdicts)), false
	for _, v := range out.Verdicts {
		i := slices.IndexFunc(exceptions, func(e Exception) bool { return e.lifts(v, in, now) })
		if i < 0 {
			kept = append(kept, v)
			continue
		}
		lifted = true
		if s := in.Tool.AnnotationsSource; in.Caller.Profile != "hook" && (s == tool.FromOperator || s == tool.FromShipped) {
			kept = append(kept, exceptions[i].verdict())
		}
	}
	if !lifted {
		return out
	}
	slices.SortStableFunc(kept, func(a, b Verdict) int { return int(a.Behavior) - int(b.Behavior) })
	out.Verdicts = kept
	out.Behavior, out.Spoke = Combine(kept)
	return out
}

func (e Exception) lifts(v Verdict, in *Input, now time.Time) bool {
	return v.Behavior == Ask && v.ID == e.Rule && in.Tool.Namespace == e.Tool.Namespace && in.Tool.Name == e.Tool.Name && now.Before(e.Until) && e.covers(in)
}

// covers reports whether the call surely stays where the exception holds: every path that it names lies below, and stands in an argument as
// it is, since what a relative one means is the caller's word. Where a command goes, only its shell knows.
func (e Exception) covers(in *Input) bool {
	if len(e.Below) == 0 {
		return true
	}
	named := append(in.Parsed.Paths[:len(in.Parsed.Paths):len(in.Parsed.Paths)], in.Parsed.Files...)
	leaves, err := strictjson.Leaves(in.Args)
	if err != nil || len(named) == 0 || len(in.Parsed.Commands) > 0 || in.Parsed.Unparsable {
		return false
	}
	for _, path := range named {
		below := slices.ContainsFunc(e.Below, func(dir string) bool { return strings.HasPrefix(path+"/", strings.TrimSuffix(dir, "/")+"/") })
		written := slices.ContainsFunc(leaves, func(l strictjson.Leaf) bool { return l.Text == path })
		if !below || !written {
			return false
		}
	}
	return true
}

func (e Exception) verdict() Verdict {
	return Verdict{ID: "exception." + e.Rule, Policy: "ostiary", Behavior: Allow, Severity: "info",
		Reason: e.Rule + " is excepted for this tool until " + e.Until.UTC().Format(time.DateOnly) + ", says " + e.Owner + ": " + e.Reason}
}
