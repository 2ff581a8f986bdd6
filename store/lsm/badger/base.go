// Package badger is Badger as a base of store/lsm. It owns the library's options,
// the versions that make a flush of many transactions one change, the order of
// syncs, and the checks that the library leaves out. It never lets a flush show
// that is not whole, and never opens tables that it has not checked.
//
// # Versions
//
// The rows of flush n are written at version n, in as many transactions as it
// takes. When all of them are durable, one more row, the marker, is written and
// synced; it names the version at which readers read. What a crash leaves above
// the marker's version is taken back at the next opening before anything else.
//
// # Long values
//
// The library's own way to win back the space of values that lie beside the tables
// writes rows again under their old versions, above tables where a newer deletion
// may be dropped later: rows that were deleted come back, and after power cuts
// values were missing (one cut in thirty). It is not used. So values up to 512 KiB
// (a tenth of a memtable if that is less) stay in the tables; the space of longer
// ones that were replaced is won back by converting the store.
//
// # What the library leaves out
//
// Badger answers a damaged block with "no such row", skips the rest of its table
// in a compaction, and opens without a table whose index is damaged. So every
// table is checked from end to end before the library is opened. It writes
// through shared mappings of sparse files, so a full disk ends the process
// (SIGBUS): whatever makes it write is refused while there is not room enough.
// What cannot be closed for that reason is abandoned, with its lock, until the
// process ends: what was reported durable is, and the next opening finishes the
// logs. Left is a compaction that is under way when another program takes more
// than was free.
package badger

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"tarn/store/lsm"
	"tarn/store/vfs"
)

// Kind is the name of the library and of its folder.
const Kind = "badger"

// Options say how the library is opened. Sizes are in bytes.
type Options struct {
	Dir string // of the store
	FS  vfs.FS // by which the lock and the seal are reached; default vfs.OS
	// CacheBytes is shared out as lsm.Share says; default lsm.DefaultCache. The
	// library's memtables take at least 12 MiB, whatever their share. What the library
	// takes while it writes tables comes on top, some times as much: tables' sizes follow
	// CacheBytes.
	CacheBytes int64
	// ReadOnly refuses a store that was not closed: the library cannot read the
	// logs of one without finishing them.
	ReadOnly bool
}

// Validate names everything that is wrong with o.
func (o Options) Validate() error { return lsm.CheckOptions(Kind, o.Dir, o.CacheBytes) }

const (
	memtables   = 3       // one is filled, one waits, one is written out
	minMemtable = 4 << 20 // a transaction may be 15 % of it

	maxInline = 512 << 10 // longer values lie in files of their own, for ever

	minTable, maxTable = 256 << 10, 8 << 20 // bytes of a table's file
)

// tableSize is the size of a table's file. While the library makes a table it holds all of
// its rows, not compressed, and each block once more; up to thirteen tables are being made at
// a time by each of two compactions. So a table is small where the memory is. The files are
// few all the same: mapping each of them, a process can have 65,530.
func tableSize(cacheBytes int64) int64 {
	return min(max(cacheBytes/64, minTable), maxTable)
}

// library translates the options. docs/decisions/lsm-tuning.md has the reasons.
func (o Options) library(path string, l *logger) badger.Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = lsm.DefaultCache()
	}
	budget := lsm.Share(o.CacheBytes)
	b := badger.DefaultOptions(path)
	b.Logger = l
	b.ReadOnly = o.ReadOnly
	b.BypassLockGuard = true // the store's own lock keeps others out, and readers may be many
	b.MemTableSize = max(budget.Memtables/memtables, minMemtable)
	b.NumMemtables = memtables - 2
	b.BlockCacheSize = budget.Blocks
	b.Compression = options.Snappy
	b.BloomFalsePositive = 0.01 // about 10 bits a key
	b.BaseTableSize = tableSize(o.CacheBytes)
	b.TableSizeMultiplier = 1 // on every level
	b.BaseLevelSize = 64 << 20
	b.NumCompactors = 2
	b.ValueThreshold = min(maxInline, b.MemTableSize/10)
	b.ValueLogFileSize = 128 << 20 // twice the longest value
	b.NumVersionsToKeep = 1
	b.DetectConflicts = false
	b.SyncWrites = false // sync points are Commit's
	b.VerifyValueChecksum = true
	b.ChecksumVerificationMode = options.OnBlockRead
	return b
}

// Base implements lsm.Base.
type Base struct {
	folder  *lsm.Folder
	db      *badger.DB
	options badger.Options
	logger  *logger
	before  lsm.Metrics // what the library's counters, which all its stores share, said
	list    lsm.List    // the folder's: how far it was made durable

	mu        sync.Mutex
	version   uint64         // at which readers read: the marker's
	tried     uint64         // the highest at which anything was written
	leftover  bool           // there are rows above version
	snapshots map[uint64]int // open ones, by version
	broken    error
}

var _ lsm.Base = (*Base)(nil)

// Open enters the folder, checks the tables and opens the library, which it
// creates if need be.
func Open(o Options) (*Base, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return lsm.Inside(o.FS, o.Dir, Kind, o.ReadOnly, func(folder *lsm.Folder) (*Base, error) { return open(folder, o) })
}

