package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// moduleRoot is the folder of the module that soak was started in.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module's folder with go env GOMOD: %w", err)
	}
	name := strings.TrimSpace(string(out))
	if name == "" || name == os.DevNull {
		return "", errors.New("this folder is in no module: start soak in the project's folder")
	}
	return filepath.Dir(name), nil
}

// programs are the test programs of packages, each built once.
type programs struct {
	root, dir string

	mu    sync.Mutex // building: the compiler uses all processors by itself
	built map[string]string
}

// build returns an adversary's program. What the compiler says of a program that cannot be
// built is in the error.
func (p *programs) build(ctx context.Context, a *adversary) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := strings.ReplaceAll(strings.TrimPrefix(a.Package, "./"), "/", "-")
	args := []string{"test", "-c"}
	env := os.Environ()
	if a.Race {
		name, args, env = name+".race", append(args, "-race"), append(env, "CGO_ENABLED=1")
	}
	if a.Fuzz != "" {
		name, args = name+".fuzz", append(args, "-fuzz=.")
	}
	name = filepath.Join(p.dir, name)
	if at, ok := p.built[name]; ok {
		return at, nil
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", name, a.Package)...)
	cmd.Dir, cmd.Env = p.root, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", a.Package, err, bytes.TrimSpace(out))
	}
	p.built[name] = name
	return name, nil
}

// trial is one run of a test program.
type trial struct {
	program string
	folder  string // of the package
	scratch string // for temporary files
	args    []string
	env     []string
	limit   time.Duration
	grace   time.Duration // above its limit, to say where it hangs
}

// run runs a program to its end, which who hangs does not reach by itself, and gives what it
// says to out. Processes that it leaves behind end with it.
func (t *trial) run(ctx context.Context, out *reading) error {
	ctx, cancel := context.WithTimeout(ctx, t.limit+t.grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.program, t.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.folder, out, out
	cmd.Env = append(append(os.Environ(), t.env...), "TMPDIR="+t.scratch)
	// The group is ended as a whole; a soak that is killed takes its programs along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = min(10*time.Second, t.grace) // for who was left behind with its output
	runtime.LockOSThread()                       // whose end is the signal
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", t.program, err)
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whoever is left; there may be nobody
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		out.verdict.Outcome = hung
	}
	return err
}

// bySignal tells whether a process was ended by a signal, as by the kernel for want of memory
// or of room behind a mapped file.
func bySignal(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// bounds are the arguments that hold a test program to its limit and have it tell of each test.
func bounds(limit time.Duration) []string {
	return []string{"-test.v", "-test.paniconexit0", "-test.timeout=" + limit.String()}
}

// describe says of what soak attacks which state, and where.
func describe(ctx context.Context, root string) (commit, machine string) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		commit = "unknown"
	} else if changed, err := git("status", "--porcelain"); err == nil && changed != "" {
		commit += ", with changes"
	}
	return commit, fmt.Sprintf("%s, %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU())
}
