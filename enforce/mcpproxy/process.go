package mcpproxy

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"ostiary"
)

// Patience with a server that ends.
const (
	// killAfter is how long it may take after SIGTERM.
	killAfter = 2 * time.Second
	// drainFor is how long its output may stay open after it has ended, when a process that it left behind holds it.
	drainFor = 2 * time.Second
)

// process is the server. It has a process group of its own, so that what it started ends with it.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  *os.File
	exited  chan struct{}
	read    chan struct{} // closed when stdout has been read to its end
	readEnd sync.Once
}

func start(command []string, stderr io.Writer) (*process, error) {
	unstarted := func(err error) error {
		return ostiary.Wrap(ostiary.KindConfigInvalid, err, "the server "+command[0]+" cannot be started").WithFix("give its command line behind --")
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = drainFor
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, unstarted(err)
	}
	// A pipe of our own: Wait must not close it before everything has been read.
	stdout, w, err := os.Pipe()
	if err != nil {
		return nil, unstarted(err)
	}
	cmd.Stdout = w
	err = cmd.Start()
	w.Close() // our copy of the server's end
	if err != nil {
		stdout.Close() // nothing was read
		return nil, unstarted(err)
	}
	s := &process{cmd: cmd, stdin: stdin, stdout: stdout, exited: make(chan struct{}), read: make(chan struct{})}
	go s.wait()
	return s, nil
}

func (s *process) wait() {
	_ = s.cmd.Wait() // the exit code is in ProcessState
	close(s.exited)
	select {
	case <-s.read:
	case <-time.After(drainFor):
	}
	s.stdout.Close() // reading ends here
}

// drained says that the output has been read to its end.
func (s *process) drained() { s.readEnd.Do(func() { close(s.read) }) }

func (s *process) closeStdin() { s.stdin.Close() } // a server that has ended has closed it

// stop waits for the server to end, and makes it when the grace is over.
func (s *process) stop(grace time.Duration) {
	for _, step := range []struct {
		patience time.Duration
		signal   syscall.Signal
	}{{grace, syscall.SIGTERM}, {killAfter, syscall.SIGKILL}} {
		select {
		case <-s.exited:
			return
		case <-time.After(step.patience):
			_ = syscall.Kill(-s.cmd.Process.Pid, step.signal) // a group that is gone needs no signal
		}
	}
	<-s.exited
}

// code is the exit code as a shell tells it.
func (s *process) code() int {
	if st, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return 128 + int(st.Signal())
	}
	return s.cmd.ProcessState.ExitCode()
}