func open(folder *lsm.Folder, o Options) (*Base, error) {
	if !folder.New() {
		if err := checkTables(folder); err != nil {
			return nil, err
		}
	}
	b := &Base{folder: folder, logger: &logger{}, snapshots: map[uint64]int{}, before: sharedMetrics()}
	b.options = o.library(folder.Path(), b.logger)
	if err := b.roomToOpen(); err != nil {
		return nil, err
	}
	if err := b.prepare(o); err != nil {
		return nil, err
	}
	if err := b.openLibrary(b.options); err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		folder.Lists(b.durableList)
	}
	err := b.allocate()
	if err == nil {
		err = b.recover()
	}
	if err != nil {
		return nil, errors.Join(err, b.closeLibrary())
	}
	return b, nil
}

// prepare does what the library does not do for itself at an opening.
func (b *Base) prepare(o Options) error {
	logs, err := b.logs()
	b.folder.EndsIn(filepath.Join(b.folder.Path(), badger.ManifestFilename), -1)
	if len(logs) > 0 {
		b.folder.EndsIn(slices.Max(slices.Collect(maps.Keys(logs))), -1)
	}
	switch {
	case err != nil:
		return err
	case o.ReadOnly && len(logs) > 0:
		return fmt.Errorf("open %s for reading: it was not closed; open it for writing once, which finishes its logs",
			b.folder.Path())
	case o.ReadOnly, b.folder.New():
		return nil
	case len(logs) > 0:
		return b.makeRoom(logs)
	}
	return b.look(o)
}

// Unclosed tells whether the store in dir has logs of memtables, which the library cannot
// read without finishing them.
func Unclosed(dir string) (bool, error) {
	logs, err := logsIn(filepath.Join(dir, Kind))
	return len(logs) > 0, err
}

// logsIn lists the logs of memtables in the library's folder.
func logsIn(path string) ([]string, error) { return filepath.Glob(filepath.Join(path, "*.mem")) }

// logs returns the logs of memtables and their sizes.
func (b *Base) logs() (map[string]int64, error) {
	names, err := logsIn(b.folder.Path())
	if err != nil {
		return nil, err
	}
	logs := map[string]int64{}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("look at a log: %w", err)
		}
		logs[name] = info.Size()
	}
	return logs, nil
}

// look compares a store that was closed with its seal, while the library is open
// for reading only. One that was not closed the library cannot read unchanged.
func (b *Base) look(o Options) error {
	o.ReadOnly = true
	read := &Base{folder: b.folder, logger: b.logger, options: o.library(b.folder.Path(), b.logger)}
	if err := read.openLibrary(read.options); err != nil {
		return err
	}
	return errors.Join(read.recover(), read.closeLibrary())
}

// makeRoom finishes memtables that are larger than those to come: the library
// reads a log into a memtable of the present size, and ends the process if it
// does not fit. It also takes a log that a crash has left without a byte for one
// that it has just made, and gives up; so do logs of values.
func (b *Base) makeRoom(logs map[string]int64) error {
	values, err := filepath.Glob(filepath.Join(b.folder.Path(), "*.vlog"))
	if err != nil {
		return err
	}
	for _, name := range values {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("look at a log: %w", err)
		}
		if info.Size() == 0 {
			logs[name] = 0
		}
	}
	large := b.options
	for name, size := range logs {
		large.MemTableSize = max(large.MemTableSize, size)
		if size > 0 {
			continue
		}
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("remove an empty log: %w", err)
		}
	}
	if large.MemTableSize <= 2*b.options.MemTableSize {
		return nil
	}
	if err := b.openLibrary(large); err != nil {
		return err
	}
	return b.closeLibrary()
}

func (b *Base) openLibrary(o badger.Options) error {
	db, err := badger.OpenManaged(o)
	if err == nil && b.logger.failure() != nil {
		// The library says so here only, and goes on without what it misses.
		err = errors.Join(b.logger.failure(), db.Close())
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", b.folder.Path(), b.asDamage(err))
	}
	b.db = db
	return nil
}

// asDamage is an error of the library's opening: with the lock held and the folder
// there, that is damage unless the system says otherwise.
func (b *Base) asDamage(err error) error {
	var system *os.PathError
	if errors.As(err, &system) && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	path := b.folder.Path()
	for _, says := range []string{"key registry", "sanity text", "Encryption key mismatch"} {
		if strings.Contains(err.Error(), says) {
			path = filepath.Join(path, "KEYREGISTRY")
		}
	}
	return lsm.Damaged(path, err)
}

// Folder implements lsm.Base.
func (b *Base) Folder() *lsm.Folder { return b.folder }

// Close implements lsm.Base.
func (b *Base) Close() error {
	err := b.closeLibrary()
	if err == nil && b.failure() == nil {
		b.folder.SealList() //nolint:errcheck // the store is whole without; damage of the list is noticed less
	}
	return errors.Join(err, b.folder.Leave())
}

// closeLibrary closes the library, or, where there is no room for what it would write, keeps it
// and the folder's lock until the process ends.
func (b *Base) closeLibrary() error {
	if err := b.roomToClose(); err != nil {
		b.folder.Abandon()
		return fmt.Errorf("close %s, which stays as after a kill, without a loss, until there is room to open it: %w",
			b.folder.Path(), err)
	}
	if err := b.db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", b.folder.Path(), err)
	}
	return nil
}

func (b *Base) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.folder.Failed(b.broken)
}

// fail ends writing: what the library holds in memory may differ from the disk.
func (b *Base) fail(err error) error {
	b.mu.Lock()
	if b.broken == nil {
		b.broken = err
	}
	b.mu.Unlock()
	return b.failure()
}
