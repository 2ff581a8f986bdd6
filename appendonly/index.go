package appendonly

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"

	"tarn/store/vfs"
)

// IndexOptions say where an index is and what it finds. Zero values stand for the
// defaults.
type IndexOptions struct {
	FS  vfs.FS // vfs.OS
	Dir string
	// Log is what the index is about. It must outlive the index.
	Log Entries
	// Keys calls emit for each key of an entry, with a value of at most 1 KiB that Find
	// gives back; a key has at most 1 KiB. What it emits is copied. It must answer the same for the same entry as long
	// as the index lives.
	Keys func(number uint64, entry []byte, emit func(key, value []byte)) error
	// MemoryBytes is from which size on the newest part becomes a run: 32 MiB.
	MemoryBytes int64
	// FanIn is how many runs of one size are merged into one: 8.
	FanIn int
	// Notice, if not nil, is told of runs that are damaged or ahead of the log; the log is
	// read for what they had.
	Notice func(error)
}

// Entries are what an index is about: a [Log], or what is read like one.
type Entries interface {
	// First is the number of the oldest entry.
	First() uint64
	// Next is the number that the next entry gets: First in a log without entries.
	Next() uint64
	// Read appends an entry to buf.
	Read(number uint64, buf []byte) ([]byte, error)
}

// Index finds a log's entries by keys: in sorted runs, each of a stretch of entries, the
// newest in memory. Add, Cut, Drop and Settle belong to the goroutine that appends, but
// Settle may be called from another one as long as no Cut and no Drop runs; Find may run
// beside them all.
type Index struct {
	o     IndexOptions
	files *files

	mu      sync.RWMutex
	runs    []*run // by entries, without a gap
	from    uint64 // the first entry in memory
	memory  *memory
	bytes   int64
	next    uint64         // sequence of the next run
	gone    []*run         // whose files could not be removed yet
	hurt    map[*run]error // that somebody found damaged
	written int64
}

// maxIndexed is the greatest key and value, in bytes.
const maxIndexed = 1 << 10

// OpenIndex opens the index in o.Dir, or makes one, and reads what the runs do not have
// from the log.
func OpenIndex(o IndexOptions) (*Index, error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 32 << 20
	}
	if o.FanIn == 0 {
		o.FanIn = 8
	}
	if o.Notice == nil {
		o.Notice = func(error) {}
	}
	if o.FanIn < 2 {
		return nil, fmt.Errorf("open index %s: runs cannot be merged by %d", o.Dir, o.FanIn)
	}
	x := &Index{o: o, files: newFiles(o.FS), memory: newMemory(), next: 1}
	if err := x.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open index %s: %w", o.Dir, err), x.files.Close())
	}
	return x, nil
}

func (x *Index) open() error {
	if err := vfs.MkdirAll(x.o.FS, x.o.Dir); err != nil {
		return err
	}
	if err := x.readList(); err != nil {
		return err
	}
	x.from = x.o.Log.First()
	if n := len(x.runs); n != 0 {
		x.from = max(x.from, x.runs[n-1].to)
	}
	return x.catchUp(x.o.Log.Next())
}

// catchUp reads entries up to next from the log.
func (x *Index) catchUp(next uint64) error {
	var buf []byte
	for number := x.from; number < next; number++ {
		entry, err := x.o.Log.Read(number, buf[:0])
		if err != nil {
			return err
		}
		buf = entry
		if err := x.Add(number, entry); err != nil {
			return err
		}
		if err := x.Settle(number + 1); err != nil {
			return err
		}
	}
	return nil
}

// Add takes an entry that was appended to the log. Entries come in order.
func (x *Index) Add(number uint64, entry []byte) error {
	return x.AddKeys(number, func(emit func(key, value []byte)) error { return x.o.Keys(number, entry, emit) })
}

// AddKeys is Add for who has an entry decoded: keys calls emit as Keys does for the entry.
func (x *Index) AddKeys(number uint64, keys func(emit func(key, value []byte)) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	taken, err := x.memory.gather(number, keys)
	x.bytes += taken
	if err != nil {
		return fmt.Errorf("index %s: entry %d: %w", x.o.Dir, number, err)
	}
	return nil
}

// Find calls each for the entries with a key, from a number on, ascending, with the values
// that Keys gave, until it returns false. A value is valid during the call.
func (x *Index) Find(key []byte, from uint64, each func(number uint64, value []byte) bool) error {
	return x.FindIn(key, from, math.MaxUint64, each)
}

// FindIn is Find for the entries from one number to another, both included. It costs what lies
// between them, however many entries have the key. A run that is damaged is an error; the next
// Settle makes it again.
func (x *Index) FindIn(key []byte, from, to uint64, each func(number uint64, value []byte) bool) error {
	return x.suspect(x.findIn(key, from, to, each))
}

