package shiplog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/klauspost/compress/zlib"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Log is a history log. One goroutine at a time appends; any goroutine may read, and
// neither waits for the other but while bytes are copied.
//
// It has many methods because appending, reading, pruning, parts and a start after a crash keep
// one list of files true under one lock.
type Log struct {
	o  Options
	fs logcatalog.FS
	z  *zlib.Writer

	inflaters sync.Pool // that nobody uses

	mu     sync.RWMutex
	live   *file // that is appended to
	last   types.Checksum256
	failed error  // a write that failed
	cuts   uint64 // how often entries were taken back
	stats  Stats

	parts *logcatalog.Catalog[*file] // retained files; it guards itself

	mark mark // what is durable
}

// Stats are what a log has done since it was opened.
type Stats struct {
	Written uint64 // bytes, without the index
	Entries uint64
	Syncs   uint64
}

// file is an open log with its index. Positions are those of entries; the first is at 0.
type file struct {
	logcatalog.Pair
	log, index vfs.File
	say        *slog.Logger
	mending    sync.Mutex // of the index, among readers
	base       uint32     // block of the first entry
	first, end uint32     // of those that can be read: first <= n < end
	size       int64      // end of the last entry
	pruned     bool       // entries before first may be gone, and a count follows the last
}

func (f *file) empty() bool { return f.first == f.end }

// Close closes both files.
func (f *file) Close() error { return errors.Join(f.log.Close(), f.index.Close()) }

// Open opens a log or makes one. What a crash left at its end is cut off.
func Open(o Options) (*Log, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.step == 0 {
		o.step = usualStep
	}
	l := &Log{o: o, fs: o.fs(), parts: new(logcatalog.Catalog[*file]), z: zlib.NewWriter(io.Discard)}
	if err := vfs.MkdirAll(l.fs, o.Dir); err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", o.logPath(), err), l.closeFiles())
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if l.o.Partition != nil {
		if err := l.openParts(); err != nil {
			return err
		}
	}
	if l.live, err = l.openLive(); err != nil {
		return err
	}
	if err := l.recover(); err != nil {
		return err
	}
	if err := l.convert(); err != nil {
		return err
	}
	if !l.live.empty() {
		h, _, err := l.live.header(l.live.end - 1)
		l.last = h.id
		return err
	}
	if l.parts.Len() > 0 {
		id, _, err := l.id(l.parts.Newest().Last)
		l.last = id
		return err
	}
	return nil
}

func (l *Log) newFile(pair logcatalog.Pair) *file {
	return &file{Pair: pair, say: l.o.Logger}
}

// openLive opens the files that are appended to, or makes them.
func (l *Log) openLive() (*file, error) {
	f := l.newFile(l.o.pair())
	var err error
	if f.log, err = l.openOrCreate(f.Log()); err != nil {
		return nil, err
	}
	if f.index, err = l.openOrCreate(f.Index()); err != nil {
		return nil, errors.Join(err, f.log.Close())
	}
	return f, nil
}

func (l *Log) openOrCreate(path string) (vfs.File, error) {
	there, err := l.fs.Exists(path)
	if err != nil {
		return nil, err
	}
	if there {
		return l.fs.Open(path, true)
	}
	return l.fs.Create(path)
}

// Range returns the blocks that can be read, from the first to before end; both are
// equal if there are none. With partitions they are then 1, as nodeos has them.
func (l *Log) Range() (first, end uint32) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.bounds()
}

func (l *Log) bounds() (first, end uint32) {
	f, parts := l.live, l.parts.Len() > 0
	switch {
	case parts && f.empty():
		return l.parts.Oldest().First, l.parts.Newest().Last + 1
	case parts:
		return min(l.parts.Oldest().First, f.first), f.end
	case f.empty() && l.o.Partition != nil:
		return 1, 1
	}
	return f.first, f.end
}

// Path is the file that is appended to.
func (l *Log) Path() string { return l.o.logPath() }

// Empty tells whether there are no entries.
func (l *Log) Empty() bool {
	first, end := l.Range()
	return first == end
}

// ID is the id of a block, as the log has it; false if it has none.
func (l *Log) ID(num uint32) (types.Checksum256, bool, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.id(num)
}

func (l *Log) id(num uint32) (id types.Checksum256, ok bool, err error) {
	if _, end := l.bounds(); end > 0 && num == end-1 && !l.last.IsZero() {
		return l.last, true, nil
	}
	err = l.use(num, func(f *file) error {
		h, _, err := f.header(num)
		id = h.id
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return types.Checksum256{}, false, nil
	}
	if err != nil {
		return types.Checksum256{}, false, err
	}
	return id, true, nil
}

// use calls do with the file that has a block, ErrNotFound if none has. The file is open until
// do returns. The lock is held, at least for reading.
func (l *Log) use(num uint32, do func(*file) error) error {
	if f := l.live; num >= f.first && num < f.end {
		return do(f)
	}
	found, err := l.parts.Use(num, func(_ logcatalog.Part, f *file) error { return do(f) })
	if err == nil && !found {
		err = ErrNotFound
	}
	return err
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
		err = l.Sync()
	}
	return errors.Join(err, l.closeFiles())
}

func (l *Log) closeFiles() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live != nil {
		err = l.live.Close()
	}
	return errors.Join(err, l.parts.Close())
}
