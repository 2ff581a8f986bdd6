package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"tarn/internal/figuretable"
)

// task is what a child process is asked to do.
type task struct {
	Work    string
	Subject string
	Data    string // folder of the store
	Config  Config
	Load    loadTask
	Visit   visitTask
	Cold    bool // open: from the disk
	Write   bool // sustain: writes beside the reads
}

// childHeap bounds the Go heap of a child, so that a cache and its garbage leave
// the machine in peace.
const childHeap = 10 << 30

// Serve does one task, read from in, and writes its result to out. It is the
// whole life of a child process.
func Serve(in io.Reader, out io.Writer) error {
	var t task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	debug.SetMemoryLimit(childHeap)
	result, err := t.do()
	if err != nil {
		return fmt.Errorf("%s of %s: %w", t.Work, t.Subject, err)
	}
	return json.NewEncoder(out).Encode(result)
}

func (t task) do() (any, error) {
	if t.Work == workBareTrap {
		return t.bareTrap()
	}
	s, err := subjectNamed(t.Subject)
	if err != nil {
		return nil, err
	}
	switch t.Work {
	case workLoad:
		return t.load(s)
	case workVisit:
		return t.visit(s)
	case workOpen:
		return t.open(s)
	case workSustain:
		return t.sustain(s)
	case workHot:
		return t.hot(s)
	case workCheckpoint:
		return t.checkpoint(s)
	case workTrap:
		return t.trap(s)
	}
	return nil, fmt.Errorf("unknown work")
}

const (
	workLoad       = "load"
	workVisit      = "visit"
	workOpen       = "open"
	workSustain    = "sustain"
	workHot        = "hot"
	workCheckpoint = "checkpoint"
	workTrap       = "trap"
	workBareTrap   = "bare trap"
)

// parent runs the sections.
type parent struct {
	ctx    context.Context
	config Config
	names  []string
	begun  time.Time
	loaded map[string]Load // by folder
	visits *visits
}

func (p *parent) wants(section string) bool { return slices.Contains(p.names, section) }

func (p *parent) logf(format string, args ...any) {
	if p.config.Log != nil {
		//nolint:errcheck // a log
		fmt.Fprintf(p.config.Log, "%7.1fs  %s\n", time.Since(p.begun).Seconds(), fmt.Sprintf(format, args...))
	}
}

// path is that of a store's folder.
func (p *parent) path(name string) string { return filepath.Join(p.config.Dir, name) }

// calm waits until the process has written nothing for a while: until a library
// has compacted what it owes.
func (c Config) calm() error {
	const patience = 2 * time.Minute
	still := min(c.Sustain/10, 2*time.Second)
	last, since := int64(-1), time.Now()
	for start := since; time.Since(start) < patience; time.Sleep(still / 10) {
		n, err := fileWrites()
		switch {
		case err != nil:
			return err
		case n != last:
			last, since = n, time.Now()
		case time.Since(since) > still:
			return nil
		}
	}
	return nil // it never rests; what it writes is then measured
}

// call runs a task in a child.
func call[T any](p *parent, t task) (T, error) {
	var result T
	t.Config = p.config
	in, err := json.Marshal(t)
	if err != nil {
		return result, err
	}
	cmd := p.config.Command(p.ctx)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &complaints
	if err := cmd.Run(); err != nil {
		return result, fmt.Errorf("child process: %w\n%s", err, bytes.TrimSpace(complaints.Bytes()))
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return result, fmt.Errorf("read a child's result: %w\n%s", err, out.Bytes())
	}
	if !p.config.Rest {
		return result, nil
	}
	return result, figuretable.FlushDisk(p.config.Dir)
}
