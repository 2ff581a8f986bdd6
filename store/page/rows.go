package page

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"tarn/store"
)

// Get implements store.Engine. It is the writer's: it remembers the way to the row.
func (e *Engine) Get(t store.Table, key []byte) (v []byte, err error) {
	if e.failed != nil {
		return nil, e.failed
	}
	e.counters.gets.Add(1)
	defer e.rescue(debug.SetPanicOnFault(true), &err)
	return e.find(&e.tables[t-1].tree, t, key)
}

func (e *Engine) read(tr *tree, t store.Table, key []byte) (v []byte, err error) {
	defer e.rescue(debug.SetPanicOnFault(true), &err)
	return e.get(tr, t, key)
}

// Put implements store.Engine.
func (e *Engine) Put(t store.Table, key, value []byte, undo *store.Journal) (err error) {
	run := int64(0)
	if len(key)+len(value) > inlined {
		run = runPages(int64(len(value)))
	}
	defer e.rescueWriter(debug.SetPanicOnFault(true), &err)
	if err := e.prepare(run, e.roomToAdd()); err != nil {
		return err
	}
	e.counters.puts.Add(1)
	key, value = e.unalias(key, value)
	return e.put(&e.tables[t-1].tree, t, key, value, undo)
}

// Delete implements store.Engine.
func (e *Engine) Delete(t store.Table, key []byte, undo *store.Journal) (err error) {
	defer e.rescueWriter(debug.SetPanicOnFault(true), &err)
	if err := e.prepare(0, e.roomToRemove()); err != nil {
		return err
	}
	e.counters.deletes.Add(1)
	key, _ = e.unalias(key, nil)
	return e.remove(&e.tables[t-1].tree, t, key, undo)
}

// Restore implements store.Engine.
func (e *Engine) Restore(t store.Table, key, old []byte, existed bool) (err error) {
	run := int64(0)
	if len(key)+len(old) > inlined {
		run = runPages(int64(len(old)))
	}
	defer e.rescueWriter(debug.SetPanicOnFault(true), &err)
	if err := e.prepare(run, e.roomToUndo()); err != nil {
		return err
	}
	tree := &e.tables[t-1].tree
	if existed {
		return e.put(tree, t, key, old, nil)
	}
	// A row that came and went within a revision is new to its journal, and gone
	// from the state.
	if err := e.remove(tree, t, key, nil); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// unalias copies arguments that lie in the store's own pages, which the change
// is about to move.
func (ed *editor) unalias(key, value []byte) ([]byte, []byte) {
	inKey, inValue := ed.mem.contains(key), ed.mem.contains(value)
	if !inKey && !inValue {
		return key, value
	}
	ed.aliased = append(append(ed.aliased[:0], key...), value...)
	return ed.aliased[:len(key)], ed.aliased[len(key):]
}

// CreateTable implements store.Engine.
func (e *Engine) CreateTable(name string) (store.Table, error) {
	if e.opts.ReadOnly {
		return 0, store.ErrReadOnly
	}
	if e.failed != nil {
		return 0, e.failed
	}
	if len(e.tables) == maxTables {
		return 0, fmt.Errorf("%s: %d tables are the most there can be: %w", e.path, maxTables, store.ErrFull)
	}
	e.mu.Lock() // Tables may be reading
	defer e.mu.Unlock()
	e.tables = append(slices.Clone(e.tables), table{name: name})
	return store.Table(len(e.tables)), nil
}

// maxTables keeps the catalogue to a few pages.
const maxTables = 4096

// Tables implements store.Engine: the names are the newest, rows and bytes those
// of the published state.
func (e *Engine) Tables() []store.TableInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	infos := make([]store.TableInfo, len(e.tables))
	for i := range infos {
		infos[i] = store.TableInfo{ID: store.Table(i + 1), Name: e.tables[i].name}
	}
	if e.published != nil {
		for i, t := range e.published.tables {
			infos[i].Rows, infos[i].Bytes = t.rows, t.bytes
		}
	}
	return infos
}

// rescue turns a page fault inside the mapping into a FaultError. It is deferred
// with what debug.SetPanicOnFault(true) returned.
func (e *Engine) rescue(old bool, err *error) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		*err = e.fault(r)
	}
}

// rescueWriter does the same around a change, which the fault may have left
// half done: the writer is finished.
func (e *Engine) rescueWriter(old bool, err *error) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		*err = e.fault(r)
		e.failed = fmt.Errorf("%w: %w", store.ErrFailed, *err)
	}
}

// fault passes on every panic that is not a page fault of ours.
func (e *Engine) fault(r any) error {
	if f, ok := r.(interface {
		runtime.Error
		Addr() uintptr
	}); ok {
		if off := e.mem.offsetOf(f.Addr()); off >= 0 {
			return &store.FaultError{Path: e.path, Offset: off}
		}
	}
	panic(r)
}
