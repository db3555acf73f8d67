package sanitize

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON cleans a JSON text leaf by leaf. Numbers, literals, key order, white
// space and every string that needs no change stay byte for byte; a name that
// holds something to redact is redacted like a leaf. The bytes of media in
// "data" and "blob" members are left unread and NotChecked then says so.
func (c *Cleaner) JSON(ctx context.Context, scope *Scope, text []byte, opt Options) (Output, error) {
	if len(text) > c.cfg.MaxBytes {
		return Output{}, withheld("too_large", nil)
	}
	w := &walker{run: c.start(ctx, scope, opt), src: bytes.ToValidUTF8(text, []byte("\uFFFD")), left: opt.MaxLength}
	if err := w.walk(opt.MaxLength > 0); err != nil {
		return Output{}, err
	}
	out := w.finish(len(text))
	out.JSON = w.dst.Bytes()
	out.ReturnedLength = len(out.JSON)
	out.Truncated = w.truncated
	if opt.ReturnSummary {
		out.Summary = summarize(w.prose.String())
	}
	return out, nil
}

// walker copies a JSON text and rewrites the strings in it.
type walker struct {
	*run
	src       []byte
	dst       bytes.Buffer
	mark      int // src[mark:] is still to be copied
	left      int // bytes of leaf text that may still go out
	truncated bool
	renamed   bool
	prose     strings.Builder
}

func (w *walker) walk(limit bool) error {
	dec := jsontext.NewDecoder(bytes.NewReader(w.src), jsontext.AllowDuplicateNames(true))
	key, depth, values := "", 0, 0
	for {
		kind := dec.PeekKind()
		if depth = dec.StackDepth(); depth > w.c.cfg.MaxDepth {
			return withheld("too_deep", nil)
		}
		if depth == 0 {
			values++
		}
		if kind != '"' {
			if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return withheld("invalid_json", nil) // the error would quote content
			}
			continue
		}
		container, length := dec.StackIndex(depth)
		isName := container == '{' && length%2 == 0
		raw, err := dec.ReadValue()
		if err != nil {
			return withheld("invalid_json", nil)
		}
		end := int(dec.InputOffset())
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return withheld("invalid_json", nil)
		}
		if isName {
			key = string(text)
		}
		if err := w.str(string(text), key, string(dec.StackPointer()), end-len(raw), end, isName, limit); err != nil {
			return err
		}
	}
	if values != 2 { // one value, then the end
		return withheld("invalid_json", nil)
	}
	w.dst.Write(w.src[w.mark:])
	if w.renamed && !jsontext.Value(w.dst.Bytes()).IsValid() {
		return withheld("invalid_json", errors.New("two names became one"))
	}
	return nil
}

// str handles the string at src[start:end].
func (w *walker) str(text, key, pointer string, start, end int, isName, limit bool) error {
	if !isName && media(key, text) {
		w.unread = true
		return nil
	}
	before := key
	if isName {
		before = ""
	}
	known := len(w.out.Findings)
	clean, err := w.leaf(text, before, pointer)
	if err != nil {
		return err
	}
	for i := range w.out.Findings[known:] {
		w.out.Findings[known+i].InName = isName
	}
	if !isName {
		if w.prose.Len() < 4*summaryBytes {
			w.prose.WriteString(clean + "\n")
		}
		if limit {
			clean = w.shorten(clean, text, pointer)
		}
	}
	if clean == text {
		return nil
	}
	w.renamed = w.renamed || isName
	quoted, err := jsontext.AppendQuote(nil, clean)
	if err != nil {
		return withheld("invalid_json", nil)
	}
	w.dst.Write(w.src[w.mark:start])
	w.dst.Write(quoted)
	w.mark = end
	return nil
}

// shorten cuts a leaf to what is left of the limit.
func (w *walker) shorten(clean, text, pointer string) string {
	short := cut(clean, max(w.left, 0))
	w.left -= len(short)
	if short == clean {
		return clean
	}
	w.truncated = true
	w.out.Findings = append(w.out.Findings, Finding{
		Family: Size, Type: "truncated", Pointer: pointer, Start: 0, End: len(text), Action: Cut, Confidence: 1,
	})
	return short
}

// base64Runes may stand in base64, in either alphabet and on several lines.
const base64Runes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\r\n"

// media reports whether a leaf is the base64 of an image, sound or document,
// by its member name and by the first bytes of the format.
func media(key, text string) bool {
	if key != "data" && key != "blob" || len(text) < 64 {
		return false
	}
	for _, magic := range []string{
		"iVBORw0KGgo", "/9j/", "R0lGODdh", "R0lGODlh", "UklGR", "SUQz", "//uQ", "//vQ", "T2dnU", "JVBERi0", "AAAAI", "AAAAG", "AAAAH", "fLaC", "ZkxhQ", "GkXfo",
	} {
		if strings.HasPrefix(text, magic) {
			return strings.IndexFunc(text, func(r rune) bool {
				return !strings.ContainsRune(base64Runes, r)
			}) < 0
		}
	}
	return false
}