func (x *Index) findIn(key []byte, from, to uint64, each func(number uint64, value []byte) bool) error {
	runs, handles, last, err := x.take(key, from, to)
	defer func() {
		for _, h := range handles {
			x.files.Leave(h) //nolint:errcheck // a file that was only read
		}
	}()
	if err != nil {
		return err
	}
	more := true
	for i := 0; i < len(runs) && more; i++ {
		r := runs[i]
		err := r.scan(handles[i].File, r.seek(key, from), func(p *posting) (bool, error) {
			c := bytes.Compare(p.key, key)
			if c == 0 && p.number > to {
				return false, nil
			}
			if c == 0 && p.number >= from {
				more = each(p.number, p.value)
			}
			return c <= 0 && more, nil
		})
		if err != nil {
			return err
		}
	}
	if more {
		last.each(each)
	}
	return nil
}

// take opens the runs that may have entries from one number to another, before a merge can
// remove them, and finds what memory has of these.
func (x *Index) take(key []byte, from, to uint64) (runs []*run, handles []*handle, last found, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, r := range x.runs {
		if r.to <= from || r.from > to {
			continue
		}
		h, err := x.takeRun(r)
		if err != nil {
			return runs, handles, last, err
		}
		runs, handles = append(runs, r), append(handles, h)
	}
	return runs, handles, x.memory.find(key, from, to), nil
}

// Settle tells that entries before a number will not be cut any more: the store counts on
// them. If memory is full, they become a run, and runs are merged; that takes as long as
// writing them does. Runs that were found damaged are made again from the log.
func (x *Index) Settle(before uint64) error {
	if err := x.mend(); err != nil {
		return fmt.Errorf("index %s: %w", x.o.Dir, err)
	}
	x.mu.RLock()
	full, from := x.bytes >= x.o.MemoryBytes, x.from
	x.mu.RUnlock()
	if !full || before <= from {
		return nil
	}
	if err := x.flush(before); err != nil {
		return fmt.Errorf("index %s: %w", x.o.Dir, err)
	}
	for tries := 0; ; {
		merged, err := x.merge()
		if r := x.partOf(err); r != nil && tries < mostTries {
			tries++
			merged, err = true, x.remake(r, err)
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", x.o.Dir, err)
		}
		if !merged {
			return nil
		}
	}
}

// saveLeast is how many bytes of memory are worth a run at the end, or half of what there may be: less is read from the
// log in a moment.
const saveLeast = 1 << 20

// Save makes a run of the entries in memory before a number, for [Index.Settle] has told of these: so that who opens the
// index next need not read them from the log again. It is for the end, and costs nothing where there is little.
func (x *Index) Save(before uint64) error {
	x.mu.RLock()
	little, from := x.bytes < min(saveLeast, x.o.MemoryBytes/2), x.from
	x.mu.RUnlock()
	if little || before <= from {
		return nil
	}
	if err := x.flush(before); err != nil {
		return fmt.Errorf("save index %s: %w", x.o.Dir, err)
	}
	return nil
}

// flush makes a run of the entries in memory before a number.
func (x *Index) flush(before uint64) error {
	x.mu.RLock()
	r := &run{sequence: x.next, from: x.from, to: before, path: runPath(x.o.Dir, x.next)}
	kept := x.memory.kept.snapshot()
	x.mu.RUnlock()
	if err := x.writeMemory(r, kept); err != nil {
		return err
	}
	left := newMemory()
	bytes := left.addSince(kept, before, begin(0))
	return x.replace(0, r, func() {
		bytes += left.addSince(x.memory.kept, before, kept.end()) // what came meanwhile
		x.memory, x.bytes, x.from = left, bytes, before
	})
}

// writeMemory makes a run of those of postings that are of its entries.
func (x *Index) writeMemory(r *run, kept postings) error {
	return writeRun(x.o.FS, r, func(add func(*posting) error) error {
		for _, at := range kept.sorted(func(p *posting) bool { return p.number < r.to }) {
			p := kept.at(at)
			if err := add(&p); err != nil {
				return err
			}
		}
		return nil
	})
}

// merge makes one run of the newest ones, if there are enough of one level.
func (x *Index) merge() (bool, error) {
	x.mu.RLock()
	runs := x.runs
	x.mu.RUnlock()
	n := 0
	for n < len(runs) && runs[len(runs)-1-n].level == runs[len(runs)-1].level {
		n++
	}
	if n < x.o.FanIn {
		return false, nil
	}
	parts := runs[len(runs)-n:]
	r := &run{sequence: x.next, level: parts[0].level + 1, from: parts[0].from, to: parts[n-1].to}
	r.path = runPath(x.o.Dir, r.sequence)
	err := writeRun(x.o.FS, r, func(add func(*posting) error) error { return x.mergeInto(parts, add) })
	if err != nil {
		return false, err
	}
	return true, x.replace(n, r, nil)
}

