package whatif

import (
	"fmt"
	"strings"

	"ostiary/decision"
	"ostiary/decision/workbench/reading"
	"ostiary/internal/term"
)

// paint gives a behavior its colour.
func paint(o *term.Out, b decision.Behavior) term.Styled {
	switch b {
	case decision.Deny:
		return o.Red(b.String())
	case decision.Ask:
		return o.Yellow(b.String())
	case decision.Allow, decision.Passthrough:
	}
	return o.Green(b.String())
}

// WriteText shows the explanation: the answer, the rules, what was read, and what would change it.
func (e Explanation) WriteText(o *term.Out) {
	switch e.Source {
	case "default":
		o.Line("%s, since no rule speaks", paint(o, e.Behavior))
	case decision.SourceError:
		o.Line("%s, since the evaluation failed", paint(o, e.Behavior))
		o.Line("  %s", e.Error)
	default:
		o.Line("%s", paint(o, e.Behavior))
	}
	for _, r := range e.Rules {
		lost := ""
		if !r.Decided {
			lost = ", but another is stricter"
		}
		o.Line("  %s %s%s", o.Bold(r.ID), paint(o, r.Behavior), lost)
		o.Line("    %s", r.Reason)
		if r.Title != "" {
			o.Line("    %s: %s", r.Title, strings.Join(strings.Fields(r.Description), " "))
		}
		if r.File != "" {
			o.Line("    %s", o.Dim(fmt.Sprintf("%s:%d", r.File, r.Line)))
		}
	}
	o.Line("")
	o.Line("the policies can look at these places, and nothing else:")
	for _, r := range e.Reads {
		o.Line("  %-36s %s", r.Path, reading.Show(r.Value))
	}
	o.Line("")
	e.writeChanges(o)
}

func (e Explanation) writeChanges(o *term.Out) {
	if len(e.Changes) == 0 {
		o.Line("none of %d changes of one or two places would change the answer", e.Tried)
		return
	}
	o.Line("it would be otherwise with (%d changes tried):", e.Tried)
	shown := map[string]int{}
	more := 0
	for _, c := range e.Changes {
		var parts, paths []string
		for _, f := range c.Fields {
			parts, paths = append(parts, f.Path+" = "+reading.Show(f.To)), append(paths, f.Path)
		}
		key := fmt.Sprint(c.Behavior, paths)
		if shown[key]++; shown[key] > maxAlike {
			more++
			continue
		}
		why := "no rule speaks"
		if len(c.Rules) > 0 {
			why = strings.Join(c.Rules, ", ")
		}
		o.Line("  %s%s %s  %s", paint(o, c.Behavior), strings.Repeat(" ", len("passthrough")-len(c.Behavior.String())), strings.Join(parts, " and "), o.Dim("("+why+")"))
	}
	if more > 0 {
		o.Line("  and %d more at the same places; --json lists them", more)
	}
}

// maxAlike is how many changes of one place to one answer are shown.
const maxAlike = 2

// WriteText shows the kinds of flips, those that widen first.
func (r ReplayReport) WriteText(o *term.Out) {
	for _, k := range r.Kinds {
		head := fmt.Sprintf("%d× %s → %s", k.Count, k.Was, k.Now)
		if k.Widened {
			o.Line("%s by %s", o.Red(head+"  WIDER"), strings.Join(k.Rules, ", "))
		} else {
			o.Line("%s by %s", o.Yellow(head), strings.Join(k.Rules, ", "))
		}
		if k.Reason != "" {
			o.Line("  %s", k.Reason)
		}
		for _, a := range k.Alike {
			if v := reading.Show(a.Value); v != "absent" && v != "false" && v != "[]" && v != "0" && v != `""` {
				o.Line("  %-36s %s", a.Path, v)
			}
		}
		for _, d := range k.Differ {
			o.Line("  %-36s %s", d.Path, o.Dim(fmt.Sprintf("%d values", d.Values)))
		}
		o.Line("  for example line %d", k.Line)
	}
	if r.Failed > 0 {
		o.Line("%s", o.Red(fmt.Sprintf("%d evaluations failed, which denies", r.Failed)))
	}
	sum := fmt.Sprintf("%d replayed, %d flipped, %d of them wider", r.Replayed, r.Flipped, r.Widened)
	switch {
	case r.Widened > 0:
		o.Line("%s", o.Red(sum))
	case r.Flipped > 0:
		o.Line("%s", o.Yellow(sum))
	default:
		o.Line("%s", o.Green(sum))
	}
}

// WriteText shows each invariant: whether it holds, over how much, and what breaks it.
func (r VerifyReport) WriteText(o *term.Out) {
	for _, one := range r.Results {
		switch {
		case !one.Holds:
			o.Line("%s  %s", o.Red("broken  "), one.Name)
		case one.Complete:
			o.Line("%s  %s", o.Green("holds   "), one.Name)
		default:
			o.Line("%s  %s", o.Yellow("not broken"), one.Name)
		}
		covered := fmt.Sprintf("%.4g cases by %d evaluations", one.Cases, one.Evaluations)
		switch {
		case one.Complete:
			o.Line("  %s: all that the policies can tell apart", covered)
		case one.Holds:
			o.Line("  %s; it is not proved, since values are only sampled:", covered)
			for _, b := range one.Bounds {
				o.Line("    %s", b)
			}
		}
		if one.Failures > 0 {
			o.Line("  %s", o.Yellow(fmt.Sprintf("%d evaluations failed, which denies", one.Failures)))
		}
		for _, c := range one.Counters {
			why := "no rule speaks"
			if len(c.Rules) > 0 {
				why = strings.Join(c.Rules, ", ")
			}
			o.Line("  %s by %s", paint(o, c.Behavior), why)
			for _, d := range c.Differs {
				o.Line("    %-34s %s", d.Path, reading.Show(d.Value))
			}
		}
	}
}
