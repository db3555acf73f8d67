package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostiary"
	"ostiary/client"
	"ostiary/enforce/wire"
	"ostiary/tool"
)

// serve answers every request on a socket in dir.
func serve(t *testing.T, dir string, answer http.HandlerFunc) string {
	t.Helper()
	socket := filepath.Join(dir, "sidecar.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: answer, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close(); <-done })
	return socket
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func open(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var request = wire.DecisionRequest{SessionID: "s", Tool: tool.Name{Name: "x"}, Input: []byte(`{"n":9007199254740993,"s":"\u00e9\/"}`)}

func TestWhatIsNoAnswerIsUnreachable(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"empty":             says(200, ``),
		"no JSON":           says(200, `<html>`),
		"cut short":         says(200, `{"behavior":"allow"`),
		"no behavior":       says(200, `{}`),
		"unknown behavior":  says(200, `{"behavior":"maybe"}`),
		"behavior twice":    says(200, `{"behavior":"deny","behavior":"allow"}`),
		"case variant":      says(200, `{"Behavior":"allow"}`),
		"wrong type":        says(200, `{"behavior":true}`),
		"data behind":       says(200, `{"behavior":"allow"}{}`),
		"500 with an allow": says(500, `{"behavior":"allow"}`),
		"404 of another":    says(404, `not found`),
		"redirect":          says(302, `{"behavior":"allow"}`),
		"closed": func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := open(t, client.Config{Socket: serve(t, t.TempDir(), h)}).Decide(t.Context(), request)
			if !errors.Is(err, client.ErrUnreachable) || d.Behavior != "" {
				t.Errorf("got %q, %v", d.Behavior, err)
			}
		})
	}
}

func TestARefusalKeepsItsKind(t *testing.T) {
	c := open(t, client.Config{Socket: serve(t, t.TempDir(), says(409, `{"kind":"consumed","detail":"used","fix":"ask again","newer":1}`))})
	_, err := c.Redeem(t.Context(), wire.RedeemRequest{})
	if ostiary.KindOf(err) != ostiary.KindConsumed || ostiary.Public(err).Fix != "ask again" {
		t.Errorf("got %v", err)
	}
}

func TestAPermitOrResultThatIsNotSaidToBeGoodIsNot(t *testing.T) {
	c := open(t, client.Config{Socket: serve(t, t.TempDir(), says(200, `{"jti":"x"}`))})
	if _, err := c.Redeem(t.Context(), wire.RedeemRequest{}); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("permit: %v", err)
	}
	if _, err := c.Result(t.Context(), wire.ResultRequest{}); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("result: %v", err)
	}
	if _, err := c.Sanitize(t.Context(), wire.ResultRequest{}); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("text: %v", err)
	}
}

// Covers: B5
func TestArgumentsTravelAsTheyWereWritten(t *testing.T) {
	var body string
	c := open(t, client.Config{Socket: serve(t, t.TempDir(), func(w http.ResponseWriter, r *http.Request) {
		raw := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(raw)
		body = string(raw)
		says(200, `{"behavior":"deny","newer_member":1}`)(w, r)
	})})
	if d, err := c.Decide(t.Context(), request); err != nil || d.Behavior != "deny" {
		t.Fatalf("got %v, %v", d, err)
	}
	if !strings.Contains(body, string(request.Input)) {
		t.Errorf("sent %s", body)
	}
}

func TestTheSidecarAndItsTokenMayComeLater(t *testing.T) {
	dir := t.TempDir()
	c, err := client.Find(dir, "", "hook.token", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Decide(t.Context(), request); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hook.token"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var sent string
	serve(t, dir, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		says(200, `{"behavior":"allow"}`)(w, r)
	})
	if _, err := c.Decide(t.Context(), request); err != nil || sent != "Bearer secret" {
		t.Errorf("sent %q, %v", sent, err)
	}
}

func TestTheSocketIsFoundByArgumentThenEnvironmentThenDefault(t *testing.T) {
	given, env, fallback := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{given, env, fallback} {
		serve(t, dir, says(200, `{"behavior":"deny","reason":"`+dir+`"}`))
	}
	none := func(string) string { return "" }
	data := func(k string) string { return map[string]string{"OSTIARY_DATA": env}[k] }
	socket := func(k string) string {
		return map[string]string{"OSTIARY_SOCKET": filepath.Join(env, "sidecar.sock")}[k]
	}
	for name, c := range map[string]struct {
		data   string
		getenv func(string) string
		want   string
	}{
		"argument": {given, data, given}, "environment": {"", data, env}, "socket": {"", socket, env}, "default": {"", none, fallback},
	} {
		found, err := client.Find(c.data, fallback, "hook.token", c.getenv)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := found.Decide(t.Context(), request); err != nil || d.Reason != c.want {
			t.Errorf("%s: %q, %v", name, d.Reason, err)
		}
		found.Close()
	}
}

func TestWhatIsNoSocketIsNotSpokenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidecar.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, client.Config{Socket: path}).Decide(context.Background(), request); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if _, err := client.New(client.Config{}); err == nil {
		t.Error("a client without a socket was made")
	}
}
