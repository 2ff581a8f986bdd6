// Package leveldb is goleveldb as a base of store/lsm. It owns the library's
// options, the order of its syncs and the judgement of its logs' ends. It never
// lets the library skip damage: what is not whole is an error, but for a record
// at the end of the log written last that was never reported durable.
package leveldb

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"sync/atomic"

	goleveldb "github.com/syndtr/goleveldb/leveldb"
	lderrors "github.com/syndtr/goleveldb/leveldb/errors"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/vfs"
)

// Kind is the name of the library and of its folder.
const Kind = "leveldb"

// Options say how the library is opened. Sizes are in bytes.
type Options struct {
	Dir string // of the store
	FS  vfs.FS // by which the lock and the seal are reached; default vfs.OS
	// CacheBytes is shared out as lsm.Share says; default lsm.DefaultCache.
	CacheBytes int64
	ReadOnly   bool
	// SeekCompaction lets reads that search a file and find nothing cause its
	// compaction. It is the library's own default; here it is off, because it
	// turns reading into writing.
	SeekCompaction bool
}

// Validate names everything that is wrong with o.
func (o Options) Validate() error { return lsm.CheckOptions(Kind, o.Dir, o.CacheBytes) }

// library translates the options. docs/decisions/lsm-tuning.md has the reasons.
func (o Options) library() *opt.Options {
	budget := lsm.Share(o.CacheBytes)
	return &opt.Options{
		BlockCacheCapacity:     int(budget.Blocks),
		WriteBuffer:            writeBuffer(budget),
		Filter:                 filter.NewBloomFilter(10),
		DisableSeeksCompaction: !o.SeekCompaction,
		OpenFilesCacheCapacity: 1000,
		Strict:                 opt.StrictAll,
	}
}

// writeBuffer: one memtable is filled while another is written out.
func writeBuffer(b lsm.Budget) int { return int(max(b.Memtables/2, 1<<20)) }

// Base implements lsm.Base.
type Base struct {
	folder  *lsm.Folder
	files   *files
	db      *goleveldb.DB
	buffer  int
	options *opt.Options
	direct  atomic.Int64 // bytes of tables that transactions wrote
}

var _ lsm.Base = (*Base)(nil)

// Open enters the folder and opens the library, which it creates if need be. A
// store that must be refused is refused before the library has changed anything.
func Open(o Options) (*Base, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return lsm.Inside(o.FS, o.Dir, Kind, o.ReadOnly, func(folder *lsm.Folder) (*Base, error) { return open(folder, o) })
}

func open(folder *lsm.Folder, o Options) (*Base, error) {
	if err := folder.RoomToOpen(); err != nil {
		return nil, err
	}
	if !folder.New() {
		if err := look(folder, o); err != nil {
			return nil, err
		}
	}
	return openLibrary(folder, o.library(), o.ReadOnly)
}

// look opens the library for reading only, which changes nothing, and compares
// it with the seal.
func look(folder *lsm.Folder, o Options) error {
	b, err := openLibrary(folder, o.library(), true)
	if err != nil {
		return err
	}
	folder.EndsIn(b.files.lastEnd())
	return errors.Join(cmp.Or(b.files.checkList(folder), folder.CheckBase(b)), b.closeLibrary())
}

func openLibrary(folder *lsm.Folder, options *opt.Options, readOnly bool) (*Base, error) {
	f, err := openFiles(folder.Path(), readOnly)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", folder.Path(), err)
	}
	if readOnly {
		// What it writes goes to memory; that must not be compactions.
		options.ErrorIfMissing = true
		options.CompactionL0Trigger = math.MaxInt32
		options.WriteL0SlowdownTrigger = math.MaxInt32
		options.WriteL0PauseTrigger = math.MaxInt32
		options.CompactionTotalSize = math.MaxInt64
		options.CompactionTotalSizeMultiplier = 1
		options.DisableSeeksCompaction = true
	} else {
		folder.Lists(f.durableList)
		f.beforeRemoval = folder.SealList
	}
	db, err := goleveldb.Open(f, options)
	if err != nil {
		// A list that is cut names tables that are gone.
		err = errors.Join(cmp.Or(f.checkList(folder), translate(folder.Path(), err)), f.Close())
		return nil, fmt.Errorf("open %s: %w", folder.Path(), err)
	}
	return &Base{folder: folder, files: f, db: db, buffer: options.WriteBuffer, options: options}, nil
}

// Folder implements lsm.Base.
func (b *Base) Folder() *lsm.Folder { return b.folder }

// Close implements lsm.Base.
func (b *Base) Close() error { return errors.Join(b.closeLibrary(), b.folder.Leave()) }

func (b *Base) closeLibrary() error {
	if b.files.failure() != nil {
		// The library may hold a lock for ever once its list of files could not
		// be written, and would wait for it. Its files are closed instead, so
		// that it cannot write any more.
		runtime.SetFinalizer(b.db, nil)
		return b.files.Close()
	}
	// The library also tells of a compaction that was waiting for space. What
	// was reported durable is not touched by that.
	err := translate(b.folder.Path(), b.db.Close())
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		err = nil
	}
	return errors.Join(err, b.files.Close())
}

