package storetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// roleVariable is the environment variable that tells the test binary, run
// again by a test, what it is this time.
const roleVariable = "STORETEST_ROLE"

// job is what such a process is to do. It ends when its standard input does, so
// that it never outlives the test, and reports in lines on standard output.
type job struct {
	Role   string
	Engine string
	Dir    string
	Seed   uint64
	Epoch  uint64 // of a worker
	Count  int    // of power cuts
}

// The roles.
const (
	roleWork     = "work"     // revisions and checkpoints until killed
	roleHold     = "hold"     // has the store open
	roleCuts     = "cuts"     // cuts the power of workers, in a mount namespace of its own
	roleUnsynced = "unsynced" // opens what has not been synced and cuts the power, in a mount namespace of its own
	roleNoSpace  = "nospace"  // fills a disk, in a mount namespace of its own
	roleMemory   = "memory"   // opens a store on tmpfs, likewise
)

// play does the job of this process and returns its exit code.
func (s *Suite) play(role string) int {
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end is what matters
		os.Exit(3)
	}()
	var j job
	err := json.Unmarshal([]byte(role), &j)
	var e Engine
	if err == nil {
		e, err = s.engine(j.Engine)
	}
	if err == nil {
		err = perform(e, j, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stdout, "failed", strings.ReplaceAll(err.Error(), "\n", "\v"))
		return 1
	}
	return 0
}

func perform(e Engine, j job, out io.Writer) error {
	switch j.Role {
	case roleWork:
		return work(e, j, out)
	case roleHold:
		return hold(e, j, out)
	case roleCuts:
		return cutPower(e, j, out)
	case roleUnsynced:
		return openUnsynced(e, j, out)
	case roleNoSpace:
		return fillDisk(e, j, out)
	case roleMemory:
		return openInMemory(e, j, out)
	}
	return fmt.Errorf("no role %q", j.Role)
}

// process is a process with a job, and what it has reported so far.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer // read it after wait

	mu     sync.Mutex
	lines  []string
	told   chan struct{} // closed and made anew at every line
	ended  chan struct{} // closed at the end of the lines
	reaped bool
	exit   error
}

// start runs the test binary for a job. apart gives it mounts of its own, which
// end with it.
func start(j job, apart bool) (*process, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(binary), told: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr = &p.stderr
	if apart {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it before all of it is read.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = w
	err = p.cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("start process to %s: %w", j.Role, err)
	}
	go p.listen(r)
	return p, nil
}

func (p *process) listen(r *os.File) {
	defer r.Close()
	for in := bufio.NewScanner(r); in.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, strings.ReplaceAll(in.Text(), "\v", "\n"))
		close(p.told)
		p.told = make(chan struct{})
		p.mu.Unlock()
	}
	close(p.ended)
}

// report returns the lines so far.
func (p *process) report() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[:len(p.lines):len(p.lines)]
}

// await returns when the process has reported n lines that start with word.
func (p *process) await(word string, n int, patience time.Duration) error {
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		lines, told := p.lines, p.told
		p.mu.Unlock()
		found := 0
		for _, line := range lines {
			if strings.HasPrefix(line, word) {
				found++
			}
		}
		if found >= n {
			return nil
		}
		select {
		case <-told:
		case <-p.ended:
			return fmt.Errorf("process ended before it reported %q: %w", word, p.wait())
		case <-deadline:
			return fmt.Errorf("process did not report %q %d times in %v; it reported:\n%s",
				word, n, patience, strings.Join(lines, "\n"))
		}
	}
}

// kill ends the process at once, and returns an error if it had ended by
// itself.
func (p *process) kill() error {
	p.cmd.Process.Kill() //nolint:errcheck // fails if it has ended, which wait tells
	err := p.wait()
	var status *exec.ExitError
	if errors.As(err, &status) && status.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return nil
	}
	return fmt.Errorf("ended before it was killed: %w", err)
}

// errEnded: the process ended well by itself.
var errEnded = errors.New("exit code 0")

// wait returns how the process ended, when it has and all its lines are read.
func (p *process) wait() error {
	if p.reaped {
		return p.exit
	}
	p.reaped = true
	err := p.cmd.Wait()
	p.stdin.Close()
	<-p.ended
	p.exit = errEnded
	if err != nil {
		p.exit = fmt.Errorf("%w\n%s\n%s", err, strings.Join(tail(p.lines, 3), "\n"), middle(p.stderr.Bytes(), 12_000))
	}
	return p.exit
}

// finish waits for a process that ends by itself, and returns its failure. One
// that does not end in time is made to say where it is.
func (p *process) finish(patience time.Duration) error {
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.cmd.Process.Signal(syscall.SIGQUIT) //nolint:errcheck // it may just have ended
		return fmt.Errorf("process did not end in %v: %w", patience, p.wait())
	}
	if err := p.wait(); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// middle cuts long output down to its start and its end.
func middle(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	return slices.Concat(b[:n/2], []byte("\n...\n"), b[len(b)-n/2:])
}
