package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"tarn/internal/figures"
	"tarn/opera/oracle"
)

// Config says what is measured. See [Default] and [Short] for the values that are meant.
type Config struct {
	// Dir is where nodes keep their data: a new folder, which Run removes. Chains is where
	// chains are kept that a go-opera made; those that are there are used.
	Dir, Chains string
	// Tarn is the program that is measured: it takes go-opera's command line after the word
	// "opera", and after the word "told" the arguments of [Tell].
	Tarn     string
	Rounds   int
	Engines  []string // those of [Engines] that are measured
	Work     Work     // of the chain that is imported
	Slots    int      // calls of the chain of fresh slots
	Recovery time.Duration
	Readable Readable      // the chain that is asked about
	Living   time.Duration // for which a validator is busy, and idle
	Asking   time.Duration // for which each kind of requests is made in a round
	Syncing  time.Duration // for which a node that syncs is asked in a round
	Log      io.Writer     `json:"-"` // receives a line for each step; may be nil
}

// Default is the full size. With the chains made it takes an hour; they take ten minutes
// more.
func Default() Config {
	return Config{
		Rounds: 3, Engines: Engines(), Slots: 300, Recovery: time.Minute,
		Readable: Readable{Seed: 1, Blocks: 3000, Accounts: 500}, Asking: 5 * time.Second, Living: 10 * time.Minute, Syncing: 10 * time.Second,
		Work: Work{Seed: 1, Accounts: 10_000, Tokens: 110_000, Plain: 85_000, Heavy: 1000},
	}
}

// Short shows in some four minutes that everything runs. Its figures mean nothing.
func Short() Config {
	return Config{
		Rounds: 1, Engines: Engines(), Slots: 5, Recovery: time.Minute,
		Readable: Readable{Seed: 1, Blocks: 50, Accounts: 50}, Asking: 200 * time.Millisecond, Living: 3 * time.Second, Syncing: 500 * time.Millisecond,
		Work: Work{Seed: 1, Accounts: 50, Tokens: 500, Plain: 300, Heavy: 5},
	}
}

// Engines names what can keep our state: the page engine in each mode, and the others.
func Engines() []string {
	return []string{"mapped_private", "mapped", "heap", "locked", "leveldb", "pebble", "badger"}
}

// presets are go-opera's ways to keep its databases that are measured.
var presets = []string{"ldb-1", "pbl-1"}

// Validate names everything that is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	bad := func(cond bool, what string) {
		if cond {
			errs = append(errs, errors.New(what))
		}
	}
	bad(c.Dir == "" || c.Chains == "", "no folder given")
	bad(c.Tarn == "", "no program given")
	bad(c.Rounds < 1, "no round")
	bad(c.Work.Accounts < 1 || c.Work.all() < 1 || c.Slots < 1, "a number of accounts or transactions is below 1")
	bad(c.Readable.Blocks < 10 || c.Readable.Accounts < 2*eachBlock+1 || c.Asking <= 0 || c.Living <= 0 || c.Syncing <= 0, "too little to ask, or no time for it")
	bad(c.Recovery < 0, "a negative time of recovery")
	bad(len(c.Engines) == 0, "no engine")
	for _, e := range c.Engines {
		bad(!slices.Contains(Engines(), e), fmt.Sprintf("no engine is called %q; there are %v", e, Engines()))
	}
	if len(errs) > 0 {
		return fmt.Errorf("bench: %w", errors.Join(errs...))
	}
	return nil
}

// Report is everything that a run measured.
type Report struct {
	Config   Config
	Machine  figures.Machine
	Started  time.Time
	Took     time.Duration
	Sections []Section
}

// Section is one of the report's: its results as measured, and as tables.
type Section struct {
	Name    string
	Took    time.Duration
	Others  float64 // share of the processors that none of ours used
	Tables  []figures.Table
	Targets figures.Targets

	Imports []Import  `json:",omitempty"`
	Starts  []Start   `json:",omitempty"`
	Asked   []Asked   `json:",omitempty"`
	Served  []Served  `json:",omitempty"`
	Lives   []Living  `json:",omitempty"`
	Synced  []Synced  `json:",omitempty"`
	Syncing []Syncing `json:",omitempty"`
}

