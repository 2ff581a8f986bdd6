package chain

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"tarn/appendonly"
	"tarn/opera/blocklog"
	"tarn/opera/eventlog"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store/vfs"
)

// HistoryOptions say where what is written once lies. Zero values stand for the defaults.
type HistoryOptions struct {
	FS  vfs.FS // vfs.OS
	Dir string
	// OldDir is a folder, perhaps on another disk, to which finished files are moved once the
	// state counts on them; "" is nowhere. It belongs to one chain.
	OldDir string
	// SegmentBytes is from which size on files are finished; 0 is appendonly's default.
	SegmentBytes int64
	// States is of how many blocks before the last one old states are kept, about: files
	// go as wholes. 0 is all.
	States uint64
	// Notice, if not nil, is told what a crash or damage left to mend, and that it is. It
	// may be called by any goroutine.
	Notice func(error)
}

// History is the logs beside the store: events, blocks, roots, and what each block changed.
// It is made before the store is opened, because the store has to call Sync before an
// image counts on the logs; the chain opens the logs.
type History struct {
	o    HistoryOptions
	logs atomic.Pointer[logs]
}

type logs struct {
	events *eventlog.Log
	blocks *blocklog.Log
	states *state.Archive
	synced atomic.Uint64 // how many events are durable

	settling sync.Mutex // held while files are sorted, moved, cut or dropped
	sorted   sorted     // up to where that was done
	moving   patience
	running  sync.WaitGroup
	mu       sync.Mutex
	failed   error
}

// sorted is a revision, and how many blocks had come as records.
type sorted struct{ revision, records uint64 }

// NewHistory returns a history that is not open yet.
func NewHistory(o HistoryOptions) *History {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	return &History{o: o}
}

// GiveUp gives the other folder up, for a history that is made anew from its beginning: before
// there is a chain nothing is moved.
func (h *History) GiveUp() error {
	if h.o.OldDir == "" {
		return nil
	}
	return appendonly.Unpair(h.o.FS, h.o.Dir, h.o.OldDir)
}

// Sync makes durable what was appended so far. It is what the engine of the chain's store
// calls before each checkpoint counts on the logs, from any goroutine.
func (h *History) Sync(uint64) error {
	if l := h.logs.Load(); l != nil {
		return l.sync()
	}
	return nil
}

func (l *logs) sync() error {
	events := l.events.Next()
	if err := errors.Join(l.events.Sync(), l.blocks.Sync(), l.states.Sync()); err != nil {
		return err
	}
	l.synced.Store(events)
	return nil
}

// HistoryStats are the figures of a chain's logs.
type HistoryStats struct {
	Events eventlog.Stats
	Blocks blocklog.Stats
	States state.ArchiveStats
}

// Bytes is how many the files have, about.
func (s *HistoryStats) Bytes() int64 {
	return s.Events.LogBytes + s.Blocks.LogBytes + s.States.LogBytes + s.IndexBytes()
}

// IndexBytes is how many of them find entries of the logs.
func (s *HistoryStats) IndexBytes() int64 {
	return s.Events.Index.RunBytes + s.Blocks.Index.RunBytes + s.Blocks.Brought.RunBytes + s.Blocks.Recorded.RunBytes +
		s.States.Index.RunBytes
}

// Stats may be called by any goroutine. They are zero while the chain is not open.
func (h *History) Stats() HistoryStats {
	l := h.logs.Load()
	if l == nil {
		return HistoryStats{}
	}
	return HistoryStats{Events: l.events.Stats(), Blocks: l.blocks.Stats(), States: l.states.Stats()}
}

// Verify reads everything and reports what is not as it was written. Read, if not nil, is told
// how many bytes were read since the last time, of about [HistoryStats.Bytes]; its error ends this.
func (h *History) Verify(report func(error), read func(bytes int64) error) error {
	l := h.logs.Load()
	if l == nil {
		return errors.New("verify the history: it is not open")
	}
	return errors.Join(l.events.Verify(report, read), l.blocks.Verify(report, read), l.states.Verify(report, read))
}

func (h *History) dir(name string) string { return filepath.Join(h.o.Dir, name) }

func (h *History) oldDir(name string) string {
	if h.o.OldDir == "" {
		return ""
	}
	return filepath.Join(h.o.OldDir, name)
}

