package sanitize

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request is one line of `sidecar sanitize --jsonl`.
type request struct {
	ID          jsontext.Value `json:"id"`
	Text        *string        `json:"text"`
	ContentType string         `json:"content_type"`
}

// answer is the line that a request gets.
type answer struct {
	ID        jsontext.Value `json:"id"`
	Text      string         `json:"text"`
	Tainted   bool           `json:"tainted"`
	Injection verdict        `json:"injection"`
	Findings  []found        `json:"findings"`
	Checked   []Family       `json:"checked"`
	// Withheld is the reason why there is no text; absent when there is.
	Withheld string `json:"withheld,omitzero"`
}

type verdict struct {
	Flagged bool    `json:"flagged"`
	Score   float64 `json:"score"`
}

type found struct {
	Family Family `json:"family"`
	Type   string `json:"type"`
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Action Action `json:"action"`
}

// job is one line on its way through the workers; done gets its answer.
type job struct {
	number int
	line   []byte
	done   chan result
}

type result struct {
	line []byte
	err  error
}

// JSONL answers each line {"id","text","content_type"} of in with one line on
// out, in order. Every line has a Scope of its own. A line that cannot be read
// ends the run with an error that names its number; a text that is withheld
// gets an answer without text and with the reason.
func JSONL(ctx context.Context, c *Cleaner, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	workers := runtime.GOMAXPROCS(0)
	work, order := make(chan job), make(chan job, 4*workers)

	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for j := range work {
				line, err := c.line(ctx, j.line)
				if err != nil {
					err = fmt.Errorf("line %d: %w", j.number, err)
				}
				j.done <- result{line, err}
			}
		})
	}
	var readErr error
	group.Go(func() {
		defer close(order)
		defer close(work)
		readErr = feed(ctx, c, in, work, order)
	})
	err := drain(order, out)
	cancel(err) // stops the feeder when writing failed
	for range order {
		continue
	}
	group.Wait()
	if err != nil {
		return err
	}
	return readErr
}

// feed hands out the lines of in; blank lines are skipped.
func feed(ctx context.Context, c *Cleaner, in io.Reader, work, order chan<- job) error {
	lines := bufio.NewScanner(in)
	// A byte of text takes at most six in JSON.
	lines.Buffer(make([]byte, 64<<10), 6*c.cfg.MaxBytes+64<<10)
	number := 0
	for lines.Scan() {
		number++
		if len(lines.Bytes()) == 0 {
			continue
		}
		j := job{number, append([]byte(nil), lines.Bytes()...), make(chan result, 1)}
		select {
		case order <- j:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case work <- j:
		case <-ctx.Done():
			j.done <- result{err: context.Cause(ctx)}
			return context.Cause(ctx)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}

// drain writes answers in the order of their lines.
func drain(order <-chan job, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	for j := range order {
		r := <-j.done
		if r.err != nil {
			return errors.Join(r.err, w.Flush())
		}
		if _, err := w.Write(append(r.line, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}

// line answers one line. Its error quotes nothing of the content.
func (c *Cleaner) line(ctx context.Context, line []byte) ([]byte, error) {
	var req request
	err := json.Unmarshal(line, &req, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, errors.New(`cannot be read as {"id","text","content_type"}`)
	}
	if req.ID == nil || req.Text == nil {
		return nil, errors.New(`"id" and "text" are required`)
	}
	out, err := c.Text(ctx, NewScope(), *req.Text, Options{ContentType: req.ContentType})
	a := answer{ID: req.ID, Findings: []found{}, Checked: []Family{}}
	var reason *WithheldError
	switch {
	case errors.As(err, &reason):
		a.Tainted, a.Withheld = true, reason.Reason
	case err != nil:
		return nil, err
	default:
		a.Text, a.Tainted, a.Checked = out.Text, out.Tainted, out.Checked
		a.Injection = verdict{out.Flagged, out.Score}
	}
	for _, f := range out.Findings {
		a.Findings = append(a.Findings, found{f.Family, f.Type, f.Start, f.End, f.Action})
	}
	return json.Marshal(a, jsontext.AllowInvalidUTF8(true))
}
