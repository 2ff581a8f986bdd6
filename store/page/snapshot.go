package page

import (
	"slices"
	"sync/atomic"

	"tarn/store"
)

// A snapshot is a finished generation that somebody still needs: a view, the
// published state, the durable image, or the checkpoint under way. It blocks the
// reuse of every page that it can reach and the newest state no longer can.
type snapshot struct {
	generation uint64
	revision   uint64
	tables     []table
	refs       int      // under Engine.mu
	views      int      // of the refs, under Engine.mu
	blocked    []extent // the writer's: freed since, born not after generation
	pages      int64    // in blocked
}

func (s *snapshot) block(x extent) {
	s.blocked = append(s.blocked, x)
	s.pages += int64(x.pages)
}

// endGeneration makes the present state a snapshot with one reference. From here
// on its pages are copied before they change.
func (e *Engine) endGeneration(revision uint64) *snapshot {
	s := &snapshot{generation: e.generation, revision: revision, tables: slices.Clone(e.tables), refs: 1}
	e.mu.Lock()
	e.live = append(e.live, s)
	e.mu.Unlock()
	e.generation++
	return s
}

// letGo drops a reference. The writer finds out in reap.
func (ps *pages) letGo(s *snapshot) {
	ps.mu.Lock()
	s.refs--
	ps.mu.Unlock()
}

// reap forgets the snapshots that nobody needs any more and frees the pages that
// only they could reach.
func (ps *pages) reap() {
	ps.mu.Lock()
	var dead []*snapshot
	ps.live = slices.DeleteFunc(ps.live, func(s *snapshot) bool {
		if s.refs > 0 {
			return false
		}
		dead = append(dead, s)
		return true
	})
	ps.mu.Unlock()
	for _, s := range dead {
		ps.unblock(s)
	}
}

// unblock hands the pages that s blocked to the next older snapshot that can
// reach them, or frees them.
func (ps *pages) unblock(s *snapshot) {
	var older *snapshot
	for _, t := range ps.live {
		if t.generation <= s.generation {
			older = t
		}
	}
	for _, x := range s.blocked {
		if older != nil && older.generation >= x.born {
			older.block(x)
		} else {
			ps.release(x)
		}
	}
	s.blocked, s.pages = nil, 0
}

// Publish implements store.Engine.
func (e *Engine) Publish(revision uint64) error {
	if e.failed != nil {
		return e.failed
	}
	if e.settle(); e.failed != nil {
		return e.failed
	}
	e.gauge()
	s := e.endGeneration(revision)
	e.mu.Lock()
	old := e.published
	e.published = s
	if old != nil {
		old.refs--
	}
	e.mu.Unlock()
	e.reap()
	return nil
}

// View implements store.Engine.
func (e *Engine) View() (store.View, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, store.ErrClosed
	}
	e.published.refs++
	e.published.views++
	e.views++
	return &view{engine: e, snapshot: e.published}, nil
}

// view implements store.View.
type view struct {
	engine   *Engine
	snapshot *snapshot
	done     atomic.Bool
}

func (v *view) Revision() uint64 { return v.snapshot.revision }

func (v *view) Tables() []store.TableInfo { return tableInfos(v.snapshot.tables) }

func (v *view) Get(t store.Table, key []byte) ([]byte, error) {
	tree, err := v.tree(t)
	if err != nil {
		return nil, err
	}
	if len(key) == 0 || len(key) > store.MaxKey {
		return nil, store.ErrKeySize
	}
	return v.engine.read(tree, t, key)
}

func (v *view) Cursor(t store.Table) (store.Cursor, error) {
	tree, err := v.tree(t)
	if err != nil {
		return nil, err
	}
	return &cursor{engine: v.engine, table: t, tree: tree}, nil
}

func (v *view) tree(t store.Table) (*tree, error) {
	if v.done.Load() || v.engine.closed.Load() {
		return nil, store.ErrClosed
	}
	if t == 0 || int(t) > len(v.snapshot.tables) {
		return nil, store.ErrNoTable
	}
	return &v.snapshot.tables[t-1].tree, nil
}

// Close implements store.View. The last view of a closed engine gives the memory
// back.
func (v *view) Close() error {
	e := v.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if v.done.Swap(true) {
		return nil
	}
	v.snapshot.refs--
	v.snapshot.views--
	e.views--
	if e.left && e.views == 0 {
		return e.vacate()
	}
	return nil
}

// oldestView is the revision of the oldest open view. The caller holds mu.
func (e *Engine) oldestView() uint64 {
	for _, s := range e.live {
		if s.views > 0 {
			return s.revision
		}
	}
	return 0
}

func tableInfos(tables []table) []store.TableInfo {
	infos := make([]store.TableInfo, len(tables))
	for i, t := range tables {
		infos[i] = store.TableInfo{ID: store.Table(i + 1), Name: t.name, Rows: t.rows, Bytes: t.bytes}
	}
	return infos
}
