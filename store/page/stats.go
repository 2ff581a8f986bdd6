package page

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"tarn/store"
)

type counter = atomic.Int64

// counters are kept by whoever does the thing counted.
type counters struct {
	gets, puts, deletes             counter
	checkpoint, meta, spill, mapped counter // bytes
	checkpoints, checkpointsFailed  counter

	mu      sync.Mutex
	last    store.CheckpointStats
	durable store.Durable
}

func (c *counters) noteOpened(m *meta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.durable = m.stats(), m.durable()
}

func (c *counters) noteFinished(k *checkpoint, at time.Time) {
	c.checkpoints.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.durable = k.meta.durable()
	c.last = k.meta.stats()
	c.last.At, c.last.Duration, c.last.Pause = at, at.Sub(k.started), k.pause
	c.last.Returned = k.returned
}

// gaveBack adds to what memory the last checkpoint let go of.
func (c *counters) gaveBack(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Returned += bytes
}

func (m *meta) durable() store.Durable {
	return store.Durable{Head: m.head, Irreversible: m.irreversible}
}

// stats is what a meta page tells of the checkpoint that wrote it.
func (m *meta) stats() store.CheckpointStats {
	if m.sequence == 0 {
		return store.CheckpointStats{}
	}
	return store.CheckpointStats{
		At: time.Unix(0, m.at), Duration: time.Duration(m.duration), Pages: m.pages,
		Bytes: (m.pages + 1) * pageSize, Image: m.durable(),
	}
}

// Durable implements store.Engine.
func (e *Engine) Durable() store.Durable {
	e.counters.mu.Lock()
	defer e.counters.mu.Unlock()
	return e.counters.durable
}

// gauges are readings of the writer's numbers, published so that any goroutine
// may ask for them.
type gauges struct {
	size, used, free, dirty, private, unbacked counter
	memory                                     atomic.Value // string: what the mode got
}

// gauge is called by the writer where it stops by anyway.
func (e *Engine) gauge() {
	e.gauges.memory.Store(e.mem.kind)
	e.gauges.size.Store(e.backed)
	e.gauges.unbacked.Store(e.size - e.backed)
	e.gauges.used.Store(int64(e.space.end-e.space.count) << pageShift)
	e.gauges.free.Store(e.available())
	e.gauges.dirty.Store(e.dirtyPages << pageShift)
	e.gauges.private.Store(e.privatePages << pageShift)
}

// available is what changes can still take, in bytes.
func (e *Engine) available() int64 {
	return int64(e.space.among(false))<<pageShift + max(e.opts.LimitBytes-int64(e.space.end)<<pageShift, 0)
}

// Pressure implements store.Engine.
func (e *Engine) Pressure() (checkpoint, guard bool) {
	e.settle()
	e.gauge()
	free := e.available()
	guard = free < e.opts.GuardBytes
	if e.file == nil {
		return false, guard
	}
	if e.opts.Mode == MappedPrivate && e.privatePages<<pageShift > e.opts.PrivateBytes/2 {
		return true, guard
	}
	// Near the limit a checkpoint helps if the durable image holds a good part
	// of what could be free.
	low := free < max(e.opts.LimitBytes/8, 2*e.opts.GuardBytes)
	return low && e.imagesHold()<<pageShift > free/4, guard
}

// imagesHold is how many pages only the durable image keeps from being free, and the
// failed ones that the disk may give back: a newer image that is durable frees them all.
func (e *Engine) imagesHold() (pages int64) {
	if e.durable != nil {
		pages = e.durable.pages
	}
	for _, d := range e.doubtful {
		pages += d.snapshot.pages
		for _, x := range d.blobs {
			pages += int64(x.pages)
		}
	}
	return pages
}

// Stats implements store.Engine.
func (e *Engine) Stats() store.Stats {
	c, g := &e.counters, &e.gauges
	s := store.Stats{
		Engine: "page", Mode: e.opts.Mode.String(), Memory: g.memory.Load().(string),
		Size: g.size.Load(), Limit: e.opts.LimitBytes, Used: g.used.Load(), Free: g.free.Load(),
		DirtyBytes: g.dirty.Load(), PrivateBytes: g.private.Load(),
		Gets: c.gets.Load(), Puts: c.puts.Load(), Deletes: c.deletes.Load(),
		Checkpoints: c.checkpoints.Load(), CheckpointsFailed: c.checkpointsFailed.Load(),
		Written: store.Written{
			Checkpoint: c.checkpoint.Load(), Meta: c.meta.Load(), Spill: c.spill.Load(), Mapped: c.mapped.Load(),
		},
	}
	switch e.opts.Mode {
	case Mapped:
		s.PrivateBytes = g.unbacked.Load()
	case Heap, Locked:
		s.PrivateBytes = s.Size
	}
	e.mu.Lock()
	s.OpenViews = int64(e.views)
	if e.views > 0 {
		s.OldestView = e.oldestView()
	}
	e.mu.Unlock()
	c.mu.Lock()
	s.LastCheckpoint = c.last
	c.mu.Unlock()
	return s
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