// Snapshot implements lsm.Base.
func (b *Base) Snapshot() (lsm.Snapshot, error) {
	s, err := b.db.GetSnapshot()
	if err != nil {
		return nil, translate(b.folder.Path(), err)
	}
	return &snapshot{base: b, rows: s}, nil
}

// Batch implements lsm.Base.
func (b *Base) Batch(size int64) (lsm.Batch, error) {
	if err := b.failure(); err != nil {
		return nil, err
	}
	// Once into a table; before that, if it is small, once into the log, or, if
	// it is large, the memtable into one. That one may not fail.
	if err := b.folder.RoomForBatch(size + int64(b.buffer)); err != nil {
		return nil, err
	}
	return &batch{base: b}, nil
}

func (b *Base) failure() error { return b.folder.Failed(b.files.failure()) }

// Metrics implements lsm.Base.
func (b *Base) Metrics() lsm.Metrics {
	m := lsm.Metrics{
		Size: b.folder.Size(),
		Log:  b.files.log.Load(),
		Meta: b.files.lists.Load(),
	}
	var s goleveldb.DBStats
	if b.db.Stats(&s) != nil {
		return m
	}
	m.Memory = int64(s.BlockCacheSize) + int64(b.buffer)
	for level, n := range s.LevelWrite {
		if level == 0 {
			m.Direct = b.direct.Load()
			m.Flush = n - m.Direct
		} else {
			m.Compaction += n
		}
	}
	return m
}

// levelZero is what memtables and transactions have written out.
func (b *Base) levelZero() int64 {
	var s goleveldb.DBStats
	if b.db.Stats(&s) != nil || len(s.LevelWrite) == 0 {
		return 0
	}
	return s.LevelWrite[0]
}

// batch implements lsm.Batch. As long as it fits a memtable it goes through the
// log; a larger one is written into tables at once, which the list of files then
// takes up as one change.
type batch struct {
	base *Base
	rows goleveldb.Batch
	size int
	tr   *goleveldb.Transaction
}

func (b *batch) Put(key, value []byte) error {
	if b.tr != nil {
		return b.explain(b.tr.Put(key, value, nil))
	}
	b.rows.Put(key, value)
	return b.countChange(len(key) + len(value))
}

func (b *batch) Delete(key []byte) error {
	if b.tr != nil {
		return b.explain(b.tr.Delete(key, nil))
	}
	b.rows.Delete(key)
	return b.countChange(len(key))
}

// countChange counts a change as the library does: beyond a memtable it would begin a
// transaction by itself, and not end it when that fails.
func (b *batch) countChange(n int) error {
	const overhead = 8
	if b.size += n + overhead; b.size <= b.base.buffer {
		return nil
	}
	tr, err := b.base.db.OpenTransaction()
	if err != nil {
		// The library has then taken its lock for ever.
		return b.explain(b.base.files.end(err))
	}
	b.tr = tr
	err = tr.Write(&b.rows, nil)
	b.rows.Reset()
	return b.explain(err)
}

// Commit implements lsm.Batch.
func (b *batch) Commit() error {
	if b.tr == nil {
		return b.explain(b.base.db.Write(&b.rows, &opt.WriteOptions{Sync: true}))
	}
	before := b.base.levelZero()
	if err := b.tr.Commit(); err != nil {
		err = b.explain(err)
		b.Discard()
		return err
	}
	b.base.direct.Add(b.base.levelZero() - before)
	return nil
}

// Discard implements lsm.Batch.
func (b *batch) Discard() {
	if b.tr != nil && b.base.files.failure() == nil {
		b.tr.Discard()
	}
	b.tr = nil
}

// explain adds to a failure whether it is the end.
func (b *batch) explain(err error) error {
	if err == nil {
		return nil
	}
	err = translate(b.base.folder.Path(), err)
	if failed := b.base.files.failure(); failed != nil && !errors.Is(err, store.ErrFailed) {
		return fmt.Errorf("%w: %w", store.ErrFailed, err)
	}
	return err
}

// snapshot implements lsm.Snapshot.
type snapshot struct {
	base *Base
	rows *goleveldb.Snapshot
}

func (s *snapshot) Get(dst, key []byte) ([]byte, error) {
	v, err := s.rows.Get(key, nil)
	if err != nil {
		return nil, translate(s.base.folder.Path(), err)
	}
	return append(dst, v...), nil
}

func (s *snapshot) Close() error {
	s.rows.Release()
	return nil
}

// translate turns the library's errors into the store's.
func translate(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, goleveldb.ErrNotFound):
		return store.ErrNotFound
	case errors.Is(err, goleveldb.ErrReadOnly):
		return store.ErrReadOnly
	case errors.Is(err, goleveldb.ErrClosed), errors.Is(err, goleveldb.ErrSnapshotReleased),
		errors.Is(err, goleveldb.ErrIterReleased):
		return store.ErrClosed
	}
	var inTable *lderrors.ErrCorrupted
	var inFolder *storage.ErrCorrupted
	switch {
	case errors.As(err, &inTable):
		return corrupt(path, inTable.Fd, inTable.Err)
	case errors.As(err, &inFolder):
		return corrupt(path, inFolder.Fd, inFolder.Err)
	}
	return err
}

func corrupt(path string, fd storage.FileDesc, err error) error {
	if !fd.Zero() {
		path = filepath.Join(path, fd.String())
	}
	return lsm.Damaged(path, err)
}
