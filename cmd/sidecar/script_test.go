package main

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sidecar": main})
}

// TestScripts runs the program as its users meet it. Beside the usual commands a script can say
//
//	exits CODE PROGRAM ARGS…   run to the end and want that exit code
//	up ARGS…                   sidecar serve ARGS… until it is ready; sets $AGENT_URL, $SOCKET, $TOKEN_FILE, $LOGIN_URL
//	down                       SIGTERM to what is up, and want exit code 0; its log is then the file serve.log
//	takeport                   hold a free port; sets $PORT
//	mode FILE MODE             want these permission bits
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("D", filepath.Join(env.WorkDir, "d"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "up": up, "down": down, "takeport": takePort, "mode": mode,
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var failed *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case err == nil && want == 0:
	case errors.As(err, &failed) && failed.ExitCode() == want:
	default:
		ts.Fatalf("%v, want exit code %d", err, want)
	}
}

// running is the sidecar of one script.
type running struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

// sidecars are those that are up, by their script; scripts run in parallel.
var (
	scripts  sync.Mutex
	sidecars = map[*testscript.TestScript]*running{}
)

func up(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "sidecar")
	r := &running{cmd: exec.Command(path, append([]string{"serve", "--print-json", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0"}, args...)...)}
	r.cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH")}
	r.cmd.Stderr = &r.log
	out, err := r.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(r.cmd.Start())
	ts.Defer(func() {
		if r.cmd.ProcessState == nil {
			r.cmd.Process.Kill() // it may have ended by itself
			r.cmd.Wait()         // it was killed
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		r.cmd.Wait() // the log says why it ended
		ts.Fatalf("sidecar serve did not become ready: %v\n%s", err, r.log.String())
	}
	var a addresses
	ts.Check(json.Unmarshal(line, &a, json.RejectUnknownMembers(true)))
	if a.PID != r.cmd.Process.Pid {
		ts.Fatalf("pid %d is told, %d runs", a.PID, r.cmd.Process.Pid)
	}
	for k, v := range map[string]string{"AGENT_URL": a.AgentURL, "SOCKET": a.Socket, "TOKEN_FILE": a.TokenFile, "LOGIN_URL": a.LoginURL} {
		if v == "" {
			ts.Fatalf("%s is not told", k)
		}
		ts.Setenv(k, v)
	}
	scripts.Lock()
	defer scripts.Unlock()
	sidecars[ts] = r
}

func down(ts *testscript.TestScript, _ bool, _ []string) {
	scripts.Lock()
	r := sidecars[ts]
	delete(sidecars, ts)
	scripts.Unlock()
	ts.Check(r.cmd.Process.Signal(syscall.SIGTERM))
	err := r.cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("serve.log"), r.log.Bytes(), 0o600))
	if err != nil {
		ts.Fatalf("%v\n%s", err, r.log.String())
	}
}

func takePort(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { ts.Check(l.Close()) })
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv("PORT", port)
}

func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := "0" + strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != strings.TrimSpace(args[1]) {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}
