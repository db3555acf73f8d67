package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ostiary/policies"
)

// peer is another server in a process of its own.
type peer struct {
	url string
	cmd *exec.Cmd
}

// startOPA starts `opa run -s` with the shipped policies and their data; nil when there is no opa to run.
func startOPA(ctx context.Context, dir string) (*peer, error) {
	binary := os.Getenv("OPA")
	if binary == "" {
		return nil, nil
	}
	files := filepath.Join(dir, "opa")
	if err := export(files); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "run", "--server", "--addr", addr, "--log-level", "error", files)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &peer{url: "http://" + addr + "/v1/data/ostiary/main/decision", cmd: cmd}
	return p, awaitServer(ctx, "http://"+addr+"/health")
}

// awaitServer asks until it is answered: opa does not say when it is ready.
func awaitServer(ctx context.Context, url string) error {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			return resp.Body.Close()
		}
	}
	return ctx.Err()
}

// export writes the shipped policies as opa loads them.
func export(dir string) error {
	data := map[string]json.RawMessage{}
	err := fs.WalkDir(policies.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(policies.FS, name)
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(name, "data/"):
			data[strings.TrimSuffix(filepath.Base(name), ".json")] = text
		case strings.HasSuffix(name, ".rego") && !strings.HasSuffix(name, "_test.rego"):
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			return os.WriteFile(path, text, 0o600)
		}
		return nil
	})
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"ostiary": data})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "data.json"), raw, 0o600)
}

func (p *peer) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// opaInput is the input document that the sidecar builds of oneCall.
func opaInput(int64) []byte {
	return []byte(`{"input":{"phase":"call","tool":{"namespace":"bench","name":"read","definition_digest":"sha256:00",
"annotations":{"read_only":true,"idempotent":true,"destructive":false,"open_world":false,"sensitive_sink":false},"annotations_source":"operator"},
"args":{"path":"/repo/a.txt","limit":20},"caller":{"agent":"local-agent","tenant":"default","profile":"api","reports_confidence":false},
"session":{"labels":[],"tainted":false,"error_streak":0,"iteration_over":false,"over_budget":false,"carried":false},"request":{"known":false},
"provenance":{"args":[{"pointer":"/path","role":"path","origin":"model"},{"pointer":"/limit","role":"","origin":"model"}]},
"parsed":{"paths":["/repo/a.txt"],"hosts":[]},"clock":{"minute_of_week":1,"work_hours":true}}}`)
}

// remembered reads from /readyz how many decisions were remembered, and of how many.
func (s *sidecar) remembered(ctx context.Context) (hits, all int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.AgentURL+"/readyz", nil)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	text, err := bufio.NewReader(resp.Body).ReadString('\x00')
	if i := strings.Index(text, "remembered "); i >= 0 {
		_, err = fmt.Sscanf(text[i:], "remembered %d of %d", &hits, &all)
	}
	return hits, all, err
}
