package view

import "slices"

// Mask returns a copy of args in which the given byte ranges [start, end) of the values at their pointers are secret runs: without text,
// with length and place. Ranges may overlap and come in any order; parts outside a value are ignored. A range that starts or ends inside
// a character covers the whole character.
func Mask(args []Argument, spans map[string][][2]int) []Argument {
	out := slices.Clone(args)
	for i, a := range out {
		if ranges := merge(spans[a.Pointer], a.Bytes); len(ranges) > 0 {
			out[i].Runs = mask(a.Runs, ranges)
		}
	}
	return out
}

// Masked reports whether a part of the value is hidden.
func (a Argument) Masked() bool {
	return slices.ContainsFunc(a.Runs, func(r Run) bool { return r.Kind == Secret })
}

// merge sorts ranges, cuts them to [0, size) and joins those that touch.
func merge(ranges [][2]int, size int) [][2]int {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b [2]int) int { return a[0] - b[0] })
	var out [][2]int
	for _, r := range sorted {
		start, end := max(r[0], 0), min(r[1], size)
		if start >= end {
			continue
		}
		if n := len(out); n > 0 && start <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], end)
			continue
		}
		out = append(out, [2]int{start, end})
	}
	return out
}

// mask cuts runs at the ranges. A chip that overlaps a range at all is hidden whole: half a chip means nothing.
func mask(runs []Run, ranges [][2]int) []Run {
	var out []Run
	hide := func(at, length int) {
		if n := len(out); n > 0 && out[n-1].Kind == Secret && out[n-1].At+out[n-1].Len == at {
			out[n-1].Len += length
			return
		}
		out = append(out, Run{Kind: Secret, At: at, Len: length})
	}
	at := 0
	for _, r := range runs {
		if r.Kind != Text {
			if covered(ranges, at, at+len(r.Text)) {
				hide(at, len(r.Text))
			} else {
				out = append(out, r)
			}
			at += len(r.Text)
			continue
		}
		start, hidden := 0, false
		flush := func(end int) {
			switch {
			case start == end:
			case hidden:
				hide(at+start, end-start)
			default:
				out = append(out, Run{Kind: Text, Text: r.Text[start:end]})
			}
			start = end
		}
		for i, c := range r.Text {
			if in := covered(ranges, at+i, at+i+len(string(c))); in != hidden {
				flush(i)
				hidden = in
			}
		}
		flush(len(r.Text))
		at += len(r.Text)
	}
	return out
}

func covered(ranges [][2]int, start, end int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] < end && start < r[1] })
}
