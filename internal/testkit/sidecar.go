package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// build makes the binary once per test process; its directory is left to the operating system's temp cleaning.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ostiary-testkit")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sidecar")
	cmd := exec.Command("go", "build", "-tags", "nomsgpack", "-o", path, "./cmd/sidecar")
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sidecar: %w\n%s", err, out)
	}
	return path, nil
})

// Root returns the repository's directory.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Binary returns the path of a freshly built sidecar.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Sidecar is a running sidecar serve.
type Sidecar struct {
	AgentURL   string `json:"agent_url"`
	Socket     string `json:"socket"`
	ConsoleURL string `json:"console_url"`
	LoginURL   string `json:"login_url"`
	TokenFile  string `json:"token_file"`
	PID        int    `json:"pid"`

	Data   string
	binary string
	cmd    *exec.Cmd
	stderr *lockedBuffer
}

// patient keeps the policy deadline from failing a test on a loaded machine.
const patient = "OSTIARY_POLICIES__TIMEOUT=10s"

// Start runs sidecar serve on data with free ports until the test ends. Extra arguments go behind ours.
func Start(t testing.TB, data string, args ...string) *Sidecar {
	t.Helper()
	s := &Sidecar{Data: data, binary: Binary(t), stderr: newLockedBuffer()}
	all := append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--print-json"}, args...)
	s.cmd = exec.Command(s.binary, all...)
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), patient), s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Kill() })
	if err := json.NewDecoder(out).Decode(s); err != nil {
		t.Fatalf("the sidecar did not start: %v\n%s", err, s.Stderr())
	}
	return s
}

// Kill ends the sidecar as a power cut would end its process.
func (s *Sidecar) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Stop ends the sidecar with SIGTERM and returns its exit code.
func (s *Sidecar) Stop(t testing.TB) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// Stderr returns what the sidecar has logged so far.
func (s *Sidecar) Stderr() string { return s.stderr.String() }

// AwaitLog waits until the sidecar has logged a text that no earlier call has waited for.
func (s *Sidecar) AwaitLog(t testing.TB, text string) {
	t.Helper()
	timeout := time.AfterFunc(time.Minute, func() { s.stderr.wake.Broadcast() })
	defer timeout.Stop()
	deadline := time.Now().Add(time.Minute)
	b := s.stderr
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if at := bytes.Index(b.buf.Bytes()[b.awaited:], []byte(text)); at >= 0 {
			b.awaited += at + len(text)
			return
		}
		if !time.Now().Before(deadline) {
			t.Fatalf("the sidecar never logged %q\n%s", text, b.buf.String())
		}
		b.wake.Wait()
	}
}

// Run runs another subcommand of the same binary and returns its standard output.
func (s *Sidecar) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(s.binary, args...).Output()
	if err != nil {
		t.Fatalf("sidecar %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// Token mints a token of a role.
func (s *Sidecar) Token(t testing.TB, role, name string) string {
	t.Helper()
	return strings.TrimSpace(s.Run(t, "token", "mint", "--role", role, "--name", name, "--data", s.Data))
}

// AgentToken returns the local agent's token.
func (s *Sidecar) AgentToken(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile(s.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Doc is a JSON document.
type Doc map[string]any

// At walks into a document by member names; nil where there is nothing.
func (d Doc) At(path ...string) any {
	var v any = map[string]any(d)
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// Text is At for strings; "" where there is none.
func (d Doc) Text(path ...string) string {
	s, _ := d.At(path...).(string)
	return s
}

// Call sends one JSON request and returns status and answer. A string body is sent as it is.
func Call(t testing.TB, method, url, token string, body any) (int, Doc) {
	t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		reader = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if reader != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var doc Doc
	if err := json.NewDecoder(resp.Body).Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, doc
}

// Rule gives a ruling through the console's API as a reviewer, vouching for what the item shows.
func (s *Sidecar) Rule(t testing.TB, token, id string, more Doc) Doc {
	t.Helper()
	status, item := Call(t, http.MethodGet, s.ConsoleURL+"/api/reviews/"+id, token, nil)
	if status != http.StatusOK {
		t.Fatalf("read review: %d %v", status, item)
	}
	ruling := Doc{"version": item["version"], "action_digest": item["action_digest"], "view_digest": item["view_digest"], "reason_code": "other"}
	for k, v := range more {
		ruling[k] = v
	}
	status, answer := Call(t, http.MethodPost, s.ConsoleURL+"/api/reviews/"+id+"/rulings", token, ruling)
	if status != http.StatusOK {
		t.Fatalf("rule: %d %v", status, answer)
	}
	return answer
}

// lockedBuffer keeps what is written; wake is told of every write.
type lockedBuffer struct {
	mu      sync.Mutex
	wake    *sync.Cond
	buf     bytes.Buffer
	awaited int // up to where AwaitLog has come
}

func newLockedBuffer() *lockedBuffer {
	b := &lockedBuffer{}
	b.wake = sync.NewCond(&b.mu)
	return b
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.wake.Broadcast()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
