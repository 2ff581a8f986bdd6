package blocklog

import (
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"time"

	"tarn/antelope/logcatalog"
)

const (
	defaultArchiveDir = "archive"
	defaultSyncBytes  = 4 << 20
	defaultPruneBytes = 4 << 20
)

// Options say where a log is and how much of it is kept. A nil pointer is an
// option that was not given: nodeos distinguishes that from every value.
type Options struct {
	Dir string // blocks-dir

	RetainBlocks *uint32 // block-log-retain-blocks; 0 keeps no log at all

	Stride           *uint32 // blocks-log-stride, in blocks
	MaxRetainedFiles *uint32 // max-retained-block-files
	RetainedDir      *string // blocks-retained-dir, relative to Dir; "" is Dir itself
	ArchiveDir       *string // blocks-archive-dir, relative to Dir; "" deletes; not given is "archive"

	// Needed tells the first block that a start after a crash would ask for. Neither
	// it nor a later one is let go, whatever the options above say: no pruning, no
	// archive, no deletion. What it tells only grows while the log is open; it is
	// called under the log's own locks. Nil needs none.
	Needed func() uint32

	// Mend has opening cut off, and keep beside, what is damaged though it was durable: for a start
	// that makes the state again of the blocks before. It never cuts what is Needed.
	Mend bool

	// BufferBytes is how much Append gathers before it is written. With 0 every
	// append is in the kernel's hands when it returns, safe from the process's
	// end. While a node catches up, a buffer saves calls.
	BufferBytes int
	// SyncBytes is how much may be appended without being known durable: beyond
	// it Append syncs by itself. Reversible blocks are kept until then, and what
	// opening checks after a crash is four times as much. 0 is 4 MiB.
	SyncBytes int64
	// PruneBytes is the step in which a pruned log gives space back, a power of
	// two; 0 is nodeos' 4 MiB.
	PruneBytes int64

	FS     logcatalog.FS    // nil is the machine's own
	Now    func() time.Time // names files that are set aside; nil is time.Now
	Logger *slog.Logger     // nil says nothing
}

// mode is the kind of log that options ask for.
type mode int

const (
	basic mode = iota
	empty
	pruned
	partitioned
)

func (o *Options) mode() mode {
	switch {
	case o.RetainBlocks != nil && *o.RetainBlocks == 0:
		return empty
	case o.RetainBlocks != nil:
		return pruned
	case o.partitioned():
		return partitioned
	}
	return basic
}

func (o *Options) partitioned() bool {
	return o.Stride != nil || o.MaxRetainedFiles != nil || o.RetainedDir != nil || o.ArchiveDir != nil
}

// Validate returns all that is wrong with the options, as nodeos words it
// where it does: all of them are of type [*Error].
func (o *Options) Validate() error {
	var errs []error
	bad := func(text string) { errs = append(errs, fault(BadOption, "%s", text)) }
	if o.Dir == "" {
		bad("blocks-dir is empty")
	}
	if o.RetainBlocks != nil && o.partitioned() {
		bad("block-log-retain-blocks cannot be specified together with blocks-retained-dir, " +
			"blocks-archive-dir or blocks-log-stride or max-retained-block-files.")
	}
	if o.Stride != nil && *o.Stride == 0 {
		bad("blocks-log-stride cannot be 0")
	}
	if n := o.PruneBytes; n < 0 || n&(n-1) != 0 {
		errs = append(errs, fault(Unsound, "block log prune threshold must be power of 2"))
	}
	if o.BufferBytes < 0 || o.SyncBytes < 0 {
		bad("the block log's buffer and sync sizes cannot be negative")
	}
	return errors.Join(errs...)
}

// settle checks the options and fills in what was left out.
func (o Options) settle() (Options, error) {
	if err := o.Validate(); err != nil {
		return o, err
	}
	o.FS, o.Now, o.Logger = settleSurroundings(o.FS, o.Now, o.Logger)
	o.Dir = filepath.Clean(o.Dir)
	if o.SyncBytes == 0 {
		o.SyncBytes = defaultSyncBytes
	}
	if o.PruneBytes == 0 {
		o.PruneBytes = defaultPruneBytes
	}
	return o, nil
}

// needed is the first block that may not be let go.
func (o *Options) needed() uint32 {
	if o.Needed == nil {
		return math.MaxUint32
	}
	return o.Needed()
}

// doubtful is how much at the end of a log opening looks at where no checksums tell: for
// a log that another program wrote, which leaves more unsynced.
func (o *Options) doubtful() int64 { return 4 * o.SyncBytes }

func settleSurroundings(
	fs logcatalog.FS, now func() time.Time, l *slog.Logger,
) (logcatalog.FS, func() time.Time, *slog.Logger) {
	if fs == nil {
		fs = logcatalog.OS
	}
	if now == nil {
		now = time.Now
	}
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return fs, now, l
}

func (o *Options) stride() uint32 {
	if o.Stride == nil {
		return math.MaxUint32
	}
	return *o.Stride
}

func (o *Options) maxRetained() uint32 {
	if o.MaxRetainedFiles == nil {
		return math.MaxUint32
	}
	return *o.MaxRetainedFiles
}

func (o *Options) retainedDir() string {
	if o.RetainedDir == nil {
		return o.Dir
	}
	return below(o.Dir, *o.RetainedDir)
}

// archiveDir is where surplus files go, "" if they are deleted.
func (o *Options) archiveDir() string {
	switch {
	case o.ArchiveDir == nil:
		return below(o.Dir, defaultArchiveDir)
	case *o.ArchiveDir == "":
		return ""
	}
	return below(o.Dir, *o.ArchiveDir)
}

// below is path as seen from dir.
func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
