package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"time"
)

// LogControl changes what the log says while the node runs. Any goroutine may call it.
type LogControl interface {
	// Verbosity takes go-opera's levels: 0 is silent, 1 errors, 5 everything.
	Verbosity(level int)
	// Vmodule takes verbosities of packages, as --vmodule.
	Vmodule(pattern string) error
}

// debugLog answers for debug about the log.
type debugLog struct{ s *Service }

var errNoLog = errors.New("this node's log cannot be changed while it runs")

func (d debugLog) Verbosity(level int) error {
	if d.s.options.Log == nil {
		return errNoLog
	}
	d.s.options.Log.Verbosity(level)
	return nil
}

func (d debugLog) Vmodule(pattern string) error {
	if d.s.options.Log == nil {
		return errNoLog
	}
	return d.s.options.Log.Vmodule(pattern)
}

func (debugLog) BacktraceAt(string) error {
	return errors.New("the log has no stacks; debug_stacks shows those of now")
}

// recording is a profile of the process over a time, written to a file until it is stopped.
type recording struct {
	what  string
	begin func(io.Writer) error
	end   func()

	mu   sync.Mutex
	file *os.File
}

func (r *recording) start(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		return fmt.Errorf("%s already in progress", r.what)
	}
	f, err := os.Create(athome(path))
	if err != nil {
		return fmt.Errorf("%s: %w", r.what, err)
	}
	if err := r.begin(f); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", r.what, err), f.Close())
	}
	r.file = f
	return nil
}

func (r *recording) stop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return fmt.Errorf("%s not in progress", r.what)
	}
	r.end()
	f := r.file
	r.file = nil
	return f.Close()
}

// during records for so many seconds, or until the client goes.
func (r *recording) during(ctx context.Context, path string, seconds uint) error {
	if err := r.start(path); err != nil {
		return err
	}
	pause(ctx, seconds)
	return r.stop()
}

func pause(ctx context.Context, seconds uint) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(min(seconds, longestProfile)) * time.Second):
	}
}

// athome is a path with the home folder in the place of ~, as go-opera reads it.
func athome(path string) string {
	if home, err := os.UserHomeDir(); err == nil && (strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "~\\")) {
		path = home + path[1:]
	}
	return filepath.Clean(path)
}

// debugProfiles answers for debug with profiles of the process in files of the node's
// machine, as go-opera does.
type debugProfiles struct{ cpu, trace *recording }

func newProfiles() debugProfiles {
	return debugProfiles{
		cpu:   &recording{what: "CPU profiling", begin: pprof.StartCPUProfile, end: pprof.StopCPUProfile},
		trace: &recording{what: "trace", begin: trace.Start, end: trace.Stop},
	}
}

func (d debugProfiles) StartCPUProfile(file string) error { return d.cpu.start(file) }

func (d debugProfiles) StopCPUProfile() error { return d.cpu.stop() }

func (d debugProfiles) CpuProfile(ctx context.Context, file string, nsec uint) error {
	return d.cpu.during(ctx, file, nsec)
}

func (d debugProfiles) StartGoTrace(file string) error { return d.trace.start(file) }

func (d debugProfiles) StopGoTrace() error { return d.trace.stop() }

func (d debugProfiles) GoTrace(ctx context.Context, file string, nsec uint) error {
	return d.trace.during(ctx, file, nsec)
}

func (debugProfiles) SetBlockProfileRate(rate int) { runtime.SetBlockProfileRate(rate) }

func (debugProfiles) WriteBlockProfile(file string) error { return writeProfile("block", file) }

func (debugProfiles) BlockProfile(ctx context.Context, file string, nsec uint) error {
	runtime.SetBlockProfileRate(1)
	pause(ctx, nsec)
	runtime.SetBlockProfileRate(0)
	return writeProfile("block", file)
}

func (debugProfiles) SetMutexProfileFraction(rate int) { runtime.SetMutexProfileFraction(rate) }

func (debugProfiles) WriteMutexProfile(file string) error { return writeProfile("mutex", file) }

func (debugProfiles) MutexProfile(ctx context.Context, file string, nsec uint) error {
	runtime.SetMutexProfileFraction(1)
	pause(ctx, nsec)
	runtime.SetMutexProfileFraction(0)
	return writeProfile("mutex", file)
}

func (debugProfiles) WriteMemProfile(file string) error { return writeProfile("heap", file) }

// writeProfile writes one of Go's profiles to a file.
func writeProfile(name, file string) error {
	f, err := os.Create(athome(file))
	if err == nil {
		err = errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the profile %s: %w", name, err)
	}
	return nil
}
