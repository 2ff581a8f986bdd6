package storetest

import (
	"errors"
	"fmt"

	"tarn/store"
)

// op is one step of the model test, a value that prints itself. do takes it on
// the store and on the model, and reports where they differ.
type op interface {
	fmt.Stringer
	do(r *run) error
}

type (
	opPut    struct{ table, key, value string }
	opDelete struct{ table, key string }
	opFill   struct {
		table       string
		first, rows uint64
		value       string
	}
	opDeleteRange struct {
		table    string
		from, to []byte
	}
	opNextID      struct{ table string }
	opGet         struct{ table, key string }
	opCreateTable struct{ name string }
	opBegin       struct{}
	opSquash      struct{}
	opUndo        struct{}
	opUndoAll     struct{}
	opPush        struct{}
	opCommit      struct{ revision uint64 }
	opSetRevision struct{ revision uint64 }
	opPublish     struct{}
	opChanges     struct{}
	opCompare     struct{ backward bool }
	opCheckpoint  struct{ wait bool }
	opWait        struct{}
	opReopen      struct{}
)

func (o opPut) String() string {
	return fmt.Sprintf("put %s %s %s", o.table, quote(o.key), quote(o.value))
}
func (o opDelete) String() string { return fmt.Sprintf("delete %s %s", o.table, quote(o.key)) }
func (o opFill) String() string {
	return fmt.Sprintf("fill %s %d rows from %d, %s", o.table, o.rows, o.first, quote(o.value))
}
func (o opDeleteRange) String() string {
	return fmt.Sprintf("deleterange %s %s %s", o.table, bound(o.from), bound(o.to))
}
func (o opNextID) String() string      { return "nextid " + o.table }
func (o opGet) String() string         { return fmt.Sprintf("get %s %s", o.table, quote(o.key)) }
func (o opCreateTable) String() string { return "createtable " + o.name }
func (opBegin) String() string         { return "begin" }
func (opSquash) String() string        { return "squash" }
func (opUndo) String() string          { return "undo" }
func (opChanges) String() string       { return "changes" }
func (opUndoAll) String() string       { return "undoall" }
func (opPush) String() string          { return "push" }
func (o opCommit) String() string      { return fmt.Sprintf("commit %d", o.revision) }
func (o opSetRevision) String() string { return fmt.Sprintf("setrevision %d", o.revision) }
func (opPublish) String() string       { return "publish" }
func (o opCompare) String() string     { return fmt.Sprintf("compare backward=%v", o.backward) }
func (o opCheckpoint) String() string  { return fmt.Sprintf("checkpoint wait=%v", o.wait) }
func (opWait) String() string          { return "wait" }
func (opReopen) String() string        { return "reopen" }

// differ compares the errors of store and model: the same kind, or none.
func differ(got, want error) error {
	switch {
	case want == nil && got == nil, want != nil && errors.Is(got, want):
		return nil
	case want == nil:
		return fmt.Errorf("failed: %w", got)
	}
	return fmt.Errorf("error is %v, should be %v", got, want)
}

func (o opPut) do(r *run) error {
	err := r.s.Put(r.handles[o.table], []byte(o.key), []byte(o.value))
	if r.isFull(err) {
		return nil
	}
	return differ(err, r.m.Put(r.table(o.table), o.key, o.value))
}

// opFill puts rows in the order of their keys, as a snapshot being loaded does.
func (o opFill) do(r *run) error {
	for n := range o.rows {
		if err := (opPut{o.table, composite(7, 7, o.first+n), o.value}).do(r); err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
	}
	return nil
}

func (o opDelete) do(r *run) error {
	err := r.s.Delete(r.handles[o.table], []byte(o.key))
	if r.isFull(err) {
		return nil
	}
	return differ(err, r.m.Delete(r.table(o.table), o.key))
}

func (o opDeleteRange) do(r *run) error {
	n, err := r.s.DeleteRange(r.handles[o.table], o.from, o.to)
	if r.isFull(err) { // the rows before the one that did not go are gone
		lo, hi := r.m.span(r.table(o.table), o.from, o.to)
		if n >= hi-lo {
			return fmt.Errorf("full after %d rows of %d", n, hi-lo)
		}
		r.m.deleteFirst(r.table(o.table), lo, n)
		return nil
	}
	want, wantErr := r.m.DeleteRange(r.table(o.table), o.from, o.to)
	if err := differ(err, wantErr); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("deleted %d rows, should be %d", n, want)
	}
	return nil
}

func (o opNextID) do(r *run) error {
	id, err := r.s.NextID(r.handles[o.table])
	if r.isFull(err) {
		return nil
	}
	want, wantErr := r.m.NextID(r.table(o.table))
	if err := differ(err, wantErr); err != nil {
		return err
	}
	if err == nil && id != want {
		return fmt.Errorf("id is %d, should be %d", id, want)
	}
	return nil
}

func (o opGet) do(r *run) error {
	v, err := r.s.Get(r.handles[o.table], []byte(o.key))
	return matchGet(v, err, r.m.tables[r.table(o.table)], o.key)
}

