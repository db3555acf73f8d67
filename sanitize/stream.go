package sanitize

import (
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// streamWindow is how much text is cleaned at a time, streamOverlap how
	// much of its end waits for what follows. A finding of up to the overlap's
	// length is found wherever the windows fall.
	streamWindow  = 256 << 10
	streamOverlap = 32 << 10
)

// Stream copies in to out, cleaned, holding at most one window. Placeholders
// are numbered over the whole stream. On an error what was written so far is
// clean and the rest is withheld.
func Stream(ctx context.Context, c *Cleaner, in io.Reader, out io.Writer) error {
	scope := NewScope()
	buf := make([]byte, 0, streamWindow)
	for {
		n, err := io.ReadFull(in, buf[len(buf):min(streamWindow, c.cfg.MaxBytes)])
		buf = buf[:len(buf)+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		used, err := c.window(ctx, scope, buf, last, out)
		if err != nil {
			return err
		}
		buf = append(buf[:0], buf[used:]...)
		if last {
			return nil
		}
	}
}

// window cleans buf, writes as much as is certain and returns how many bytes
// of buf that was: all of it for the last window.
func (c *Cleaner) window(ctx context.Context, scope *Scope, buf []byte, last bool, out io.Writer) (int, error) {
	size := len(buf)
	if !last {
		size = wholeRunes(buf)
	}
	text := strings.ToValidUTF8(string(buf[:size]), "\uFFFD")
	r := c.start(ctx, scope, Options{})
	matches, err := r.detect(text, "")
	if err != nil {
		return 0, err
	}
	all := edits(text, scope, matches)
	if last {
		_, err := io.WriteString(out, apply(text, all))
		return size, err
	}
	at := settle(text, matches)
	var before []Edit
	for _, e := range all {
		if e.End <= at {
			before = append(before, e)
		}
	}
	if _, err := io.WriteString(out, apply(text[:at], before)); err != nil {
		return 0, err
	}
	return rawLength(buf[:size], len(text)-at), nil
}

// settle picks where to stop in a window that is not the last: after a line
// that ends before the overlap, else at a rune, and never inside a match.
func settle(text string, matches []Match) int {
	limit := max(len(text)-streamOverlap, len(text)/2)
	at := strings.LastIndexByte(text[:limit], '\n') + 1
	if at == 0 {
		for at = limit; !boundary(text, at); {
			at--
		}
	}
	for i := len(matches) - 1; i >= 0; i-- {
		if m := matches[i]; m.Start < at && at < m.End && m.Start > 0 {
			at = m.Start
		} else if m.Start < at && at < m.End {
			at = m.End // the match fills the window: it is settled as it stands
		}
	}
	return at
}

// rawLength returns the length of raw without the bytes that became the last
// tail bytes of its repaired text.
func rawLength(raw []byte, tail int) int {
	i := len(raw)
	for tail > 0 && i > 0 {
		r, n := utf8.DecodeLastRune(raw[:i])
		if r != utf8.RuneError || n != 1 {
			i, tail = i-n, tail-n
			continue
		}
		for i > 0 { // a run of bad bytes became one replacement character
			if r, n := utf8.DecodeLastRune(raw[:i]); r != utf8.RuneError || n != 1 {
				break
			}
			i--
		}
		tail -= len("\uFFFD")
	}
	return i
}

// wholeRunes is the length of buf without an unfinished rune at its end.
func wholeRunes(buf []byte) int {
	for back := 1; back <= utf8.UTFMax && back <= len(buf); back++ {
		if c := buf[len(buf)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(buf[len(buf)-back:]) {
				return len(buf) - back
			}
			break
		}
	}
	return len(buf)
}
