package chain

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"tarn/history"
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
	// OldDir is where finished files may lie that were moved to another disk; "" is
	// nowhere.
	OldDir string
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

	settling sync.Mutex // held while files are sorted, cut or dropped
	sorted   uint64     // the revision up to which that was done
	running  sync.WaitGroup
	mu       sync.Mutex
	failed   error
}

// NewHistory returns a history that is not open yet.
func NewHistory(o HistoryOptions) *History { return &History{o: o} }

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

// Stats may be called by any goroutine. They are zero while the chain is not open.
func (h *History) Stats() HistoryStats {
	l := h.logs.Load()
	if l == nil {
		return HistoryStats{}
	}
	return HistoryStats{Events: l.events.Stats(), Blocks: l.blocks.Stats(), States: l.states.Stats()}
}

// Verify reads everything and reports what is not as it was written.
func (h *History) Verify(report func(error)) error {
	l := h.logs.Load()
	if l == nil {
		return errors.New("verify the history: it is not open")
	}
	return errors.Join(l.events.Verify(report), l.blocks.Verify(report), l.states.Verify(report))
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
	var err error
	if l.events, err = eventlog.Open(eventlog.Options{
		FS: h.o.FS, Dir: h.dir("events"), OldDir: h.oldDir("events"), Need: at.Events, Notice: h.o.Notice,
	}); err != nil {
		return nil, err
	}
	if l.blocks, err = blocklog.Open(blocklog.Options{
		FS: h.o.FS, Dir: h.dir("blocks"), OldDir: h.oldDir("blocks"), First: at.First, Brought: at.Brought,
		Need: head + 1, NeedRoots: at.Roots, Notice: h.o.Notice,
	}); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if l.states, err = state.OpenArchive(state.ArchiveOptions{
		Log: history.LogOptions{
			FS: h.o.FS, Dir: h.dir("states"), OldDir: h.oldDir("states"), First: uint64(at.First), Need: uint64(head) + 1,
			Notice: history.TornTail("block's changes", h.o.Notice),
		},
		Index: history.IndexOptions{FS: h.o.FS, Dir: h.dir("states"), Notice: h.o.Notice},
	}); err != nil {
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
	return l.blocks.Stats().Index.MemoryBytes+l.states.Stats().Index.MemoryBytes > pressing
}

// settle sorts, beside the writer, what an image of the store counts on, and forgets old
// states of which fewer are kept. It returns the error of a run before.
func (l *logs) settle(durable uint64, keep uint64) error {
	l.mu.Lock()
	failed := l.failed
	l.mu.Unlock()
	if failed != nil || durable == l.sorted || !l.settling.TryLock() {
		return failed
	}
	l.sorted = durable
	l.running.Go(func() {
		defer l.settling.Unlock()
		err := errors.Join(l.events.Settle(l.synced.Load()), l.blocks.Settle(inter.BlockNumber(durable)+1), l.states.Settle(durable))
		if err == nil && keep != 0 && durable > keep {
			err = l.states.Drop(durable - keep)
		}
		if err != nil {
			l.mu.Lock()
			l.failed = fmt.Errorf("sort the history up to block %d: %w", durable, err)
			l.mu.Unlock()
		}
	})
	return nil
}
