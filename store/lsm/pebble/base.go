// Package pebble is Pebble as a base of store/lsm. It owns the library's options,
// the choice between its log and tables written at once, and the judgement of its
// failures. It never lets the library end the process.
package pebble

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/vfs"
)

// Kind is the name of the library and of its folder.
const Kind = "pebble"

// Options say how the library is opened. Sizes are in bytes.
type Options struct {
	Dir string // of the store
	FS  vfs.FS // by which the lock and the seal are reached; default vfs.OS
	// CacheBytes is shared out as lsm.Share says; default lsm.DefaultCache.
	CacheBytes int64
	ReadOnly   bool
}

// Validate names everything that is wrong with o.
func (o Options) Validate() error { return lsm.CheckOptions(Kind, o.Dir, o.CacheBytes) }

// library translates the options. docs/decisions/lsm-tuning.md has the reasons.
func (o Options) library(f *files) *pebble.Options {
	budget := lsm.Share(o.CacheBytes)
	p := &pebble.Options{
		// The library charges its memtables to the cache.
		CacheSize:                   budget.Blocks + budget.Memtables,
		MemTableSize:                uint64(max(budget.Memtables/2, 1<<20)),
		MemTableStopWritesThreshold: 2,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		MaxOpenFiles:                1000,
		FormatMajorVersion:          pebble.FormatValueSeparation,
		FS:                          f,
		LoggerAndTracer:             f,
		// whoever reads is told
		EventListener:    &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
		ReadOnly:         o.ReadOnly,
		ErrorIfNotExists: o.ReadOnly,
	}
	p.TargetFileSizes[0] = 8 << 20
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	p.Experimental.ReadSamplingMultiplier = -1 // reads cause no compactions
	p.Experimental.DisableIngestAsFlushable = func() bool { return true }
	p.EventListener.EnsureDefaults(f)
	p.EnsureDefaults()
	return p
}

// Base implements lsm.Base.
type Base struct {
	folder  *lsm.Folder
	files   *files
	db      *pebble.DB
	options *pebble.Options
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
	f := newFiles()
	return openLibrary(folder, f, o.library(f))
}

// look opens the library for reading only, which changes nothing, and compares
// it with the seal.
func look(folder *lsm.Folder, o Options) error {
	o.ReadOnly = true
	f := newFiles()
	b, err := openLibrary(folder, f, o.library(f))
	if err != nil {
		return cmp.Or(f.checkList(folder), err) // a list that is cut names tables that are gone
	}
	folder.EndsIn(f.lastLog(), -1)
	return errors.Join(cmp.Or(f.checkList(folder), folder.CheckBase(b)), b.closeLibrary())
}

func openLibrary(folder *lsm.Folder, f *files, options *pebble.Options) (*Base, error) {
	if !options.ReadOnly {
		if err := f.clear(folder.Path()); err != nil {
			return nil, fmt.Errorf("open %s: %w", folder.Path(), err)
		}
		folder.Lists(f.durableList)
		f.beforeRemoval = folder.SealList
	}
	var db *pebble.DB
	err := f.watch(func() (err error) {
		db, err = pebble.Open(folder.Path(), options)
		return err
	})
	if err != nil {
		if !folder.New() {
			err = asDamage(folder.Path(), err)
		}
		return nil, fmt.Errorf("open %s: %w", folder.Path(), f.translate(folder, err))
	}
	return &Base{folder: folder, files: f, db: db, options: options}, nil
}

// translate is translate for an error of an opening. A list of options that is not what was written
// is damage, whatever the library calls it.
func (f *files) translate(folder *lsm.Folder, err error) error {
	path := f.culprit(folder.Path(), err)
	if !folder.New() && path == f.stated {
		return lsm.Damaged(path, err)
	}
	return translate(path, err)
}

// asDamage makes damage of an opening that failed for want of a file, of a store that is there.
func asDamage(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lsm.Damaged(path, err)
	case errors.Is(err, pebble.ErrDBDoesNotExist), errors.Is(err, pebble.ErrDBNotPristine),
		errors.Is(err, pebble.ErrDBAlreadyExists):
		return &store.CorruptError{Path: path, Table: -1, Page: -1, Offset: -1,
			Detail: "a file is missing whose name begins with marker"}
	}
	return err
}

// Folder implements lsm.Base.
func (b *Base) Folder() *lsm.Folder { return b.folder }

