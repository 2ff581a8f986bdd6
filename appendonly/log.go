package appendonly

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// LogOptions say where a log is and how it is written. Zero values stand for the defaults.
type LogOptions struct {
	FS  vfs.FS // vfs.OS
	Dir string
	// OldDir, if not empty, is where segments may lie that were moved.
	OldDir string
	// First is the number of a new log's first entry. A log that ends before it is begun anew
	// there, without its entries.
	First uint64
	// Need is the number up to which entries must be there, itself excluded: those that
	// the store counts on.
	Need uint64
	// Spare says that the owner cuts at Need what is behind it, before it appends: what is wrong there
	// stops no open, and is taken off.
	Spare bool
	// SegmentBytes is the size from which on a segment is finished: 256 MiB, 2 GiB at most.
	SegmentBytes int64
	// Notice, if not nil, is told what a crash or damage left and was mended: which file, at which
	// offset, how many bytes, and where they are kept.
	Notice func(error)
}

// bufferBytes is how much is gathered before it is written.
const bufferBytes = 1 << 20

// Log is entries in files. See the package comment.
type Log struct {
	o     LogOptions
	files *files

	mu       sync.RWMutex
	segments []*segment // the last one is being written
	file     vfs.File   // of the last one
	buffer   []byte     // its last bytes, not written yet
	retired  []vfs.File // of segments that were finished since the last Sync
	failed   error

	syncing sync.Mutex // one sync at a time
	mark    *torntail.Mark
}

// OpenLog opens the log in o.Dir, or makes one.
func OpenLog(o LogOptions) (*Log, error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Notice == nil {
		o.Notice = func(error) {}
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 256 << 20
	}
	if o.SegmentBytes < 0 || o.SegmentBytes > 2<<30 {
		return nil, fmt.Errorf("open log %s: segments of %d bytes", o.Dir, o.SegmentBytes)
	}
	l := &Log{o: o, files: newFiles(o.FS)}
	if err := (&opening{Log: l}).open(); err != nil {
		err = errors.Join(fmt.Errorf("open log %s: %w", o.Dir, err), l.files.Close())
		if l.file != nil {
			err = errors.Join(err, l.file.Close())
		}
		if l.mark != nil {
			err = errors.Join(err, l.mark.Close())
		}
		return nil, err
	}
	return l, nil
}

// begin makes a new last segment.
func (l *Log) begin(sequence, first uint64) error {
	s := &segment{sequence: sequence, dir: l.o.Dir, first: first, end: headerSize}
	f, err := l.o.FS.Create(s.path())
	if err != nil {
		return err
	}
	_, err = f.WriteAt(segmentHeader(first), 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.o.FS.SyncDir(l.o.Dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("begin segment %s: %w", s.path(), err), f.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		// Readers must never take the new file for that of the segment before.
		before := l.last()
		before.finished, before.table, before.offsets = true, before.end+4, nil
		l.retired = append(l.retired, l.file)
	}
	l.segments, l.file = append(l.segments, s), f
	return nil
}

// First is the number of the oldest entry, if there is any.
func (l *Log) First() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.segments[0].first
}

// Next is the number that the next entry gets.
func (l *Log) Next() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.next()
}

func (l *Log) next() uint64 {
	if len(l.segments) == 0 {
		return l.o.First
	}
	s := l.last()
	return s.first + s.count
}

// Size is how many bytes the log's files have, about: all of them were written once.
func (l *Log) Size() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var n int64
	for _, s := range l.segments {
		n += s.end + 4*int64(s.count)
	}
	return n
}

// Append adds an entry and returns its number. It is durable after the next Sync.
func (l *Log) Append(entry []byte) (uint64, error) {
	if len(entry) > MaxEntry {
		return 0, ErrEntrySize
	}
	number, full, err := l.add(entry)
	if err == nil && full {
		err = l.finish()
	}
	return number, err
}

// add appends an entry to the last segment, and tells whether that is full.
func (l *Log) add(entry []byte) (number uint64, full bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return 0, false, l.failed
	}
	s := l.last()
	number = s.first + s.count
	l.buffer = appendEntry(l.buffer, number, entry)
	s.offsets = append(s.offsets, uint32(s.end))
	s.count++
	s.end += entryHead + int64(len(entry))
	full = s.end >= l.o.SegmentBytes
	if full || len(l.buffer) >= bufferBytes {
		err = l.flush(s)
	}
	return number, full, l.fail(err)
}

