package lsm

import "tarn/store"

// Stats implements store.Engine.
func (e *Engine) Stats() store.Stats {
	m := e.base.Metrics()
	s := store.Stats{
		Engine:  e.folder.Kind(),
		Size:    m.Size + 2*sealSlot,
		Used:    m.Size,
		Written: e.causes(m),

		CacheHits:   e.cache.hits.Load(),
		CacheMisses: e.cache.misses.Load(),
		Gets:        e.counters.gets.Load(),
		Puts:        e.counters.puts.Load(),
		Deletes:     e.counters.deletes.Load(),

		Checkpoints:       e.counters.checkpoints.Load(),
		CheckpointsFailed: e.counters.checkpointsFailed.Load(),
	}
	s.DirtyBytes = e.dirty()
	s.PrivateBytes = s.DirtyBytes + m.Memory + int64(len(e.cache.memory))
	e.mu.Lock()
	defer e.mu.Unlock()
	s.LastCheckpoint = e.last
	for v := range e.views {
		s.OpenViews++
		if s.OpenViews == 1 || v.Revision() < s.OldestView {
			s.OldestView = v.Revision()
		}
	}
	return s
}

// dirty is the memory of the overlays that the writer sees.
func (e *Engine) dirty() int64 {
	n := int64(0)
	if l := e.live.Load(); l != nil && l.hold() {
		n += l.rows.Stats().Used
		l.drop()
	}
	if g := e.next.Load(); g != nil && g.hold() {
		defer g.drop()
		return n + g.bytes()
	}
	if g := e.ground.Load(); g != nil && g.hold() {
		defer g.drop()
		n += g.bytes()
	}
	return n
}

func (e *Engine) causes(m Metrics) store.Written {
	return store.Written{
		Checkpoint: m.Direct,
		Meta:       m.Meta + e.counters.sealed.Load(),
		Log:        m.Log,
		Flush:      m.Flush,
		Compaction: m.Compaction,
	}
}

// writtenBytes is what flushes have written, compactions aside.
func (e *Engine) writtenBytes() int64 {
	w := e.causes(e.base.Metrics())
	return w.Total() - w.Compaction
}
