// Command bench measures decisions over loopback against a running bin/sidecar: p50, p99 and rate at one and at eight connections, beside a
// bare gin JSON echo and, when $OPA names its program, `opa run -s` with the same policies in the same run; and the sidecar's idle memory.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Every target is measured in rounds, one after the other in each, so that what else the machine does meets all of them.
const (
	warmUp   = 500
	rounds   = 10
	requests = 1000 // in one round
)

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == echoCommand {
		err = serveEcho()
	} else {
		err = run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "ostiary-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	side, err := startSidecar(ctx, dir)
	if err != nil {
		return err
	}
	defer side.stop()
	echo, err := startEcho(ctx)
	if err != nil {
		return err
	}
	defer echo.stop()
	rss, err := side.rss()
	if err != nil {
		return err
	}
	fmt.Printf("idle RSS %.1f MB\n", float64(rss)/1024)
	targets := []target{
		{"gin echo", echo.url, "", sameBody},
		{"decision, one call", side.AgentURL + "/v1/decisions", side.token, oneCall},
		{"decision, another path each time", side.AgentURL + "/v1/decisions", side.token, anotherPath},
		{"decision, mixed calls", side.AgentURL + "/v1/decisions", side.token, mixedBody},
	}
	opa, err := startOPA(ctx, dir)
	if err != nil {
		return err
	}
	if opa != nil {
		defer opa.stop()
		targets = append(targets, target{"opa run -s, one input", opa.url, "", opaInput})
	}
	return compare(ctx, side, targets)
}

// target is one thing that is measured.
type target struct {
	name, url, token string
	body             func(n int64) []byte
}

// compare measures every target at one and at eight connections, and tells of the first, the floor, as what it is a multiple of.
func compare(ctx context.Context, side *sidecar, targets []target) error {
	for _, conns := range []int{1, 8} {
		results := make([]result, len(targets))
		for round := range rounds + 1 {
			for i, t := range targets {
				first := int64(conns)*1_000_000 + int64(round)*requests // nothing that an earlier round has asked
				body := func(n int64) []byte { return t.body(first + n) }
				if round == 0 {
					measure(t.url, t.token, conns, warmUp, body) // discarded
					continue
				}
				hits, all, err := side.remembered(ctx)
				if err != nil {
					return err
				}
				results[i].add(measure(t.url, t.token, conns, requests, body))
				hitsNow, allNow, err := side.remembered(ctx)
				if err != nil {
					return err
				}
				results[i].hits, results[i].decided = results[i].hits+hitsNow-hits, results[i].decided+allNow-all
			}
		}
		for i, t := range targets {
			results[i].print(t.name, conns, results[0])
		}
	}
	return nil
}

func sameBody(int64) []byte { return oneCall(0) }

// oneCall repeats one call; sessions change before their budget of calls is used up.
func oneCall(n int64) []byte {
	return fmt.Appendf(nil, `{"session_id":"one-%d","tool":{"namespace":"bench","name":"read"},"input":{"path":"/repo/a.txt","limit":20}}`, n/300)
}

// anotherPath differs in what one package of policies reads.
func anotherPath(n int64) []byte {
	return fmt.Appendf(nil, `{"session_id":"path-%d","tool":{"namespace":"bench","name":"read"},"input":{"path":"/repo/%d.txt","limit":20}}`, n/300, n)
}

// mixedBody varies session, path and size; one in three repeats an earlier call.
func mixedBody(n int64) []byte {
	if n%3 == 0 {
		n = n % 30
	}
	return fmt.Appendf(nil, `{"session_id":"mixed-%d","tool":{"namespace":"bench","name":"read"},"input":{"path":"/repo/dir%d/file%d.txt","note":%q}}`,
		n%97, n%17, n, strings.Repeat("lorem ipsum ", int(n%20)))
}

type sidecar struct {
	AgentURL string `json:"agent_url"`
	PID      int    `json:"pid"`
	token    string
	cmd      *exec.Cmd
}

func startSidecar(ctx context.Context, dir string) (*sidecar, error) {
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o700); err != nil {
		return nil, err
	}
	declaration := `{"namespace":"bench","name":"read","input_schema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"},"note":{"type":"string"}},"additionalProperties":false},
		"annotations":{"read_only":true,"idempotent":true,"destructive":false,"open_world":false,"sensitive_sink":false}}`
	if err := os.WriteFile(filepath.Join(tools, "read.json"), []byte(declaration), 0o600); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	cmd := exec.CommandContext(ctx, "bin/sidecar", "serve", "--data", data, "--tools", tools, "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--print-json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w (run make build first)", err)
	}
	s := &sidecar{cmd: cmd}
	if err := json.NewDecoder(out).Decode(s); err != nil {
		return nil, fmt.Errorf("the sidecar did not start: %w", err)
	}
	token, err := os.ReadFile(filepath.Join(data, "agent.token"))
	s.token = string(token)
	return s, err
}

func (s *sidecar) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// rss returns the resident memory in KiB.
func (s *sidecar) rss() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc/%d/status", s.PID)
}

// result is what came of one target.
type result struct {
	took          []time.Duration // of each request
	wall          time.Duration
	failed        int64
	hits, decided int
}

func (r *result) add(more result) {
	r.took, r.wall, r.failed = append(r.took, more.took...), r.wall+more.wall, r.failed+more.failed
}

func (r *result) rate() float64 { return float64(len(r.took)) / r.wall.Seconds() }

// percentile is the time within which so many percent of the requests were answered.
func (r *result) percentile(p int) time.Duration {
	sorted := slices.Sorted(slices.Values(r.took))
	return sorted[(len(sorted)-1)*p/100].Round(time.Microsecond)
}

// print tells of a result, as a multiple of the floor.
func (r *result) print(name string, conns int, floor result) {
	fmt.Printf("%-33s %d connections: p50 %-8s p99 %-8s %6.0f/s = %.2f × echo (p50 %.2f, p99 %.2f)  failed %d", name, conns, r.percentile(50), r.percentile(99), r.rate(), r.rate()/floor.rate(),
		floor.percentile(50).Seconds()/r.percentile(50).Seconds(), floor.percentile(99).Seconds()/r.percentile(99).Seconds(), r.failed)
	if r.decided > 0 {
		fmt.Printf("  remembered %.0f %%", 100*float64(r.hits)/float64(r.decided))
	}
	fmt.Println()
}

func measure(url, token string, conns, n int, body func(int64) []byte) result {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns}}
	defer client.CloseIdleConnections()
	var next, failed atomic.Int64
	took := make([]time.Duration, n)
	start := time.Now()
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				begin := time.Now()
				if err := post(client, url, token, body(i)); err != nil {
					failed.Add(1)
				}
				took[i] = time.Since(begin)
			}
		})
	}
	wg.Wait()
	return result{took: took, wall: time.Since(start), failed: failed.Load()}
}

func post(client *http.Client, url, token string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || token != "" && !bytes.Contains(answer, []byte(`"behavior":"allow"`)) {
		return fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	return nil
}
