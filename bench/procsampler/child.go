package procsampler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tarn/bench/record"
	"tarn/procusage"
)

// Command is a process to start.
type Command struct {
	Path  string
	Args  []string
	Env   []string // besides this process's own
	Log   string   // file that its words are appended to
	Every time.Duration
	Group *Group // that it runs in; nil for this process's
}

// Child is a process that was started, and is read until it ends. Its methods are for
// one goroutine.
type Child struct {
	command Command
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended; then the rest may be read
	watcher *Watcher
	last    procusage.Process // what the kernel counted in all
	err     error             // of the process's end
	lost    error             // why the last count is missing
}

// How a child's page table is walked: it is ours, and lives for seconds.
const (
	childPages = 250 * time.Millisecond
	childShare = 100
)

// Start starts a process. It ends with this program however that ends: the kernel kills it.
func Start(c Command) (*Child, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer log.Close()
	path, args := c.Path, c.Args
	if c.Group != nil {
		path, args = c.Group.Within(path, args)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	// A terminal's Ctrl-C is for this program alone, which then ends its children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	child := &Child{command: c, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started a process for ours.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			child.watcher = FromBirth(Options{PID: cmd.Process.Pid, Pages: childPages, WalkShare: childShare})
		}
		started <- err
		if err == nil {
			child.follow()
			close(child.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return child, nil
}

// follow reads the process until it has ended, and then what it came to.
func (c *Child) follow() {
	ended := make(chan struct{})
	go func() {
		// Not waited for yet, it still has its counters.
		for unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		close(ended)
	}()
	tick := time.NewTicker(c.command.Every)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
			// While it begins and while it ends there is less to read than is looked for.
			_ = c.watcher.Sample()
		case <-ended:
			running = false
		}
	}
	c.last, c.lost = procusage.ReadEnded(c.cmd.Process.Pid)
	c.watcher.Samples = append(c.watcher.Samples, c.watcher.sample(c.last))
	c.err = c.cmd.Wait()
}

// PID is the process's.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Line is the command line, the program first, or what its environment has besides.
func (c *Child) Line() []string {
	return slices.Concat(c.command.Env, []string{c.command.Path}, c.command.Args)
}

// Wait waits for the end of the process, which it brings about when ctx ends.
func (c *Child) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.failure()
	case <-ctx.Done():
		c.Kill()
		return ctx.Err()
	}
}

// Stop asks the process to end and waits; one that does not within patience is killed.
func (c *Child) Stop(ctx context.Context, patience time.Duration) error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop process %d: %w", c.PID(), err)
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.Wait(within)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("process %d did not end within %s of SIGTERM: killed", c.PID(), patience)
	}
	return err
}

// Kill ends the process at once, and waits until it has.
func (c *Child) Kill() {
	_ = syscall.Kill(-c.PID(), syscall.SIGKILL) // its group: what it started too; it may have ended
	<-c.done
}

// failure says how the process ended, with its last words, if that was not well.
func (c *Child) failure() error {
	if c.err == nil {
		return c.lost
	}
	return fmt.Errorf("%s ended: %w; its last words: %s", c.command.Path, c.err, lastWords(c.command.Log))
}

// How much of a log's end is looked at, and how much of a line of it is told.
const (
	wordsBytes = 16 << 10
	lineLength = 400
)

// lastWords are the last lines of a log; of the errors among them, if there are any.
func lastWords(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	text := make([]byte, min(info.Size(), wordsBytes))
	if _, err := f.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[max(0, len(lines)-3):]
	if errs := slices.DeleteFunc(slices.Clone(last),
		func(line string) bool { return !strings.HasPrefix(strings.ToLower(line), "error") }); len(errs) > 0 {
		last = errs
	}
	for i, line := range last {
		if len(line) > lineLength { // what happened stands at its begin, why at its end
			last[i] = strings.ToValidUTF8(line[:lineLength/2], "") + " … " +
				strings.ToValidUTF8(line[len(line)-lineLength/2:], "")
		}
	}
	return strings.Join(last, " | ")
}

// Samples are the readings; to be asked for after the end.
func (c *Child) Samples() []record.Sample { return c.watcher.Samples }

// Total is what the process came to; to be asked for after the end.
func (c *Child) Total() (cpu time.Duration, disk procusage.Disk, majorFaults int64) {
	return c.last.CPU(), c.last.Disk, c.last.MajorFaults
}

// Peak is the most memory that was resident, in bytes; to be asked for after the end. It
// is not getrusage's, which counts what this program had when it started the process.
func (c *Child) Peak() int64 { return c.watcher.Peak }

// Now reads the running process.
func (c *Child) Now() (procusage.Process, error) { return procusage.Read(c.PID()) }