// replace puts a run that was written in the place of the newest n, and makes that durable.
// Then is called when the run is to be seen.
func (x *Index) replace(n int, r *run, then func()) error {
	if err := x.files.Use(r.path, r.open); err != nil {
		return err
	}
	x.mu.RLock()
	keep := len(x.runs) - n
	runs := append(slices.Clone(x.runs[:keep]), r)
	gone := slices.Clone(x.runs[keep:])
	x.mu.RUnlock()
	return x.settleList(runs, gone, r.sequence+1, r.size, then)
}

// settleList makes a list of runs durable and the index's, then removes the others.
func (x *Index) settleList(runs, gone []*run, next uint64, written int64, then func()) error {
	gone = append(slices.Clone(x.gone), gone...)
	if err := x.writeList(runs, gone, next); err != nil {
		return err
	}
	x.gone = gone
	x.mu.Lock()
	x.runs, x.next = runs, next
	x.written += written
	if then != nil {
		then()
	}
	x.mu.Unlock()
	for _, r := range gone {
		if err := errors.Join(x.files.Forget(r.path), vfs.RemoveDurably(x.o.FS, r.path)); err != nil {
			return err
		}
		x.gone = x.gone[1:]
	}
	return nil
}

// Cut forgets entries from next on, after the log was cut there.
func (x *Index) Cut(next uint64) error {
	x.mu.Lock()
	x.bytes -= x.memory.cut(next)
	n := len(x.runs)
	for n > 0 && x.runs[n-1].to > next {
		n--
	}
	runs, gone := slices.Clone(x.runs[:n]), slices.Clone(x.runs[n:])
	x.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	err := x.settleList(runs, gone, x.next, 0, func() {
		x.memory, x.bytes = newMemory(), 0
		x.from = max(gone[0].from, x.o.Log.First())
	})
	if err != nil {
		return fmt.Errorf("cut index %s: %w", x.o.Dir, err)
	}
	return x.catchUp(next)
}

// Drop removes runs of nothing but entries that the log has dropped.
func (x *Index) Drop() error {
	before := x.o.Log.First()
	x.mu.RLock()
	n := 0
	for n < len(x.runs) && x.runs[n].to <= before {
		n++
	}
	runs, gone := slices.Clone(x.runs[n:]), slices.Clone(x.runs[:n])
	x.mu.RUnlock()
	if n == 0 {
		return nil
	}
	if err := x.settleList(runs, gone, x.next, 0, nil); err != nil {
		return fmt.Errorf("drop runs of index %s: %w", x.o.Dir, err)
	}
	return nil
}

// IndexStats are an index's figures.
type IndexStats struct {
	Runs        int
	RunBytes    int64 // of their files
	MemoryBytes int64 // about
	Written     int64 // bytes of runs since it was opened
}

// Stats may be called by any goroutine.
func (x *Index) Stats() IndexStats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := IndexStats{Runs: len(x.runs), MemoryBytes: x.bytes, Written: x.written}
	for _, r := range x.runs {
		s.RunBytes += r.size
	}
	return s
}

// Verify reads all runs and reports what is not as it was written. Read, if not nil, is told
// how many bytes were read since the last time; its error ends this.
func (x *Index) Verify(report func(error), read func(bytes int64) error) error {
	x.mu.RLock()
	runs := x.runs
	x.mu.RUnlock()
	for _, r := range runs {
		err := x.files.Use(r.path, func(f vfs.File) error { return r.verify(f, report) })
		if err != nil {
			report(err)
		}
		if read == nil {
			continue
		}
		if err := read(r.size); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files.
func (x *Index) Close() error { return x.files.Close() }

const (
	listName  = "RUNS"
	listMagic = "tarnlist"
)

func (x *Index) listPath() string { return filepath.Join(x.o.Dir, listName) }

// writeList writes which runs there are, and which are being removed.
func (x *Index) writeList(runs, gone []*run, next uint64) error {
	b := binary.LittleEndian.AppendUint64([]byte(listMagic), next)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(runs)))
	for _, r := range runs {
		b = binary.LittleEndian.AppendUint64(b, r.sequence)
		b = binary.LittleEndian.AppendUint32(b, r.level)
		b = binary.LittleEndian.AppendUint64(b, r.from)
		b = binary.LittleEndian.AppendUint64(b, r.to)
	}
	for _, r := range gone {
		b = binary.LittleEndian.AppendUint64(b, r.sequence)
	}
	return vfs.WriteDurably(x.o.FS, x.listPath(), binary.LittleEndian.AppendUint32(b, checksum(b)))
}
