// Package slicefile keeps the files of trace_api_plugin of nodeos: slices, each of so many
// blocks, with three files that nodeos can read and go on with, and this package with
// nodeos' ([Log]). It owns those files, what a crash may leave of them, and where in them
// a block is.
//
// It never decides which blocks are recorded, nor when a slice is compressed or removed,
// and it does not know what a block's transactions did.
//
// # What is durable
//
//  1. Append writes, Sync makes durable: the files first, then a mark of their sizes.
//  2. Begin cuts everything after the mark off, whatever it is: the chain, which does not
//     save a state before a Sync of its blocks, tells those blocks again.
//  3. A block that a slice has is left as it is when the chain tells it again, so files
//     do not grow in a replay.
//  4. If the chain goes on after a later block than the mark's, it does not tell them again.
//     What this package wrote after the mark is cut off then too, as a power cut may have
//     torn it; the mark says where that can be. What nodeos wrote since, or without a mark,
//     is kept: nodeos syncs each entry.
//  5. A block above the last irreversible one stays only if the head of the chain is it, or
//     comes after it by the ids of blocks before. Another one may be of a branch that has
//     lost, and would count as irreversible with the next one that is.
//  6. A slice whose blocks are all irreversible, and before the mark, is never appended to.
//
// # Goroutines
//
// One goroutine at a time calls what changes files. Reads may run beside it and each
// other; they wait only while a few numbers are copied.
//
// docs/formats/traces.md tells the bytes.
package slicefile

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs"
)

// Errors that callers branch on.
var (
	// ErrNotFound says that there are no traces of a block.
	ErrNotFound = errors.New("block not in the traces")
	// ErrCorrupt is wrapped by what is said of files that are not what they should be.
	ErrCorrupt = errors.New("corrupt traces")
	// ErrOtherChain says that the files are of another chain than the block that is told.
	ErrOtherChain = errors.New("the traces are of another chain")
	// ErrFailed is wrapped by what a log returns once a write or sync of it has failed:
	// nothing is appended until it is opened again. Reading goes on.
	ErrFailed = errors.New("an earlier write of the traces failed; open them again")
)

// Options say where slices are.
type Options struct {
	Dir    string        // made if it isn't there
	Stride uint32        // blocks of a slice
	FS     logcatalog.FS // nil for the machine's own
	Logger *slog.Logger
}

// Validate names all that is wrong.
func (o *Options) Validate() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("no folder for traces"))
	}
	if o.Stride == 0 {
		errs = append(errs, errors.New("trace-slice-stride must be 1 or more"))
	}
	return errors.Join(errs...)
}

// Log is the slices of a chain.
//
// Its directory reads and cuts files, and a recovery makes them ready at a start. It has many
// methods still, because appending, finding, and what is let go of keep one list of slices
// true under one lock.
type Log struct {
	directory

	mu      sync.RWMutex
	slices  map[uint32]*slice // that exist
	lib     uint32            // last irreversible block that was told
	head    uint32            // newest block, or the last one that was told
	kept    int               // blocks in tables that may be let go of
	clock   uint64            // of their use
	settled uint32            // slices before it are never appended to again
	passed  bool              // blocks that the mark does not tell
	stats   Stats

	loading sync.Mutex // among readers, for tables

	// The rest is the one's who appends.
	parts  map[uint32]*part
	mark   mark // what is durable
	names  bool // files were made whose names are not durable
	failed error
	again  again
}

// directory is where the files are, and what can be done with one by itself. It changes
// nothing of what is known of them.
type directory struct {
	o  Options
	fs logcatalog.FS
}

// Stats are what a log has done since it was opened.
type Stats struct {
	Blocks, Syncs      uint64
	Traces, Index, IDs uint64 // bytes written to the files of each kind
	Marks              uint64 // bytes of marks
	Compressed         uint64 // bytes of compressed slices
}

