// Package devnetrunner runs the node of a chain for trying out, in a folder, from one command:
// it says how to use the chain once it is served, and why the node ended if it did so by
// itself.
//
// It owns the folder's lock, the file of the node's log, and the end by a closed terminal. It
// knows no protocol: what is made in the folder, the node, and what is said are its callers'.
package devnetrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"tarn/store"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// LogFile is the node's log, in the folder.
const LogFile = "node.log"

// Chain is a chain in a folder. All fields must be set but Log.
type Chain struct {
	Dir string // it is made if it is not there
	// Prepare makes what is missing in the folder, while nobody else uses it.
	Prepare func(ctx context.Context) error
	// Node runs the node until ctx ends, which is no error.
	Node func(ctx context.Context, log io.Writer) error
	// Served waits until the chain is served, or ctx ends.
	Served func(ctx context.Context) error
	// Tell says how to use it.
	Tell func() error
	// Log takes the node's log; nil is LogFile.
	Log io.Writer
	// Reason returns what a line of the log says of why the node may have ended, "" for
	// most lines.
	Reason func(line string) string
}

// Program is how whoever reads a guide calls this program.
func Program() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/tarn"
	}
	return os.Args[0]
}

// Run runs a chain's node until ctx ends, the process is told to stop, or the terminal that
// it was started from is closed. Its error says where the log is, and what its last errors
// are.
func Run(ctx context.Context, c Chain) (err error) {
	lock, err := engine.Lock(c.Dir)
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("another devnet runs in this folder, choose one with --dir: %w", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	if err := c.Prepare(ctx); err != nil {
		return fmt.Errorf("make a chain in %s: %w", c.Dir, err)
	}
	if c.Log != nil {
		return c.run(ctx, c.Log)
	}
	path := filepath.Join(c.Dir, LogFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	said := &reasons{to: f, of: c.Reason}
	if err := c.run(ctx, said); err != nil {
		return errors.Join(failure{err, path, said.text()}, f.Close())
	}
	return f.Close()
}

// run runs the node, and says how to use the chain once it is served.
func (c *Chain) run(ctx context.Context, log io.Writer) error {
	serving, stop := context.WithCancel(ctx)
	told := make(chan error, 1)
	go func() {
		if err := c.Served(serving); err != nil {
			told <- unserved{err}
			return
		}
		told <- c.Tell()
	}()
	err := c.Node(ctx, log)
	stop()
	said := <-told
	if errors.As(said, new(unserved)) {
		if err == nil && ctx.Err() == nil {
			err = said
		}
		said = nil // the node's own end says why
	}
	return errors.Join(err, said)
}

// unserved is a node that ended before it served, even if it did so without an error.
type unserved struct{ error }

func (unserved) Error() string { return "the node has ended before it served" }

// ExitCode is the process's.
func (unserved) ExitCode() int { return 1 }

// failure is how a node ended whose log is in a file.
type failure struct {
	error
	log    string
	reason string // the last errors in the log; "" for none
}

func (f failure) Error() string {
	text := "the node has ended; its log is " + f.log
	if f.reason != "" {
		text += ", and says:\n" + f.reason
	}
	return text
}

// Unwrap returns the error that the node ended with, and its exit code.
func (f failure) Unwrap() error { return f.error }

// Keep writes a file unless there is one: its owner may have changed it. It is there whole or not at
// all, and for its owner's eyes only. When Keep returns nil it is durable.
func Keep(path, text string) error { return keep(vfs.Private, path, text) }

func keep(files vfs.FS, path, text string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil: // whoever put it there may have been killed before its name was durable
		return files.SyncDir(filepath.Dir(path))
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	return vfs.WriteDurably(files, path, []byte(text))
}
