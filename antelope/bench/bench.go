// Package bench measures this node beside a real nodeos: the same transactions,
// blocks, questions and snapshots, given to one after the other, in turns, on one
// machine. It owns the workloads and the tables that come out; package oracle has
// nodeos and the chains. It never looks into a node: what it knows comes from the
// kernel's accounts of the process, from what the node answers, and from its log,
// and it never measures two nodes at a time.
//
// The client that makes the load shares the processors with the node, so that is
// made beforehand, and its processor time stands beside that of the node.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tarn/antelope/oracle"
	"tarn/internal/figures"
)

// Config says what is measured and how long. See [Default] and [Short] for the values
// that are meant.
type Config struct {
	// Dir is where the nodes keep their data: a new folder, which Run removes.
	Dir string
	// Tarn is the program that is measured: it takes nodeos' command line after its
	// first argument, "nodeos". Other is another build of it, measured beside; ""
	// for none.
	Tarn, Other string
	Seed        uint64
	Rounds      int

	Transfers int // of one run in push and p2p
	Full      int // transfers in the chain of full blocks that is synced
	Empty     int // empty blocks in the other

	Reads time.Duration // of one call in a round

	Load, Idle, Slow time.Duration // of the sections of disk
	LoadRate         int           // transfers per second in Load
	SlowRate         int           // in Slow

	StateBytes    int64 // of rows in the state that is started
	SnapshotBytes int64 // of rows in the snapshot that is written and loaded

	States []string // that section memory tries; none for all

	Log io.Writer `json:"-"` // receives a line for each step; may be nil
}

// Default is the full size: two hours and a half, and 30 GB of disk.
func Default() Config {
	return Config{
		Seed: 1, Rounds: 3, Transfers: 150_000, Full: 250_000, Empty: 20_000, Reads: 5 * time.Second,
		Load: 60 * time.Second, Idle: 40 * time.Second, Slow: 10 * time.Minute, LoadRate: 4000, SlowRate: 15,
		StateBytes: 4 << 30, SnapshotBytes: 1 << 30,
	}
}

// Short shows in some four minutes that everything runs. Its figures mean nothing.
func Short() Config {
	return Config{
		Seed: 1, Rounds: 1, Transfers: 4000, Full: 4000, Empty: 500, Reads: 300 * time.Millisecond,
		Load: 3 * time.Second, Idle: time.Second, Slow: 2 * time.Second, LoadRate: 1000, SlowRate: 15,
		StateBytes: 16 << 20, SnapshotBytes: 16 << 20,
	}
}

// Validate names everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	bad := func(cond bool, what string) {
		if cond {
			errs = append(errs, errors.New(what))
		}
	}
	bad(c.Dir == "", "no folder given")
	bad(c.Tarn == "", "no program given")
	bad(c.Rounds < 1, "no round")
	bad(c.Transfers < 1000 || c.Full < 1000 || c.Empty < 100, "a number of transfers below 1000 or of blocks below 100")
	bad(c.Reads <= 0 || c.Load <= 0 || c.Idle <= 0 || c.Slow <= 0, "a duration is not positive")
	bad(c.LoadRate < 1 || c.SlowRate < 1, "a rate or number is not positive")
	for _, name := range c.States {
		bad(!slices.ContainsFunc(states, func(st stateKind) bool { return st.name == name }), fmt.Sprintf("%q is no way to keep a state", name))
	}
	bad(c.StateBytes < 1<<20 || c.SnapshotBytes < 1<<20, "a state is below 1 MiB")
	if len(errs) > 0 {
		return fmt.Errorf("bench: %w", errors.Join(errs...))
	}
	return nil
}

// Run measures the named sections (see [Sections]), or all if there is no name.
// It stops at the first failure; what was measured until then is in the report.
// Without nodeos on this machine it fails with [oracle.ErrNoPeer].
func Run(ctx context.Context, c Config, names ...string) (_ *Report, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	chosen, err := figures.Choose(Sections(), names)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		chosen = slices.DeleteFunc(chosen, func(name string) bool { return name == memorySection })
	}
	peer, err := oracle.Find(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	r := &Report{Config: c, Machine: figures.Describe(c.Dir), Started: time.Now()}
	b := &bench{ctx: ctx, config: c, peer: peer, begun: r.Started}
	for _, s := range sections() {
		if !slices.Contains(chosen, s.name) {
			continue
		}
		start := time.Now()
		others := figures.Watch(r.Machine.CPUs)
		section, err := s.run(b)
		if err != nil {
			return r, fmt.Errorf("bench %s: %w", s.name, err)
		}
		section.Name, section.Took, section.Others = s.name, time.Since(start), others()
		r.Sections = append(r.Sections, *section)
	}
	r.Took = time.Since(r.Started)
	return r, nil
}

// bench runs the sections. It has many methods because each section has its own, and all
// need the nodes' folders and the chain that is recorded once.
type bench struct {
	ctx    context.Context
	config Config
	peer   *oracle.Peer
	begun  time.Time
	made   int          // folders of nodes so far
	base   *chainFolder // see bench.transfers
}

func (b *bench) logf(format string, args ...any) {
	if b.config.Log != nil {
		fmt.Fprintf(b.config.Log, "%7.1fs  %s\n", time.Since(b.begun).Seconds(), fmt.Sprintf(format, args...)) //nolint:errcheck // a log
	}
}

// folder is the path of a new one.
func (b *bench) folder(what string) string {
	b.made++
	return filepath.Join(b.config.Dir, fmt.Sprintf("%d-%s", b.made, what))
}
