package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
)

// MaxFrame bounds one frame, in bytes.
const MaxFrame = 16 << 20

// ErrTooLong is returned with the beginning and the end of a frame that is over the limit; the next frame can be read.
var ErrTooLong error = fault("the frame is larger than 16 MiB")

// kept is how much of the beginning and of the end of a frame over the limit is returned.
const kept = 1 << 10

// Frames reads newline-delimited frames. The bytes between two newlines are returned as they came.
type Frames struct {
	r     *bufio.Reader
	limit int
}

// NewFrames returns the frames of r; limit bounds each, in bytes.
func NewFrames(r io.Reader, limit int) *Frames {
	return &Frames{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Next returns the next frame without its newline; blank lines are passed over. A last frame without a newline is a frame too.
func (f *Frames) Next() ([]byte, error) {
	for {
		frame, err := f.line()
		blank := len(bytes.TrimSpace(frame)) == 0
		switch {
		case errors.Is(err, io.EOF) && !blank:
			return frame, nil
		case err != nil || !blank:
			return frame, err
		}
	}
}

func (f *Frames) line() ([]byte, error) {
	var frame, tail []byte
	long := false
	for {
		part, err := f.r.ReadSlice('\n')
		switch {
		case long:
			tail = lastOf(append(tail, part...))
		case len(frame)+len(bytes.TrimSuffix(part, []byte("\n"))) > f.limit:
			long, tail = true, lastOf(append(lastOf(frame), part...))
			frame = bytes.Clone(frame[:min(kept, len(frame))])
		default:
			frame = append(frame, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return append(frame, tail...), ErrTooLong
		}
		return bytes.TrimSuffix(frame, []byte("\n")), err
	}
}

func lastOf(b []byte) []byte { return bytes.Clone(b[max(0, len(b)-kept):]) }

// Pipe writes whole frames, one at a time.
type Pipe struct {
	mu sync.Mutex
	w  io.Writer
}

// NewPipe returns a Pipe into w.
func NewPipe(w io.Writer) *Pipe { return &Pipe{w: w} }

// Send writes one frame and its newline.
func (p *Pipe) Send(frame []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := make([]byte, 0, len(frame)+1)
	_, err := p.w.Write(append(append(line, frame...), '\n'))
	return err
}