type section struct {
	name, what string
	run        func(*measurement) (*Section, error)
}

func sections() []section {
	return []section{
		{"import", "a file of events, from the start of the process to its end", (*measurement).imports},
		{"slots", "fresh slots, from a file of events: bytes written", (*measurement).slots},
		{"start", "a start after a kill in the middle of an import", (*measurement).starts},
		{"requests", "JSON-RPC of a chain at rest, as fast as it is answered; a second start, an end", (*measurement).requests},
		{"live", "a validator with ten transactions a second, idle, killed: bytes written, what is lost", (*measurement).lives},
		{"sync", "a chain from a peer, from the start of the process until it has the last block", (*measurement).syncs},
		{"syncing", "JSON-RPC of a node that gets a chain from a peer, asked at fixed times", (*measurement).syncings},
	}
}

// Sections names the sections in their order, each with a line of what it is.
func Sections() [][2]string {
	var all [][2]string
	for _, s := range sections() {
		all = append(all, [2]string{s.name, s.what})
	}
	return all
}

// measurement runs the sections.
type measurement struct {
	ctx    context.Context
	config Config
	peer   *oracle.Peer
	begun  time.Time
	made   int // folders so far
}

// Run measures the named sections, or all if there is no name. It stops at the first failure;
// what was measured until then is in the report. Without a go-opera on this machine it fails
// with [oracle.ErrNoPeer].
func Run(ctx context.Context, c Config, names ...string) (_ *Report, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	chosen, err := figures.Choose(Sections(), names)
	if err != nil {
		return nil, err
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
	m := &measurement{ctx: ctx, config: c, peer: peer, begun: r.Started}
	for _, s := range sections() {
		if !slices.Contains(chosen, s.name) {
			continue
		}
		start := time.Now()
		others := figures.Watch(r.Machine.CPUs)
		section, err := s.run(m)
		if err != nil {
			return r, fmt.Errorf("bench %s: %w", s.name, err)
		}
		section.Name, section.Took, section.Others = s.name, time.Since(start), others()
		r.Sections = append(r.Sections, *section)
	}
	r.Took = time.Since(r.Started)
	return r, nil
}

func (m *measurement) logf(format string, args ...any) {
	if m.config.Log != nil {
		fmt.Fprintf(m.config.Log, "%7.1fs  %s\n", time.Since(m.begun).Seconds(), fmt.Sprintf(format, args...))
	}
}

// folder makes a new one.
func (m *measurement) folder(what string) (string, error) {
	m.made++
	dir := filepath.Join(m.config.Dir, fmt.Sprintf("%d-%s", m.made, what))
	return dir, os.Mkdir(dir, 0o755)
}

// chain returns the events of a chain of some work.
func (m *measurement) chain(w *Work) (string, error) {
	dir, err := m.folder("maker")
	if err != nil {
		return "", err
	}
	if m.config.Log == nil {
		return w.Events(m.ctx, m.peer, m.config.Chains, dir, io.Discard)
	}
	return w.Events(m.ctx, m.peer, m.config.Chains, dir, m.config.Log)
}

// WriteMarkdown writes the report for people.
func (r *Report) WriteMarkdown(w io.Writer) error {
	m := r.Machine
	if _, err := fmt.Fprintf(w, "- %s, %d processors, %s MB RAM; Linux %s; disk: %s\n- %s; go-opera v1.1.3-rc.5, built with the same Go\n- started %s, took %s; load averages at the start: %s\n- %d rounds, in turns; medians\n\n",
		m.CPU, m.CPUs, figures.Megabytes(m.RAM), m.Kernel, m.Disk, runtime.Version(),
		r.Started.UTC().Format(time.DateTime+" UTC"), r.Took.Round(time.Second), m.Load, r.Config.Rounds); err != nil {
		return err
	}
	for _, s := range r.Sections {
		if err := figures.WriteSection(w, s.Name, s.Took, s.Others, s.Tables, s.Targets); err != nil {
			return err
		}
	}
	return nil
}
