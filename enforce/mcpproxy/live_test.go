package mcpproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ostiary/internal/testkit"
)

// filesystemServer is the script of the real server that scripts/npm-test-tools installs.
func filesystemServer(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("OSTIARY_TEST_NPM")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(cache, "ostiary-test", "npm")
	}
	script := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("server-filesystem is not installed (%v): run make setup", err)
	}
	return script
}

// files is a real client in front of the proxy in front of the real filesystem server.
type files struct {
	*testkit.Sidecar
	dir      string
	client   *mcp.ClientSession
	reviewer string
}

func openFiles(t *testing.T, flags ...string) *files {
	t.Helper()
	script := filesystemServer(t)
	dir := t.TempDir()
	s := testkit.Start(t, filepath.Join(t.TempDir(), "d"), "--tools", filepath.Join(testkit.Root(), "examples", "filesystem"))
	args := append([]string{"--name", "fs"}, flags...)
	session := connect(t, s, append(args, "--", "node", script, dir)...)
	return &files{Sidecar: s, dir: dir, client: session, reviewer: s.Token(t, "reviewer", "ann")}
}

// connect is a real client behind the real proxy.
func connect(t *testing.T, s *testkit.Sidecar, args ...string) *mcp.ClientSession {
	t.Helper()
	cmd := exec.Command(testkit.Binary(t), append([]string{"mcp", "--data", s.Data}, args...)...)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func (f *files) call(t *testing.T, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := f.client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func text(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// open waits until n reviews are open and returns their ids.
func (f *files) open(t *testing.T, n int) []string {
	t.Helper()
	var ids []string
	f.until(t, fmt.Sprintf("%d reviews are open", n), func() bool {
		status, doc := testkit.Call(t, "GET", f.ConsoleURL+"/api/reviews?state=open&limit=100", f.reviewer, nil)
		items, _ := doc["items"].([]any)
		if status != 200 {
			t.Fatalf("reviews: %d %v", status, doc)
		}
		ids = nil
		for _, it := range items {
			item, _ := it.(map[string]any)
			id, _ := item["id"].(string)
			ids = append(ids, id)
		}
		return len(ids) >= n
	})
	return ids
}

// until looks at the desk, and again whenever the console says that something on it changed, until what is wanted is there.
func (f *files) until(t *testing.T, wanted string, there func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // nothing takes as long; without it a failure would hang
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", f.ConsoleURL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.reviewer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if line := lines.Text(); (line == ": hello" || line == "event: change") && there() {
			return
		}
	}
	t.Fatalf("the desk has changed no more, and not: %s", wanted)
}

const planted = "ghp_0123456789abcdefghijABCDEFGHIJ456789"

// Covers: A12
func TestReadsPassAndComeBackClean(t *testing.T) {
	f := openFiles(t)
	path := filepath.Join(f.dir, "notes.txt")
	if err := os.WriteFile(path, []byte("deploy with token="+planted+" today\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	res := f.call(t, "read_text_file", map[string]any{"path": path})
	if got := text(res); res.IsError || strings.Contains(got, planted) || !strings.Contains(got, "deploy with") {
		t.Errorf("got %q, error %v", got, res.IsError)
	}
	if got := fmt.Sprint(res.StructuredContent); strings.Contains(got, planted) {
		t.Errorf("the structured content is not clean: %s", got)
	}
	tools, err := f.client.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) < 10 {
		t.Errorf("tools: %v", err)
	}
}

// Covers: A22, B16
func TestWritesAskAndRunOnceApprovedByteForByte(t *testing.T) {
	f := openFiles(t)
	path := filepath.Join(f.dir, "out.txt")
	content := "line one\n\t“quoted” \\ \u00e9 e\u0301 😀 \x00 end"
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := f.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": content}})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	id := f.open(t, 1)[0]
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was written before anybody ruled")
	}
	f.Rule(t, f.reviewer, id, testkit.Doc{"kind": "approve"})
	if res := <-done; res == nil || res.IsError {
		t.Fatalf("got %+v", res)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != content {
		t.Errorf("wrote %q, %v", got, err)
	}
}

// Covers: B16
func TestADenialIsAResultThatTheModelCanRead(t *testing.T) {
	f := openFiles(t)
	path := filepath.Join(f.dir, "out.txt")
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := f.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": "x"}})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	f.Rule(t, f.reviewer, f.open(t, 1)[0], testkit.Doc{"kind": "deny", "reason": "write to the other folder"})
	if res := <-done; res == nil || !res.IsError || !strings.Contains(text(res), "write to the other folder") {
		t.Errorf("got %+v", res)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was written")
	}
}

func TestARepeatedCallFindsTheApprovalOfTheFirst(t *testing.T) {
	f := openFiles(t, "--hold", "1ms")
	args := map[string]any{"path": filepath.Join(f.dir, "out.txt"), "content": "x"}
	first := f.call(t, "write_file", args)
	id := f.open(t, 1)[0]
	if !first.IsError || !strings.Contains(text(first), id) {
		t.Fatalf("got %q, want the review %s", text(first), id)
	}
	f.Rule(t, f.reviewer, id, testkit.Doc{"kind": "approve"})
	if again := f.call(t, "write_file", args); again.IsError {
		t.Errorf("the approved call: %s", text(again))
	}
	if third := f.call(t, "write_file", args); !third.IsError {
		t.Error("one approval ran twice")
	}
}

// Another proxy of the same session may hold an equal call, and its client may give it up.
func TestACallOutlivesTheWithdrawalOfAnEqualOne(t *testing.T) {
	f := openFiles(t)
	path := filepath.Join(f.dir, "out.txt")
	done := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := f.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": "x"}})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	first := f.open(t, 1)[0]
	if status, doc := testkit.Call(t, "POST", f.AgentURL+"/v1/reviews/"+first+"/cancel", strings.TrimSpace(f.AgentToken(t)), testkit.Doc{}); status != 200 {
		t.Fatalf("%d %v", status, doc)
	}
	second := f.open(t, 1)[0]
	f.Rule(t, f.reviewer, second, testkit.Doc{"kind": "approve"})
	if res := <-done; first == second || res == nil || res.IsError {
		t.Errorf("reviews %s and %s, got %+v", first, second, res)
	}
}

func TestTwentyCallsCanWaitAtOnce(t *testing.T) {
	f := openFiles(t)
	const n = 20
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			path := filepath.Join(f.dir, fmt.Sprintf("f%02d", i))
			res, err := f.client.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": "x"}})
			if err != nil || res.IsError {
				t.Errorf("call %d: %v %+v", i, err, res)
			}
		})
	}
	ids := f.open(t, n)
	if err := f.client.Ping(t.Context(), nil); err != nil {
		t.Errorf("other traffic is blocked: %v", err)
	}
	for _, id := range ids {
		f.Rule(t, f.reviewer, id, testkit.Doc{"kind": "approve"})
	}
	calls.Wait()
	written, err := filepath.Glob(filepath.Join(f.dir, "f*"))
	if err != nil || len(written) != n {
		t.Errorf("%d files, %v", len(written), err)
	}
}

