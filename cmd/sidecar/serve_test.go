package main

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAStuckRequestDoesNotHoldUpTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, cut := make(chan struct{}), make(chan error, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		_, err := io.ReadAll(r.Body)
		cut <- err
	})}
	go s.Serve(l)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf"); err != nil {
		t.Fatal(err)
	}
	<-entered
	var log bytes.Buffer
	if err := shutdown([]*http.Server{s}, 0, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Errorf("the end is no failure: %v", err)
	}
	if err := <-cut; err == nil || !strings.Contains(log.String(), "was cut") {
		t.Errorf("%v; log %s", err, log.String())
	}
}

func TestTheTokenOfThePrintedCommandIsReadFromAnyPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's $HOME")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "agent.token")
	if err := os.WriteFile(file, []byte("the-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := announce(&out, addresses{AgentURL: "http://127.0.0.1:1", TokenFile: file}, false); err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(out.String(), "\n  curl ")
	said, err := exec.Command("sh", "-c", "printf '%s\\n' "+command).Output()
	if err != nil || !strings.Contains(string(said), "\nAuthorization: Bearer the-token\n") {
		t.Errorf("%v: %s", err, said)
	}
}

func TestASocketThatAnswersIsLeftToItsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	owner, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	var ls listeners
	if err := ls.openSocket(path); err == nil || !strings.Contains(err.Error(), "another program may be listening") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the owner's socket is gone: %v", err)
	}
	// What a dead process left is taken over.
	owner.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ls.openSocket(path); err != nil {
		t.Error(err)
	}
	ls.close()
}
