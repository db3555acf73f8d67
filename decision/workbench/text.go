package workbench

import (
	"fmt"
	"slices"
	"strings"

	"ostiary/internal/term"
)

// WriteText shows the report, one finding after another.
func (r Report) WriteText(o *term.Out) {
	faults, warnings := 0, 0
	for _, f := range r.Findings {
		kind := o.Red("error")
		if faults++; f.Warning {
			kind, faults, warnings = o.Yellow("warning"), faults-1, warnings+1
		}
		o.Line("%s%s %s  [%s]", place(f.File, f.Line), kind, f.Message, f.ID)
		if f.Fix != "" {
			o.Line("  to do: %s", f.Fix)
		}
	}
	files := plural(r.Files, "file")
	switch {
	case len(r.Findings) == 0:
		o.Line("%s: %s", o.Green("ok"), files)
	case r.OK:
		o.Line("%s: %s, %s", o.Green("ok"), files, plural(warnings, "warning"))
	default:
		o.Line("%s in %s", o.Red(plural(faults, "error")+", "+plural(warnings, "warning")), files)
	}
}

// WriteText shows what failed; with all also what passed, and the trace of what failed.
func (r TestReport) WriteText(o *term.Out, all bool) {
	for _, t := range r.Tests {
		if t.Outcome == Passed && !all {
			continue
		}
		word := o.Red(t.Outcome)
		switch t.Outcome {
		case Passed:
			word = o.Green(t.Outcome)
		case Skipped:
			word = o.Yellow(t.Outcome)
		}
		o.Line("%s%s %s", place(t.File, t.Line), word, t.Name)
		if t.Message != "" {
			o.Line("  %s", t.Message)
		}
		lines := strings.FieldsFunc(t.Output, func(c rune) bool { return c == '\n' })
		if all {
			lines = append(lines, t.Trace...)
		}
		for _, line := range lines {
			o.Line("    %s", line)
		}
	}
	counts := fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped)
	switch {
	case !r.OK && !all:
		o.Line("%s; -v shows how each came to be", o.Red(counts))
	case !r.OK:
		o.Line("%s", o.Red(counts))
	case len(r.Tests) == 0:
		o.Line("%s", o.Yellow("there are no tests: write some into files that end in _test.rego"))
	default:
		o.Line("%s", o.Green(counts))
	}
}

// WriteText shows each file's share and the lines that no test reaches.
func (r CoverageReport) WriteText(o *term.Out) {
	for _, f := range r.Files {
		o.Line("%5.1f%%  %s", f.Percent, f.File)
		for _, g := range f.Uncovered {
			lines := fmt.Sprintf("line %d", g.From)
			if g.To > g.From {
				lines = fmt.Sprintf("lines %d-%d", g.From, g.To)
			}
			if g.Why != "" {
				g.Why = ": " + g.Why
			}
			o.Line("        %s%s", o.Yellow(lines), g.Why)
		}
	}
	total := fmt.Sprintf("%5.1f%%  of %s", r.Percent, plural(len(r.Files), "file"))
	if r.Least > 0 {
		total += fmt.Sprintf(", want %g%%", r.Least)
	}
	if r.Failed > 0 {
		total += ", " + plural(r.Failed, "test") + " failed: see sidecar policy test"
	}
	if r.OK {
		o.Line("%s", o.Green(total))
	} else {
		o.Line("%s", o.Red(total))
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// WriteLints shows every lint and what it is about.
func WriteLints(o *term.Out) {
	width := 0
	for _, l := range Lints() {
		width = max(width, len(l.ID))
	}
	for _, l := range slices.Clone(Lints()) {
		o.Line("%-*s  %s", width, l.ID, l.About)
	}
}