// open opens the logs with what a store at a head counts on, and cuts off what it does not
// know. Events are left: they are connected again.
func (h *History) open(at counted, head inter.BlockNumber) (*logs, error) {
	l := new(logs)
	other, err := h.pair()
	if err != nil {
		return nil, err
	}
	if err := h.openLogs(l, at, head); err != nil {
		if other != "" && h.o.OldDir == "" {
			err = fmt.Errorf("%w; some of it may have been moved to %s: name that folder (--history.dir)", err, other)
		}
		return nil, errors.Join(err, l.close())
	}
	l.synced.Store(at.Events)
	err = errors.Join(l.blocks.Cut(head+1, at.Roots), l.states.Cut(uint64(head)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cut the history after block %d: %w", head, err), l.close())
	}
	h.logs.Store(l)
	return l, nil
}

// pair makes the other folder this history's, and returns to which one files may have been
// moved before.
func (h *History) pair() (other string, err error) {
	if h.o.OldDir != "" {
		return h.o.OldDir, appendonly.Pair(h.o.FS, h.o.Dir, h.o.OldDir)
	}
	return appendonly.Paired(h.o.FS, h.o.Dir)
}

// openLogs opens the logs; where it fails, some of them are open. Blocks, roots and states that the
// store does not count on are made again, and cut before: damage there is no loss.
func (h *History) openLogs(l *logs, at counted, head inter.BlockNumber) (err error) {
	if l.events, err = eventlog.Open(eventlog.Options{
		FS: h.o.FS, Dir: h.dir("events"), OldDir: h.oldDir("events"), Need: at.Events, SegmentBytes: h.o.SegmentBytes,
		Notice: h.o.Notice,
	}); err != nil {
		return err
	}
	if l.blocks, err = blocklog.Open(blocklog.Options{
		FS: h.o.FS, Dir: h.dir("blocks"), OldDir: h.oldDir("blocks"), First: at.First, Top: at.Top, Brought: at.Brought,
		Need: head + 1, NeedRoots: at.Roots, Spare: true, SegmentBytes: h.o.SegmentBytes, Notice: h.o.Notice,
	}); err != nil {
		return err
	}
	l.states, err = state.OpenArchive(state.ArchiveOptions{
		Log: appendonly.LogOptions{
			FS: h.o.FS, Dir: h.dir("states"), OldDir: h.oldDir("states"), First: uint64(at.First), Need: uint64(head) +
				1, Spare: true,
			SegmentBytes: h.o.SegmentBytes, Notice: h.o.Notice,
		},
		Index: appendonly.IndexOptions{FS: h.o.FS, Dir: h.dir("states"), Notice: h.o.Notice},
	})
	return err
}

func (l *logs) close() (err error) {
	l.running.Wait()
	if l.events != nil {
		err = l.events.Close()
	}
	if l.blocks != nil {
		err = errors.Join(err, l.blocks.Close())
	}
	if l.states != nil {
		err = errors.Join(err, l.states.Close())
	}
	return err
}

// pressing is how many bytes of indexes in memory ask for a checkpoint, after which they
// may become files.
const pressing = 128 << 20

// pressure tells whether the indexes ask for a checkpoint.
func (l *logs) pressure() bool {
	blocks := l.blocks.Stats()
	return blocks.Index.MemoryBytes+blocks.Recorded.MemoryBytes+l.states.Stats().Index.MemoryBytes > pressing
}

// settle sorts, beside the writer, what an image of the store counts on, forgets old states of
// which fewer are kept, and moves finished files. It returns the error of a run before; a move
// that fails is only told.
func (l *logs) settle(durable uint64, o *HistoryOptions) error {
	keep, move, notice := o.States, o.OldDir != "", o.Notice
	l.mu.Lock()
	failed := l.failed
	l.mu.Unlock()
	now := sorted{durable, l.blocks.DurableRecords()}
	if failed != nil || now == l.sorted || !l.settling.TryLock() {
		return failed
	}
	l.sorted = now
	l.running.Go(func() {
		defer l.settling.Unlock()
		err := errors.Join(l.events.Settle(l.synced.Load()), l.blocks.Settle(inter.BlockNumber(durable)+1),
			l.states.Settle(durable))
		if err == nil && keep != 0 && durable > keep {
			err = l.states.Drop(durable - keep)
		}
		if err != nil {
			l.mu.Lock()
			l.failed = fmt.Errorf("sort the history up to block %d: %w", durable, err)
			l.mu.Unlock()
			return
		}
		if move && l.moving.ready() {
			err := l.move(durable)
			l.moving.noteAttempt(err)
			if err != nil && notice != nil {
				notice(fmt.Errorf("finished files stay where they are for now: %w", err))
			}
		}
	})
	return nil
}

// save makes the indexes of what an image of the store counts on durable, for a start that need not make them again. A
// start makes what is not there.
func (l *logs) save(durable uint64) error {
	l.running.Wait()
	if l.failed != nil {
		return nil // close says it
	}
	err := errors.Join(l.events.Save(l.synced.Load()), l.blocks.Save(inter.BlockNumber(durable)+1), l.states.Save(durable))
	if err != nil {
		return fmt.Errorf("save the history's indexes: the next start makes them again: %w", err)
	}
	return nil
}

// move moves at most one file of each log, so that nobody waits for long.
func (l *logs) move(durable uint64) error {
	_, err1 := l.events.Move(l.synced.Load())
	_, err2 := l.blocks.Move(inter.BlockNumber(durable) + 1)
	_, err3 := l.states.Move(durable)
	return errors.Join(err1, err2, err3)
}

// patience lets something that failed be tried again after one chance has passed, then after
// two, four, and so on: each try may write much before it fails.
type patience struct{ pass, left int }

const mostPatience = 1 << 10

// ready tells whether a chance is to be taken.
func (p *patience) ready() bool {
	if p.left > 0 {
		p.left--
		return false
	}
	return true
}

func (p *patience) noteAttempt(err error) {
	if err == nil {
		p.pass = 0
		return
	}
	p.pass = min(max(1, 2*p.pass), mostPatience)
	p.left = p.pass
}