func TestWhenTheSidecarDiesNothingRunsAndTheNextOneIsFound(t *testing.T) {
	f := openFiles(t)
	path := filepath.Join(f.dir, "a.txt")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Kill()
	res := f.call(t, "read_text_file", map[string]any{"path": path})
	if !res.IsError || !strings.Contains(text(res), "sidecar_unreachable") {
		t.Errorf("got %q", text(res))
	}
	testkit.Start(t, f.Data, "--tools", filepath.Join(testkit.Root(), "examples", "filesystem"))
	if res := f.call(t, "read_text_file", map[string]any{"path": path}); res.IsError || !strings.Contains(text(res), "hello") {
		t.Errorf("after the restart: %q", text(res))
	}
}

// BenchmarkRoundTrip compares a small read through the proxy with the same read without it.
func BenchmarkRoundTrip(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		b.Fatal(err)
	}
	server := []string{"node", filesystemServer(b), dir}
	s := testkit.Start(b, filepath.Join(b.TempDir(), "d"), "--tools", filepath.Join(testkit.Root(), "examples", "filesystem"))
	for name, command := range map[string][]string{
		"direct": server,
		"proxy":  append([]string{testkit.Binary(b), "mcp", "--data", s.Data, "--name", "fs", "--"}, server...),
	} {
		b.Run(name, func(b *testing.B) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			session, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer session.Close()
			for b.Loop() {
				res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_text_file", Arguments: map[string]any{"path": path}})
				if err != nil || res.IsError {
					b.Fatal(err, res)
				}
			}
		})
	}
}