// slice is one that exists. Its fields belong to the log's lock.
type slice struct {
	number uint32
	table  *table // nil if it has to be loaded
	live   bool   // may be appended to: the table stays
	used   uint64
}

// Open opens the slices in a folder, or makes it. Begin has to come before Append.
func Open(o Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = logcatalog.OS
	}
	l := &Log{directory: directory{o, o.FS}, slices: map[uint32]*slice{}, parts: map[uint32]*part{}}
	if err := vfs.MkdirAll(l.fs, o.Dir); err != nil {
		return nil, err
	}
	names, err := l.fs.List(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", o.Dir, err)
	}
	others := 0
	for _, name := range names {
		first, end, ok := parseName(name)
		switch {
		// never finished
		case strings.HasPrefix(name, tracesPrefix) && strings.HasSuffix(name, clogSuffix+vfs.NewSuffix):
			if err := l.fs.Remove(filepath.Join(o.Dir, name)); err != nil {
				return nil, err
			}
		case !ok:
		case end-first == o.Stride && first%o.Stride == 0:
			l.slices[first/o.Stride] = &slice{number: first / o.Stride}
		default:
			others++
		}
	}
	if others > 0 {
		o.Logger.Warn("There are traces of another trace-slice-stride in the folder; they are not read",
			"folder", o.Dir, "files", others)
	}
	return l, nil
}

// Kinds of files, by how their names begin.
const (
	tracesPrefix = "trace_"
	indexPrefix  = "trace_index_"
	idsPrefix    = "trace_trx_id_"
	logSuffix    = ".log"
	clogSuffix   = ".clog"
)

// path is a slice's file. nodeos prints the numbers as signed ones.
func (d *directory) path(prefix string, number uint32, suffix string) string {
	first := number * d.o.Stride
	return filepath.Join(d.o.Dir, fmt.Sprintf("%s%010d-%010d%s", prefix, int32(first), int32(first+d.o.Stride), suffix))
}

// parseName reads which blocks a file of a slice is of.
func parseName(name string) (first, end uint32, ok bool) {
	for _, suffix := range []string{logSuffix, clogSuffix} {
		stem, found := strings.CutSuffix(name, suffix)
		if !found {
			continue
		}
		for _, prefix := range []string{indexPrefix, idsPrefix, tracesPrefix} {
			rest, found := strings.CutPrefix(stem, prefix)
			if !found || len(rest) != 21 {
				continue
			}
			a, err1 := strconv.ParseInt(rest[:10], 10, 32)
			b, err2 := strconv.ParseInt(rest[11:], 10, 32)
			if err1 == nil && err2 == nil && rest[10] == '-' {
				return uint32(a), uint32(b), true
			}
		}
	}
	return 0, 0, false
}

// Slice is the number of the slice that a block is in.
func (d *directory) Slice(num uint32) uint32 { return num / d.o.Stride }

// Irreversible is the last irreversible block that was told; Head the newest block.
func (l *Log) Irreversible() uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.lib
}

// Head is the block that was told last, or the newest one in the files.
func (l *Log) Head() uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.head
}

// First is where the oldest slice begins; 0 without one.
func (l *Log) First() uint32 {
	list := l.Slices()
	if len(list) == 0 {
		return 0
	}
	return list[0] * l.o.Stride
}

// Stats returns what was done.
func (l *Log) Stats() Stats {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.stats
}

// fail notes a write that failed.
func (l *Log) fail(err error) error {
	l.failed = fmt.Errorf("%w: %w", ErrFailed, err)
	return err
}

// Close makes everything durable and closes the files.
func (l *Log) Close() error {
	var err error
	if l.failed == nil {
		err = l.sync(0)
	}
	for _, p := range l.parts {
		err = errors.Join(err, p.close())
	}
	l.parts = nil
	return err
}

// FS is where the files are.
func (d *directory) FS() logcatalog.FS { return d.fs }
