package devnetrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Child is this program with arguments of its own, in a process of its own.
type Child struct {
	Name string
	Args []string
	Log  io.Writer
}

// Again and again: how long a child that has ended is waited with, how long one lives that did not fail, and how often
// one may fail in a row.
const (
	childPause = time.Second
	childLives = 10 * time.Second
	childFails = 3
)

// Supervise runs children until ctx ends, which is no error. Each is started again when it ends by itself, also by kill -9. One
// that fails again and again ends all.
func Supervise(ctx context.Context, children ...Child) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for i := range children {
		all.Go(func() {
			if err := children[i].supervise(ctx); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// supervise returns when ctx has ended, or with why the child cannot run.
func (c *Child) supervise(ctx context.Context) error {
	for failed := 0; ; {
		begun := time.Now()
		err := c.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if failed++; time.Since(begun) > childLives {
			failed = 1
		}
		if failed == childFails {
			return fmt.Errorf("%s has ended %d times in a row: %w", c.Name, failed, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(childPause):
		}
	}
}

// run runs the child once. It ends with this process, however that ends.
func (c *Child) run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	// The signal at the parent's end comes when the thread ends that has started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, self, c.Args...)
	cmd.Stdout, cmd.Stderr = c.Log, c.Log
	// Ctrl-C reaches it by this process alone
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return fmt.Errorf("%s: it has ended", c.Name)
}

// Replica is one of a chain's replicas.
type Replica struct {
	Dir  string
	HTTP string // host:port of its API
}

const mostReplicas = 16

// Members are the replicas that the options ask for: their folders are in the chain's, and their APIs at the ports
// after the node's.
func (o *Options) Members() ([]Replica, error) {
	switch {
	case o.Replicas < 0 || o.Replicas > mostReplicas:
		return nil, fmt.Errorf("--replicas: %d is no number of replicas; at most %d are run", o.Replicas, mostReplicas)
	case o.Replicas == 0:
		return nil, nil
	}
	host, text, err := net.SplitHostPort(o.HTTP)
	if err != nil {
		return nil, fmt.Errorf("--http: want host:port: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("--http: the replicas' ports follow the node's: %w", err)
	}
	list := make([]Replica, o.Replicas)
	for i := range list {
		list[i] = Replica{o.at("replica" + strconv.Itoa(i+1)), net.JoinHostPort(host, strconv.Itoa(port+i+1))}
	}
	return list, nil
}

// Together runs a node and replicas of a chain as [Supervise] does. The log of a replica is a file beside its folder.
func Together(ctx context.Context, node Child, replicas []Replica, args func(Replica) []string) (err error) {
	children := []Child{node}
	for _, r := range replicas {
		f, e := os.OpenFile(r.Dir+".log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		children = append(children,
			Child{Name: filepath.Base(r.Dir) + " (its log is " + f.Name() + ")", Args: args(r), Log: f})
	}
	return Supervise(ctx, children...)
}

// FleetGuide says how to use the replicas, of a fleet of a name; "" without any.
func (o *Options) FleetGuide(name string, replicas []Replica) string {
	if len(replicas) == 0 {
		return ""
	}
	text := "Replicas answer the same, each from a state of its own:\n\n"
	for _, r := range replicas {
		text += "  http://" + Reachable(r.HTTP) + "   its log is " + r.Dir + ".log\n"
	}
	return text + `
Who publishes and who follows:

  ` + o.Tarn + ` fleet status --fleet-name ` + name + ` --fleet-server nats://` + o.Fleet + `

Each is a process of its own. Kill one with kill -9, the node or a replica, and ask the others meanwhile: it is started again
in a second, and goes on where it was.

`
}
