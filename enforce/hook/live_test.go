package hook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostiary/internal/testkit"
)

const planted = "ghp_0123456789abcdefghijABCDEFGHIJ456789"

func policies() string {
	return filepath.Join(testkit.Root(), "enforce", "hook", "testdata", "policies")
}

// answer is what a host sees of one run of the real binary.
type answer struct {
	code        int
	out, errors string
}

func runHook(t *testing.T, host, data, ev string) answer {
	t.Helper()
	cmd := exec.Command(testkit.Binary(t), "hook", host, "--data", data, "--timeout", "60")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(ev), &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return answer{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func shell(session, id, command string) string {
	return fmt.Sprintf(`{"session_id":%q,"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Bash","tool_use_id":%q,"tool_input":{"command":%q}}`, session, id, command)
}

// Covers: B10, B16
func TestTheRealBinaryAnswersForTheRealSidecar(t *testing.T) {
	s := testkit.Start(t, filepath.Join(t.TempDir(), "d"), "--policies", policies())
	for _, c := range []struct {
		name, host, data, event string
		code                    int
		out                     string
	}{
		{"no rule speaks: claude", "claude-code", s.Data, shell("s", "1", "make"), 0, "{}\n"},
		{"no rule speaks: codex", "codex", s.Data, shell("s", "7", "make"), 0, ""},
		{"a rule allows: claude", "claude-code", s.Data, shell("s", "2", "ls"), 0, `"permissionDecision":"allow"`},
		{"a rule allows: codex", "codex", s.Data, shell("s", "3", "ls"), 0, ""},
		{"a rule denies", "codex", s.Data, shell("s", "4", "rm -rf build"), 0, "removing is not allowed here"},
		{"no sidecar: codex", "codex", "/nonexistent", shell("s", "5", "ls"), 2, `"permissionDecision":"deny"`},
		{"no sidecar: claude", "claude-code", "/nonexistent", shell("s", "5", "ls"), 2, `"permissionDecision":"deny"`},
		{"unknown client", "emacs", s.Data, shell("s", "6", "ls"), 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runHook(t, c.host, c.data, c.event)
			if got.code != c.code || !strings.Contains(got.out, c.out) || c.out == "" && got.out != "" || (got.errors != "") != (c.code == 2) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Covers: A22
func TestAHeldCallRunsOnceAPersonApproves(t *testing.T) {
	s := testkit.Start(t, filepath.Join(t.TempDir(), "d"), "--policies", policies())
	reviewer := s.Token(t, "reviewer", "ann")
	for i, ruling := range []testkit.Doc{{"kind": "approve"}, {"kind": "edit", "edited_input": testkit.Doc{"command": "publish draft"}}, {"kind": "deny", "reason": "not today"}} {
		done := make(chan answer, 1)
		command := fmt.Sprintf("publish %d", i)
		go func() { done <- runHook(t, "claude-code", s.Data, shell("s", fmt.Sprint(i), command)) }()
		s.Rule(t, reviewer, openReview(t, s, reviewer), ruling)
		got := <-done
		want := map[int]string{0: `"permissionDecision":"allow"`, 1: `"updatedInput":{"command":"publish draft"}`, 2: "not today"}[i]
		if got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%v: got %+v", ruling["kind"], got)
		}
	}
}

func TestACallThatNeedsAReasonRunsOnceTheReviewerGivesOne(t *testing.T) {
	s := testkit.Start(t, filepath.Join(t.TempDir(), "d"), "--policies", policies())
	reviewer := s.Token(t, "reviewer", "ann")
	for host, released := range map[string]string{"codex": "", "claude-code": `"permissionDecision":"allow"`} {
		done := make(chan answer, 1)
		go func() { done <- runHook(t, host, s.Data, shell(host, "1", "release 1.0")) }()
		id := openReview(t, s, reviewer)
		review := s.ConsoleURL + "/api/reviews/" + id
		_, item := testkit.Call(t, "GET", review, reviewer, nil)
		if got := fmt.Sprint(item["obligations"]); got != "[reason]" {
			t.Errorf("%s: the reviewer is told of %s", host, got)
		}
		bare := testkit.Doc{"kind": "approve", "version": item["version"], "action_digest": item["action_digest"], "view_digest": item["view_digest"]}
		if status, doc := testkit.Call(t, "POST", review+"/rulings", reviewer, bare); status != 428 || doc["kind"] != "reason_required" {
			t.Errorf("%s: without a reason: %d %v", host, status, doc)
		}
		s.Rule(t, reviewer, id, testkit.Doc{"kind": "approve", "reason": "the user asked for it by phone"})
		got := <-done
		if got.code != 0 || !strings.Contains(got.out, released) || released == "" && got.out != "" || got.errors != "" {
			t.Errorf("%s: got %+v", host, got)
		}
		if _, doc := testkit.Call(t, "GET", review, reviewer, nil); doc["state"] != "consumed" {
			t.Errorf("%s: the approval is %v", host, doc["state"])
		}
	}
}

// openReview waits until a review is open: it looks first, and again whenever the console says that something changed.
func openReview(t *testing.T, s *testkit.Sidecar, reviewer string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // nothing takes as long; without it a failure would hang
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.ConsoleURL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+reviewer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if line := lines.Text(); line != ": hello" && line != "event: change" {
			continue
		}
		_, doc := testkit.Call(t, "GET", s.ConsoleURL+"/api/reviews?state=open", reviewer, nil)
		if items, _ := doc["items"].([]any); len(items) > 0 {
			item, _ := items[0].(map[string]any)
			id, _ := item["id"].(string)
			return id
		}
	}
	t.Fatal("no review was opened")
	return ""
}

// Covers: A12
func TestThePlantedTokenIsCleanedOutOfOutput(t *testing.T) {
	s := testkit.Start(t, filepath.Join(t.TempDir(), "d"))
	for host, response := range map[string]string{
		"claude-code": `{"stdout":"token=` + planted + `","stderr":"","interrupted":false,"isImage":false}`, "codex": `"token=` + planted + `"`,
	} {
		got := runHook(t, host, s.Data, `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"1","tool_input":{"command":"ls"},"tool_response":`+response+`}`)
		if got.code != 0 || strings.Contains(got.out, planted) || !strings.Contains(got.out, "token=") {
			t.Errorf("%s: got %+v", host, got)
		}
	}
}

// codexBinary and harness are what the run with the real client needs; a missing one skips, and says which.
func codexBinary(t *testing.T) (binary, harness string) {
	t.Helper()
	dir := os.Getenv("OSTIARY_TEST_NPM")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip("there is no cache directory")
		}
		dir = filepath.Join(cache, "ostiary-test", "npm")
	}
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "@openai", "codex-linux-*", "vendor", "*", "bin", "codex"))
	if err != nil || len(found) == 0 {
		t.Skip("the real Codex is not installed: run make setup")
	}
	harness = filepath.Join(testkit.Root(), "..", "shared", "contracts", "live", "run")
	if _, err := os.Stat(harness); err != nil {
		t.Skip("the harness of the live clients is not beside the repository")
	}
	if err := exec.Command("unshare", "-n", "true").Run(); err != nil {
		t.Skip("unshare -n is not permitted here")
	}
	return found[0], harness
}

