package mcpproxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ostiary/internal/testkit"
)

// openLibrary is a real client in front of the proxy in front of the library.
func openLibrary(t *testing.T) (*testkit.Sidecar, *mcp.ClientSession) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := testkit.Start(t, filepath.Join(t.TempDir(), "d"), "--tools", filepath.Join(testkit.Root(), "enforce", "mcpproxy", "testdata", "tools"))
	return s, connect(t, s, "--session", "reading", "--", "env", "OSTIARY_LIBRARY_MCP_SERVER=1", self)
}

// labels are those of the session, or nil when the sidecar has not heard of it.
func labels(t *testing.T, s *testkit.Sidecar) []any {
	t.Helper()
	status, doc := testkit.Call(t, "GET", s.AgentURL+"/v1/sessions/reading/history", strings.TrimSpace(s.AgentToken(t)), nil)
	if status == 404 {
		return nil
	}
	got, _ := doc["labels"].([]any)
	return got
}

// clean fails when a planted text is in what the client was shown.
func clean(t *testing.T, shown any) string {
	t.Helper()
	raw, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{planted, "Ignore all previous", "attacker@"} {
		if strings.Contains(string(raw), word) {
			t.Errorf("shown: %s", raw)
		}
	}
	return string(raw)
}

// Covers: A12, A15, A18
func TestResourcesAndPromptsAreCleanedAndTaintTheSession(t *testing.T) {
	s, c := openLibrary(t)
	plain, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "book://plain"})
	if err != nil || plain.Contents[0].Text != "A story about tea & éclairs." {
		t.Errorf("got %v, %+v", err, plain)
	}
	if got := labels(t, s); !slices.Contains(got, any("untrusted")) || slices.Contains(got, any("injection_suspected")) {
		t.Errorf("after a harmless book: labels %v", got)
	}
	book, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "book://poisoned"})
	if err != nil || !strings.Contains(clean(t, book), "A story.") {
		t.Errorf("got %v, %+v", err, book)
	}
	prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review"})
	if err != nil || !strings.Contains(clean(t, prompt), "Review it.") {
		t.Errorf("got %v, %+v", err, prompt)
	}
	if got := labels(t, s); !slices.Contains(got, any("injection_suspected")) || !slices.Contains(got, any("secret")) {
		t.Errorf("after a poisoned book: labels %v", got)
	}
}

// Covers: A12
func TestWhatAServerOffersIsCleanedAndLeavesNoTraceInTheSession(t *testing.T) {
	s, c := openLibrary(t)
	if got := clean(t, c.InitializeResult()); !strings.Contains(got, "Ask the library.") {
		t.Errorf("instructions: %s", got)
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 || !strings.Contains(clean(t, tools), "Lends a book.") {
		t.Errorf("got %v, %+v", err, tools)
	}
	books, err := c.ListResources(t.Context(), nil)
	if err != nil || len(books.Resources) != 2 || !strings.Contains(clean(t, books), "a book with") {
		t.Errorf("got %v, %+v", err, books)
	}
	values, err := c.Complete(t.Context(), &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "review"}, Argument: mcp.CompleteParamsArgument{Name: "kind", Value: "n"},
	})
	if err != nil || !strings.Contains(clean(t, values), "novel") {
		t.Errorf("got %v, %+v", err, values)
	}
	if got := labels(t, s); len(got) > 0 {
		t.Errorf("labels %v", got)
	}
}

// Covers: A12, A15
func TestMetadataAndEmbeddedResourcesOfAToolAreCleaned(t *testing.T) {
	_, c := openLibrary(t)
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "lend"})
	if err != nil || res.IsError || len(res.Content) != 1 {
		t.Fatalf("got %v, %+v", err, res)
	}
	if got := clean(t, res); !strings.Contains(got, "book://lent") || !strings.Contains(got, "note") {
		t.Errorf("got %s", got)
	}
}

func TestWithoutASidecarNothingOfAServerIsShown(t *testing.T) {
	s, c := openLibrary(t)
	s.Kill()
	if book, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "book://plain"}); err == nil || !strings.Contains(err.Error(), "sidecar_unreachable") {
		t.Errorf("got %v, %+v", err, book)
	}
	if tools, err := c.ListTools(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "sidecar serve") {
		t.Errorf("got %v, %+v", err, tools)
	}
	if err := c.Ping(t.Context(), nil); err != nil {
		t.Errorf("a ping says nothing, and fails: %v", err)
	}
}

func TestImagesComeThroughByteForByte(t *testing.T) {
	f := openFiles(t)
	image, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "console.png"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.dir, "picture.png")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	res := f.call(t, "read_media_file", map[string]any{"path": path})
	if len(res.Content) == 0 {
		t.Fatalf("got %+v", res)
	}
	if got, ok := res.Content[0].(*mcp.ImageContent); !ok || !bytes.Equal(got.Data, image) {
		t.Errorf("got %.300s", clean(t, res))
	}
}

// Covers: B14
func TestACancelledCallIsTakenOffTheDeskAndNeverRuns(t *testing.T) {
	f := openFiles(t)
	path := filepath.Join(f.dir, "out.txt")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.client.CallTool(ctx, &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": path, "content": "x"}})
		done <- err
	}()
	id := f.open(t, 1)[0]
	cancel()
	if err := <-done; err == nil {
		t.Error("the cancelled call was answered")
	}
	f.until(t, "the review is cancelled", func() bool {
		_, doc := testkit.Call(t, "GET", f.ConsoleURL+"/api/reviews/"+id, f.reviewer, nil)
		return doc["state"] == "cancelled"
	})
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was written")
	}
}

func TestAnHonestServersToolsAreListedAsTheServerWroteThem(t *testing.T) {
	f := openFiles(t)
	cmd := exec.Command("node", filesystemServer(t), f.dir)
	direct, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { direct.Close() })
	var lists [2]string
	for i, c := range []*mcp.ClientSession{direct, f.client} {
		tools, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		lists[i] = clean(t, tools)
	}
	if lists[0] != lists[1] {
		t.Errorf("the server says %s\nshown is       %s", lists[0], lists[1])
	}
}
