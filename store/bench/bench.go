// Package bench measures the engines beside each other and beside libraries used
// without the seam: speed, bytes written, memory. It owns the workloads, the
// stores that they run on and the tables that come out. It never judges an engine
// by its own counters where the kernel has one, and never runs two measurements
// at a time.
//
// Each measurement runs in a process of its own, so that the kernel's accounts
// (/proc/self/io, /proc/self/status) are its own and no engine inherits another's
// heap. A comparison goes round its subjects several times and takes medians.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"tarn/internal/figuretable"
)

// Config says what is measured and how long. Sizes are in bytes. See [Default]
// and [Short] for the values that are meant.
type Config struct {
	// Dir is where the stores are made: a new folder, which Run removes. The
	// full size needs 40 GB.
	Dir  string
	Rows int
	Seed uint64
	// Stores names the subjects to measure; none means all.
	Stores []string

	// Rounds of each comparison; Time is that of one measurement in it.
	Rounds int
	Time   time.Duration
	// Rest lets the disk come to rest between measurements, so that none pays for
	// another's writes. On a machine that others use it may take long.
	Rest bool
	// Cache is the memory of an LSM engine, or of a library, for get, update,
	// seek and view: enough for all rows.
	Cache int64

	// OpenBytes is the size of the store that is opened.
	OpenBytes int64

	// Sustain is how long each LSM run takes, Memory what each may use for
	// caches and changes, Rate the bytes of keys and values changed in a second
	// beside the reads.
	Sustain time.Duration
	Memory  int64
	Rate    int64

	// HotFlushes is how often rows that change at every revision are flushed.
	HotFlushes int

	// CheckpointBytes is how much is changed before each measured checkpoint.
	CheckpointBytes int64

	// Trap is how long random updates run in each mode, TrapBare how long they
	// do in a bare shared mapping; TrapRate is their number in a second,
	// TrapEvery the time between checkpoints.
	Trap, TrapBare, TrapEvery time.Duration
	TrapRate                  int

	// Command makes the command of a child process, which calls [Serve].
	Command func(context.Context) *exec.Cmd `json:"-"`
	// Log receives a line for each step; may be nil.
	Log io.Writer `json:"-"`
}

// Default is the full size: 10 million rows, about two hours.
func Default() Config {
	return Config{
		Rows: 10_000_000, Seed: 1,
		Rounds: 3, Time: 3 * time.Second, Rest: true, Cache: 4 << 30,
		OpenBytes: 4 << 30,
		Sustain:   150 * time.Second, Memory: 512 << 20, Rate: 2_000_000,
		HotFlushes: 20, CheckpointBytes: 1 << 30,
		Trap: 60 * time.Second, TrapBare: 10 * time.Second, TrapEvery: 20 * time.Second, TrapRate: 20_000,
	}
}

// Short is small enough for every change: it shows that everything runs, and
// orders of magnitude.
func Short() Config {
	return Config{
		Rows: 100_000, Seed: 1,
		Rounds: 1, Time: 50 * time.Millisecond, Cache: 256 << 20,
		OpenBytes: 32 << 20,
		Sustain:   500 * time.Millisecond, Memory: 32 << 20, Rate: 2_000_000,
		HotFlushes: 4, CheckpointBytes: 12 << 20,
		Trap: time.Second, TrapBare: 200 * time.Millisecond, TrapEvery: time.Second, TrapRate: 20_000,
	}
}

// Validate names everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Dir == "", "no folder given")
	bad(c.Rows < minRows, "%d rows are fewer than %d", c.Rows, minRows)
	bad(c.Rounds < 1, "%d rounds", c.Rounds)
	bad(c.Time <= 0 || c.Sustain <= 0 || c.Trap <= 0 || c.TrapBare <= 0 || c.TrapEvery <= 0,
		"a duration is not positive")
	bad(c.Cache < 32<<20 || c.Memory < 32<<20, "a cache is below 32 MiB")
	bad(c.OpenBytes < 1<<20 || c.CheckpointBytes < 1<<20, "a size is below 1 MiB")
	bad(c.HotFlushes < 1, "%d flushes", c.HotFlushes)
	bad(c.Rate < 1000 || c.TrapRate < 10, "a rate is too low")
	for _, name := range c.Stores {
		if _, err := subjectNamed(name); err != nil {
			errs = append(errs, err)
		}
	}
	bad(c.Command == nil, "no command for child processes")
	if len(errs) > 0 {
		return fmt.Errorf("bench: %w", errors.Join(errs...))
	}
	return nil
}

// minRows keeps the sizes of updates and scans below the table's.
const minRows = 10_000

// Run measures the named sections (see [Sections]), or all if there is no name.
// It stops at the first failure; what was measured until then is in the report.
func Run(ctx context.Context, c Config, names ...string) (_ *Report, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	chosen, err := figuretable.Choose(Sections(), names)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	r := &Report{Config: c, Machine: figuretable.Describe(c.Dir), Started: time.Now()}
	p := &parent{ctx: ctx, config: c, names: chosen, begun: r.Started, loaded: map[string]Load{}}
	for _, s := range sections() {
		if !p.wants(s.name) {
			continue
		}
		start := time.Now()
		others := figuretable.Watch(r.Machine.CPUs)
		section, err := s.run(p)
		if err != nil {
			return r, fmt.Errorf("bench %s: %w", s.name, err)
		}
		section.Name, section.Took, section.Others = s.name, time.Since(start), others()
		r.Sections = append(r.Sections, *section)
	}
	r.Took = time.Since(r.Started)
	return r, nil
}