// Covers: B10, A12
func TestTheRealCodexObeys(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole agent runs here")
	}
	binary, harness := codexBinary(t)
	for _, c := range []struct {
		name, policies string
		sidecar, ran   bool
		model          string
	}{
		{"no opinion: the tool runs and its output is cleaned", "", true, true, "token="},
		{"a rule denies: the tool does not run", policies(), true, false, "writing the proof is not allowed here"},
		{"no sidecar: the tool does not run", "", false, false, "sidecar_unreachable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "d")
			if c.sidecar {
				args := []string{}
				if c.policies != "" {
					args = append(args, "--policies", c.policies)
				}
				testkit.Start(t, data, args...)
			}
			hooks := filepath.Join(t.TempDir(), "hooks.json")
			if err := os.WriteFile(hooks, []byte(codexHooks(t, testkit.Binary(t), data)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(harness, "codex", hooks)
			cmd.Env = append(os.Environ(), "CODEX_BIN="+binary)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var seen struct {
				ToolRan bool   `json:"tool_ran"`
				ToModel string `json:"to_model"`
				Files   string `json:"files"`
			}
			if err := json.Unmarshal(bytes.TrimSpace(out), &seen); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { os.RemoveAll(seen.Files) })
			// When the tool did not run, Codex shows the model its own command, with the token that the model wrote.
			shown := c.ran && strings.Contains(seen.ToModel, planted)
			if seen.ToolRan != c.ran || shown || !strings.Contains(seen.ToModel, c.model) {
				t.Errorf("got %s", out)
			}
		})
	}
}

// codexHooks is hooks.json as the README gives it, for this binary: the socket is a file, so it is reached from another network namespace too.
func codexHooks(t *testing.T, binary, data string) string {
	t.Helper()
	return strings.ReplaceAll(readmeBlock(t, "Codex, "), "/usr/local/bin/ostiary-hook codex", binary+" hook codex --data "+data)
}

// readmeBlock is the JSON block of the README behind a line that starts with the given words.
func readmeBlock(t *testing.T, line string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(testkit.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, behind, found := strings.Cut(string(readme), "\n"+line)
	_, block, opened := strings.Cut(behind, "```json\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !opened || !closed {
		t.Fatalf("the README has no JSON behind %q", line)
	}
	return block
}

// Codex puts a call that it would prompt for to PermissionRequest as well, as another call than the one that PreToolUse was answered for.
func TestWiredAsTheREADMESaysAPersonIsAskedOnce(t *testing.T) {
	for _, line := range []string{"Claude Code, ", "Codex, "} {
		var wired struct {
			Hooks map[string]any `json:"hooks"`
		}
		if err := json.Unmarshal([]byte(readmeBlock(t, line)), &wired); err != nil {
			t.Fatal(err)
		}
		for event, want := range map[string]bool{"PreToolUse": true, "PostToolUse": true, "UserPromptSubmit": true, "PermissionRequest": false} {
			if _, ok := wired.Hooks[event]; ok != want {
				t.Errorf("%s%s wired: %v", line, event, ok)
			}
		}
	}
}
