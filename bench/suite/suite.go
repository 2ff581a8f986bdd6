// Package suite measures subjects beside each other: the same chain, the same work, in
// child processes, in rounds whose order turns, and keeps everything as a record.
//
// It owns the suites, their rounds and when a pair counts. It knows no protocol: that is a
// [Network]. It never measures two subjects at a time, and leaves nothing behind.
package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/bench/subject"
)

// Network is a chain that all subjects are given, and how its programs are spoken to.
type Network interface {
	// Chain makes the chain, or finds it made.
	Chain(ctx context.Context, tell func(string)) (record.Chain, error)
	Version(ctx context.Context, s subject.Subject) (string, error)
	// Install puts the chain where a node of the folder, which is new, looks for it.
	Install(dir string) error
	// Import are the arguments of a node that makes the state of that chain, and ends.
	Import(s subject.Subject, dir string) ([]string, error)
	// Serve are those of a node that takes transactions on it, and its URL.
	Serve(s subject.Subject, dir, snapshot string) (args []string, url string, err error)
	// Head asks a node for its newest block.
	Head(ctx context.Context, url string) (uint64, error)
	// Transfers makes requests that send a node transfers.
	Transfers(url string, seed uint64) (load.Source, error)
	// Accepted says why an answer is not that a transfer was taken.
	Accepted(status int, body []byte) error
	// Snapshot has a node write one, and returns its path.
	Snapshot(ctx context.Context, url string) (string, error)
}

// Names of the suites.
const (
	Import   = "import"
	Start    = "start"
	Push     = "push"
	Stop     = "stop"
	Disk     = "disk"
	Snapshot = "snapshot"
)

// Description says what a suite is, for people who choose.
type Description struct {
	record.Suite
	Article string // what it is in the articles
	Time    string // of one life
}

// Names of values.
const (
	took      = "time"
	processor = "processor"
	written   = "written"
	read      = "read"
	faults    = "waits for a page"
	private   = "private memory, most"
	resident  = "resident, most"
	onDisk    = "on disk"
	rate      = "answers"
	half      = "half within"
	nearAll   = "99 % within"
	each      = "processor each"
	client    = "client's each"
	share     = "processor"
	running   = "written while it serves"
	atEnd     = "written at the end"
	year      = "written in a year"
	size      = "size"
	swap      = "swap, most"
)

// Units of values, all without prefixes: seconds, bytes.
const (
	seconds   = "s"
	bytesUnit = "B"
	perSecond = "1/s"
	byteRate  = "B/s"
	percent   = "% of a core"
	yearly    = "B/year"
	number    = ""
)