func matchGet(v []byte, err error, rows []row, key string) error {
	i, ok := find(rows, key)
	switch {
	case !ok:
		return differ(err, store.ErrNotFound)
	case err != nil:
		return err
	case string(v) != rows[i].value:
		return fmt.Errorf("value is %s, should be %s", quote(string(v)), quote(rows[i].value))
	}
	return nil
}

func (o opCreateTable) do(r *run) error {
	h, err := r.s.CreateTable(o.name)
	if r.isFull(err) {
		return nil
	}
	_, wantErr := r.m.CreateTable(o.name)
	if err := differ(err, wantErr); err != nil {
		return err
	}
	if err != nil {
		return nil
	}
	if old, ok := r.handles[o.name]; ok && old != h {
		return fmt.Errorf("handle is %d, was %d", h, old)
	}
	r.handles[o.name] = h
	return nil
}

func (o opBegin) do(r *run) error {
	return r.session(r.s.Begin(), r.m.Begin())
}

func (o opSquash) do(r *run) error { return r.session(r.s.Squash(), r.m.Squash()) }
func (o opUndo) do(r *run) error   { return r.session(r.s.Undo(), r.m.Undo()) }

func (o opUndoAll) do(r *run) error {
	r.m.UndoAll()
	return r.session(r.s.UndoAll(), nil)
}

func (o opPush) do(r *run) error {
	if r.m.depth() == 1 { // the store may take a checkpoint of what this makes
		r.m.Push()
		r.tally.revisions++
		r.note()
		return r.session(r.s.Push(), nil)
	}
	return r.session(r.s.Push(), r.m.Push())
}

func (o opCommit) do(r *run) error {
	return r.session(r.s.Commit(o.revision), r.m.Commit(o.revision))
}

func (o opSetRevision) do(r *run) error {
	err := r.m.SetRevision(o.revision)
	if err == nil {
		r.note()
	}
	return r.session(r.s.SetRevision(o.revision), err)
}

// session compares the outcome of a call that may have moved the revisions.
func (r *run) session(got, want error) error {
	if err := differ(got, want); err != nil {
		return err
	}
	return r.numbers()
}

func (r *run) numbers() error {
	if r.s.Depth() != r.m.depth() || r.s.Head() != r.m.head || r.s.Irreversible() != r.m.irreversible {
		return fmt.Errorf("depth, head, irreversible are %d, %d, %d, should be %d, %d, %d",
			r.s.Depth(), r.s.Head(), r.s.Irreversible(), r.m.depth(), r.m.head, r.m.irreversible)
	}
	return nil
}

func (o opPublish) do(r *run) error {
	r.m.Publish()
	r.audience.announce(r.m.shown)
	defer r.audience.noteShown()
	return r.s.Publish()
}

func (o opCompare) do(r *run) error {
	if err := compare(r.s, r.handles, r.m.state, o.backward); err != nil {
		return err
	}
	return catalogue(r.s.Tables(), r.handles, r.m.state, false)
}

// catalogue compares the list of tables. The rows are counted in the newest
// state, or not at all.
func catalogue(tables []store.TableInfo, known map[string]store.Table, want state, count bool) error {
	own := 0
	for i, t := range tables {
		if int(t.ID) != i+1 {
			return fmt.Errorf("table %s has handle %d at place %d", t.Name, t.ID, i)
		}
		if isInternal(t.Name) {
			continue
		}
		own++
		n := indexOf(want.names, t.Name)
		if n < 0 {
			return fmt.Errorf("table %s should not be there", t.Name)
		}
		if known[t.Name] != t.ID {
			return fmt.Errorf("table %s has handle %d, was %d", t.Name, t.ID, known[t.Name])
		}
		if count && t.Rows >= 0 && t.Rows != int64(len(want.tables[n])) {
			return fmt.Errorf("table %s counts %d rows, has %d", t.Name, t.Rows, len(want.tables[n]))
		}
	}
	if own != len(want.names) {
		return fmt.Errorf("%d tables, should be %d", own, len(want.names))
	}
	return nil
}

func (o opCheckpoint) do(r *run) error {
	c, err := r.s.Checkpoint()
	if r.m.depth() > 0 {
		return differ(err, store.ErrSessionOpen)
	}
	if err != nil && r.mayFail(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.started = append(r.started, started{c, r.note()})
	if o.wait {
		return opWait{}.do(r)
	}
	return nil
}

// opWait waits for all checkpoints that were started; the last is the durable
// one unless the store has taken another by itself.
func (o opWait) do(r *run) error {
	started := r.started
	r.started = nil
	for _, c := range started {
		err := c.Wait()
		if r.mayFail(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("checkpoint of revision %d: %w", c.image.head, err)
		}
		r.acknowledge(c.image)
		d := r.s.Durable()
		if d.Head < c.image.irreversible || d.Irreversible < c.image.irreversible {
			return fmt.Errorf("durable is %+v after a checkpoint of %d, irreversible %d",
				d, c.image.head, c.image.irreversible)
		}
		if c.image.serial == r.serial && d != (store.Durable{Head: c.image.head, Irreversible: c.image.irreversible}) {
			return fmt.Errorf("durable is %+v right after the checkpoint of %d, irreversible %d",
				d, c.image.head, c.image.irreversible)
		}
	}
	return nil
}

func (o opReopen) do(r *run) error {
	if err := r.close(); err != nil {
		return err
	}
	return r.open()
}
