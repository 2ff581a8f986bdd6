package bench

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"tarn/internal/figuretable"
)

// Report is everything that a run measured.
type Report struct {
	Config   Config
	Machine  figuretable.Machine
	Started  time.Time
	Took     time.Duration
	Sections []Section
}

// Section is one of the report's: its results as measured, and as tables.
type Section struct {
	Name    string
	Took    time.Duration
	Others  float64 // share of the processors that other processes and the kernel's own threads used
	Tables  []figuretable.Table
	Targets figuretable.Targets

	Loads       []Load       `json:",omitempty"`
	Visits      []Visit      `json:",omitempty"`
	Openings    []Opening    `json:",omitempty"`
	Sustained   []Sustained  `json:",omitempty"`
	Hot         []Hot        `json:",omitempty"`
	Checkpoints *Checkpoints `json:",omitempty"`
	Traps       []Trap       `json:",omitempty"`
}

// section is one that can be chosen.
type section struct {
	name string
	what string
	run  func(*parent) (*Section, error)
}

func sections() []section {
	return []section{
		{"load", "loading all rows", (*parent).loads},
		{"get", "random gets", (*parent).gets},
		{"update", "random updates inside a session", (*parent).updates},
		{"seek", "seek and 100 steps", (*parent).seeks},
		{"view", "take and close a view", (*parent).views},
		{"gc", "garbage collection beside an open store", (*parent).collections},
		{"open", "opening a large store", (*parent).openings},
		{"lsm", "reads, and reads beside writes: gets per second and bytes written", (*parent).measureSustained},
		{"hot", "rows that change at every revision: bytes written", (*parent).hotRows},
		{"checkpoint", "bytes, speed and memory of checkpoints", (*parent).checkpoints},
		{"trap", "bytes that random updates make the kernel write", (*parent).traps},
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

// WriteMarkdown writes the report for people.
func (r *Report) WriteMarkdown(w io.Writer) error {
	if err := r.writeHead(w); err != nil {
		return err
	}
	for _, s := range r.Sections {
		if err := figuretable.WriteSection(w, s.Name, s.Took, s.Others, s.Tables, s.Targets); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) writeHead(w io.Writer) error {
	m, c := r.Machine, r.Config
	cgo := "off"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "CGO_ENABLED" && s.Value == "1" {
				cgo = "on"
			}
		}
	}
	_, err := fmt.Fprintf(w, `- %s rows of %d-byte keys and %d-byte values; values that cannot be compressed
- %s, %d processors, %s MB RAM; Linux %s; transparent huge pages: %s
- disk: %s
- %s, cgo %s
- started %s, took %s; load averages at the start: %s
- %d rounds of %s a measurement, medians; reading the clock takes %.0f ns

`, figuretable.Count(float64(c.Rows)), KeySize, ValueSize,
		m.CPU, m.CPUs, figuretable.Megabytes(m.RAM), m.Kernel, m.HugePages, m.Disk,
		runtime.Version(), cgo,
		r.Started.UTC().Format(time.DateTime+" UTC"), r.Took.Round(time.Second), m.Load,
		c.Rounds, c.Time, m.ClockNanos)
	return err
}
