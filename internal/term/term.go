// Package term writes for people: colours where a terminal shows them, nothing that a text could do to the terminal, and progress of what
// takes long.
package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
)

// Out is a place that people read. The first error of writing is kept; nothing is written after it.
type Out struct {
	w     io.Writer
	color bool
	err   error
}

// New writes to w, with colours when it is a terminal and NO_COLOR is not set.
func New(w io.Writer) *Out {
	return &Out{w: w, color: isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Styled is a text with colours, which Line writes as it is.
type Styled string

// Colours by their SGR numbers.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (o *Out) style(code, text string) Styled {
	if text = Clean(text); o.color {
		text = "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	return Styled(text)
}

// Bold cleans a text, as the other styles do, and makes it stand out.
func (o *Out) Bold(text string) Styled { return o.style(bold, text) }

// Dim is for what matters less.
func (o *Out) Dim(text string) Styled { return o.style(dim, text) }

// Red is for what is wrong.
func (o *Out) Red(text string) Styled { return o.style(red, text) }

// Green is for what is fine.
func (o *Out) Green(text string) Styled { return o.style(green, text) }

// Yellow is for what is worth a look.
func (o *Out) Yellow(text string) Styled { return o.style(yellow, text) }

// Line writes a line. Strings among the arguments are cleaned, so that nothing that was read can move the cursor.
func (o *Out) Line(format string, args ...any) {
	if o.err != nil {
		return
	}
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = Clean(s)
		}
	}
	_, o.err = fmt.Fprintf(o.w, format+"\n", args...)
}

// Err is the first error of writing.
func (o *Out) Err() error { return o.err }

// Clean shows control and format characters, line breaks too, by their numbers.
func Clean(text string) string {
	hidden := func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r)
	}
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Timing of progress: nothing for what is soon over.
const (
	quiet = time.Second
	again = 200 * time.Millisecond
)

// Progress tells on a terminal how far something is, once it takes longer than a second.
type Progress struct {
	w     io.Writer
	what  string
	since time.Time
	next  time.Time
	now   func() time.Time
	shown bool
}

// NewProgress begins what takes long; w that is no terminal hears nothing.
func NewProgress(w io.Writer, what string) *Progress {
	if !isTerminal(w) {
		w = nil
	}
	return newProgress(w, what, time.Now)
}

func newProgress(w io.Writer, what string, now func() time.Time) *Progress {
	start := now()
	return &Progress{w: w, what: what, since: start, next: start.Add(quiet), now: now}
}

// At says how many are done; a total of 0 is not known.
func (p *Progress) At(done, total uint64) {
	if p == nil || p.w == nil {
		return
	}
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(again), true
	of := ""
	if total > 0 {
		of = fmt.Sprintf(" of %d", total)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s: %d%s, %s", p.what, done, of, now.Sub(p.since).Round(time.Second))
}

// End takes what was told off the terminal.
func (p *Progress) End() {
	if p != nil && p.shown {
		fmt.Fprintf(p.w, "\r\x1b[K")
	}
}