func (l *Log) last() *segment { return l.segments[len(l.segments)-1] }

// fail makes an error the log's last word; with the lock held.
func (l *Log) fail(err error) error {
	if err != nil {
		l.failed = fmt.Errorf("log %s: %w", l.o.Dir, err)
	}
	return l.failed
}

// flush writes what was gathered.
func (l *Log) flush(s *segment) error {
	if len(l.buffer) == 0 {
		return nil
	}
	at := s.end - int64(len(l.buffer))
	if _, err := l.file.WriteAt(l.buffer, at); err != nil {
		return fmt.Errorf("write %s at %d: %w", s.path(), at, err)
	}
	l.buffer = l.buffer[:0]
	return nil
}

// Flush hands what was appended to the kernel, so that a process which is killed loses
// nothing of it. A power cut still may, until Sync.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	return l.fail(l.flush(l.last()))
}

// finish ends the last segment and begins the next. Readers go on meanwhile. A Sync does
// not: of two that run at once on a file, the kernel tells only one that it failed.
func (l *Log) finish() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	s := l.last()
	err := l.writeFinish(s)
	if err == nil {
		err = l.begin(s.sequence+1, s.first+s.count)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fail(err)
}

func (l *Log) writeFinish(s *segment) error {
	if _, err := l.file.WriteAt(appendFinish(nil, s.end, s.offsets), s.end); err != nil {
		return fmt.Errorf("write %s at %d: %w", s.path(), s.end, err)
	}
	return l.file.Sync()
}

// Sync makes all entries durable that were appended before it was called. Any goroutine
// may call it; a ledger does before its store's meta page.
func (l *Log) Sync() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	if l.failed != nil {
		defer l.mu.Unlock()
		return l.failed
	}
	f, next, err := l.file, l.next(), l.flush(l.last())
	l.mu.Unlock()
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.note(next)
	}
	err = errors.Join(err, l.closeRetired())
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fail(err)
}

// closeRetired closes the files of segments that were finished; with syncing held, since a
// sync may be at work on one.
func (l *Log) closeRetired() error {
	l.mu.Lock()
	retired := l.retired
	l.retired = nil
	l.mu.Unlock()
	var errs []error
	for _, f := range retired {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Read appends an entry to buf and returns it; ErrNoEntry if there is none of the number.
func (l *Log) Read(number uint64, buf []byte) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].first > number }) - 1
	if i < 0 || number >= l.next() {
		return nil, fmt.Errorf("entry %d of %s: %w", number, l.o.Dir, ErrNoEntry)
	}
	s := l.segments[i]
	if !s.finished {
		if l.file == nil {
			return nil, l.failed // in the middle of a cut
		}
		return l.readLast(s, number, buf)
	}
	err := l.files.Use(s.path(), func(f vfs.File) (err error) {
		buf, err = readEntry(f, s, number, buf)
		return err
	})
	return buf, err
}

// readLast reads from the segment that is being written.
func (l *Log) readLast(s *segment, number uint64, buf []byte) ([]byte, error) {
	written := s.end - int64(len(l.buffer))
	from, to, err := s.place(l.file, number)
	if err != nil {
		return nil, err
	}
	if from < written {
		return readEntry(l.file, s, number, buf)
	}
	entry, err := checkEntry(s.path(), from, number, l.buffer[from-written:to-written])
	return append(buf, entry...), err
}

func readEntry(f vfs.File, s *segment, number uint64, buf []byte) ([]byte, error) {
	from, to, err := s.place(f, number)
	if err != nil {
		return nil, err
	}
	at := len(buf)
	raw := slices.Grow(buf, int(to-from))[:at+int(to-from)]
	if err := vfs.ReadFull(f, raw[at:], from); err != nil {
		return nil, fmt.Errorf("read entry %d of %s at %d: %w", number, s.path(), from, err)
	}
	entry, err := checkEntry(s.path(), from, number, raw[at:])
	if err != nil {
		return nil, err
	}
	return append(raw[:at], entry...), nil
}

// Close closes the files. What was not synced may be lost.
func (l *Log) Close() error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	err := l.closeRetired()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		err = errors.Join(err, l.flush(l.last()))
	}
	l.failed = errors.Join(l.failed, fmt.Errorf("log %s is closed", l.o.Dir))
	if l.file != nil { // a cut that failed has closed it
		err = errors.Join(err, l.file.Close())
	}
	return errors.Join(err, l.mark.Close(), l.files.Close())
}