// Close implements lsm.Base.
func (b *Base) Close() error { return errors.Join(b.closeLibrary(), b.folder.Leave()) }

func (b *Base) closeLibrary() error {
	if b.files.failure() != nil {
		return nil // it would wait for those who are stopped; it changes nothing any more
	}
	if err := b.db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", b.folder.Path(), translate(b.folder.Path(), err))
	}
	return nil
}

// Snapshot implements lsm.Base.
func (b *Base) Snapshot() (lsm.Snapshot, error) {
	return &snapshot{path: b.folder.Path(), rows: b.db.NewSnapshot()}, nil
}

// Batch implements lsm.Base.
func (b *Base) Batch(size int64) (lsm.Batch, error) {
	if err := b.failure(); err != nil {
		return nil, err
	}
	// Once into a table; before that, if it is small, once into the log.
	if err := b.folder.RoomForBatch(size + min(size, int64(b.options.MemTableSize))); err != nil {
		return nil, err
	}
	return &batch{base: b, rows: b.db.NewBatch()}, nil
}

func (b *Base) failure() error { return b.folder.Failed(b.files.failure()) }

// Metrics implements lsm.Base.
func (b *Base) Metrics() lsm.Metrics {
	memory := int64(0)
	if b.files.failure() == nil { // else the library may not answer
		m := b.db.Metrics()
		memory = m.BlockCache.Size + int64(m.MemTable.Size)
	}
	return lsm.Metrics{
		Size:       b.folder.Size(),
		Memory:     memory,
		Log:        b.files.writtenBytes("pebble-wal"),
		Flush:      b.files.writtenBytes("pebble-memtable-flush"),
		Direct:     b.files.writtenBytes(directCategory),
		Compaction: b.files.writtenBytes("pebble-compaction") + b.files.writtenBytes("pebble-blob-file-rewrite"),
		Meta:       b.files.writtenBytes("pebble-manifest") + b.files.writtenBytes("unspecified"),
	}
}

// snapshot implements lsm.Snapshot.
type snapshot struct {
	path string
	rows *pebble.Snapshot
}

func (s *snapshot) Get(dst, key []byte) ([]byte, error) {
	v, closer, err := s.rows.Get(key)
	if err != nil {
		return nil, translate(s.path, err)
	}
	dst = append(dst, v...)
	if err := closer.Close(); err != nil {
		return nil, translate(s.path, err)
	}
	return dst, nil
}

func (s *snapshot) Cursor(lower, upper []byte) (store.Cursor, error) {
	it, err := s.rows.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, translate(s.path, err)
	}
	return &cursor{it: it, path: s.path}, nil
}

func (s *snapshot) Close() error { return s.rows.Close() }

// cursor implements store.Cursor over the library's iterator.
type cursor struct {
	it    *pebble.Iterator
	path  string
	value []byte
	on    bool
	err   error // of a value
}

func (c *cursor) noteMove(on bool) bool {
	c.on, c.value, c.err = on, nil, nil
	if on {
		if c.value, c.err = c.it.ValueAndErr(); c.err != nil {
			c.on = false
		}
	}
	return c.on
}

func (c *cursor) First() bool            { return c.noteMove(c.it.First()) }
func (c *cursor) Last() bool             { return c.noteMove(c.it.Last()) }
func (c *cursor) Seek(key []byte) bool   { return c.noteMove(c.it.SeekGE(key)) }
func (c *cursor) SeekLT(key []byte) bool { return c.noteMove(c.it.SeekLT(key)) }
func (c *cursor) Next() bool             { return c.on && c.noteMove(c.it.Next()) }
func (c *cursor) Prev() bool             { return c.on && c.noteMove(c.it.Prev()) }
func (c *cursor) Valid() bool            { return c.on }
func (c *cursor) Key() []byte            { return c.it.Key() }
func (c *cursor) Value() []byte          { return c.value }
func (c *cursor) Err() error             { return translate(c.path, errors.Join(c.err, c.it.Error())) }

func (c *cursor) Close() error {
	c.on = false
	return translate(c.path, c.it.Close())
}

// translate turns the library's errors into the store's.
func translate(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrNotFound):
		return store.ErrNotFound
	case errors.Is(err, pebble.ErrReadOnly):
		return store.ErrReadOnly
	case errors.Is(err, pebble.ErrClosed):
		return store.ErrClosed
	case pebble.IsCorruptionError(err):
		return lsm.Damaged(path, err)
	}
	return err
}