// All describes every suite, in the order in which they run.
func All() []Description {
	memory := []record.Metric{{Name: private, Unit: bytesUnit}, {Name: resident, Unit: bytesUnit}}
	return []Description{
		{record.Suite{Name: Import, How: "A new process makes the state of the chain's blocks, makes it durable, and ends; each subject did so once before, unmeasured. " +
			"Written is what the kernel counts for the process, less what was deleted before it got to the disk.",
			Metrics: append([]record.Metric{{Name: took, Unit: seconds}, {Name: processor, Unit: seconds}, {Name: written, Unit: bytesUnit}, {Name: onDisk, Unit: bytesUnit}}, memory...)},
			"sync from genesis, without the network", "seconds"},
		{record.Suite{Name: Start, How: "From the start of the process on a state that exists until it answers. Its files were put out of the page cache.",
			Metrics: append([]record.Metric{{Name: took, Unit: seconds}, {Name: processor, Unit: seconds}, {Name: read, Unit: bytesUnit}, {Name: faults, Unit: number}}, memory[0])},
			"processor and memory of the second start", "seconds"},
		{record.Suite{Name: Push, How: "Transfers signed beforehand, one a transaction, all signed with one key, sent over HTTP, each connection the next as soon as its last is answered. " +
			"The client shares the processors with the node.",
			Metrics: append([]record.Metric{{Name: rate, Unit: perSecond, More: true}, {Name: half, Unit: seconds}, {Name: nearAll, Unit: seconds}, {Name: each, Unit: seconds}, {Name: client, Unit: seconds}}, memory[0])},
			"requests answered", "seconds"},
		{record.Suite{Name: Stop, How: "From SIGTERM until the process is gone, after the transfers of `push`, with what it writes meanwhile.",
			Metrics: []record.Metric{{Name: took, Unit: seconds}, {Name: written, Unit: bytesUnit}}},
			"exit: dirty pages are written", "seconds"},
		{record.Suite{Name: Disk, How: "Transfers at a steady rate over HTTP, then the end of the process. A year is the bytes per second while it serves, and what is written at the end " +
			"(a checkpoint) once in the time that lies between checkpoints.",
			Metrics: append([]record.Metric{{Name: running, Unit: byteRate}, {Name: atEnd, Unit: bytesUnit}, {Name: year, Unit: yearly}, {Name: share, Unit: percent}, {Name: nearAll, Unit: seconds}}, memory[0])},
			"writes to the drive at 10-15 and 15-40 transactions per second, and the years that it lasts", "--for"},
		{record.Suite{Name: Snapshot, How: "A snapshot of the state while the node serves: from the question to the answer. Then a new node starts from the snapshot, until it answers, and ends well. " +
			"Processor, waits, memory and the curves are the new node's.",
			Metrics: append([]record.Metric{{Name: took, Unit: seconds}, {Name: size, Unit: bytesUnit}, {Name: written, Unit: bytesUnit}, {Name: loading, Unit: seconds}, {Name: processor, Unit: seconds},
				{Name: loadWritten, Unit: bytesUnit}, {Name: atEnd, Unit: bytesUnit}, {Name: faults, Unit: number}, {Name: swap, Unit: bytesUnit}}, memory...)},
			"first start, from a snapshot", "seconds"},
	}
}

// Names of values of a start from a snapshot.
const (
	loading     = "start from it"
	loadWritten = "written by the start"
)

// Bounds of what can be asked.
const (
	roundsMost   = 1000
	accountsMost = 10_000_000
	workMost     = 100_000_000
	pushMost     = 1_000_000
	openMost     = 10_000_000 // transfers of one life of disk
	rateLeast    = 0.01       // a transfer is signed up to two of its intervals before it is sent, and good for an hour
)

// Validate names everything that is wrong with options.
func Validate(o record.Options) error {
	var errs []error
	bad := func(cond bool, format string, args ...any) {
		if cond {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for i, name := range o.Suites {
		known := slices.ContainsFunc(All(), func(d Description) bool { return d.Name == name })
		bad(!known, "no suite is called %q; there are %s", name, strings.Join(names(), ", "))
		bad(slices.Contains(o.Suites[:i], name), "suite %q is named twice", name)
	}
	bad(len(o.Suites) == 0, "no suite is named; there are %s", strings.Join(names(), ", "))
	bad(len(o.Subjects) == 0, "no subject is named")
	bad(o.Rounds < 1 || o.Rounds > roundsMost, "%d rounds: from 1 to %d", o.Rounds, roundsMost)
	bad(o.Accounts < 2 || o.Accounts > accountsMost, "%d accounts: from 2 to %d", o.Accounts, accountsMost)
	bad(o.Work < 1 || o.Work > workMost, "%d transfers in the chain: from 1 to %d", o.Work, workMost)
	bad(o.Push < 1 || o.Push > pushMost, "%d transfers to push: from 1 to %d", o.Push, pushMost)
	bad(o.Connect < 1 || o.Connect > 1000, "%d connections: from 1 to 1000", o.Connect)
	bad(!(o.Rate >= rateLeast) || !(o.For > 0) || o.Rate*o.For > openMost, "a rate of %g per second for %g s: at least %g, above 0, and at most %d transfers", o.Rate, o.For, rateLeast, openMost)
	bad(!(o.Between > 0), "%g s between checkpoints: above 0", o.Between)
	bad(!(o.Limit >= 0), "a limit of %g s", o.Limit)
	return errors.Join(errs...)
}

func names() (all []string) {
	for _, d := range All() {
		all = append(all, d.Name)
	}
	return all
}
