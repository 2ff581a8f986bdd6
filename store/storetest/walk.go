package storetest

import (
	"fmt"

	"tarn/store"
)

// step is a move of a cursor.
type step int

const (
	stepFirst step = iota
	stepLast
	stepSeek
	stepSeekLT
	stepNext
	stepPrev
)

func (s step) String() string {
	return [...]string{"first", "last", "seek", "seeklt", "next", "prev"}[s]
}

// walker is a cursor and where the model has it: on a key, or nowhere.
type walker struct {
	cursor store.Cursor
	on     bool
	key    string
}

// move takes a step on the cursor and on the rows, which may have changed since
// the step before, and compares where both stand.
func (w *walker) move(s step, key string, rows []row) error {
	at, got := -1, false
	switch s {
	case stepFirst:
		got, at = w.cursor.First(), 0
	case stepLast:
		got, at = w.cursor.Last(), len(rows)-1
	case stepSeek:
		got = w.cursor.Seek([]byte(key))
		at, _ = find(rows, key)
	case stepSeekLT:
		got = w.cursor.SeekLT([]byte(key))
		at, _ = find(rows, key)
		at--
	case stepNext:
		got = w.cursor.Next()
		if w.on {
			var exact bool
			if at, exact = find(rows, w.key); exact {
				at++
			}
		}
	case stepPrev:
		got = w.cursor.Prev()
		if w.on {
			at, _ = find(rows, w.key)
			at--
		}
	}
	w.on = at >= 0 && at < len(rows)
	if err := w.cursor.Err(); err != nil {
		return fmt.Errorf("cursor failed: %w", err)
	}
	if got != w.on || w.cursor.Valid() != w.on {
		return fmt.Errorf("moved %v, valid %v, should be %v", got, w.cursor.Valid(), w.on)
	}
	if !w.on {
		return nil
	}
	w.key = rows[at].key
	return compareRow(w.cursor, rows, at)
}

// The cursors of the writer and the views of a run live in numbered slots.
type (
	opCursorOpen struct {
		slot  int
		table string
	}
	opCursorMove struct {
		slot int
		step step
		key  string
	}
	opCursorClose struct{ slot int }
	opViewOpen    struct {
		slot  int
		table string // of the view's cursor
	}
	opViewMove struct {
		slot int
		step step
		key  string
	}
	opViewGet struct {
		slot       int
		table, key string
	}
	opViewCompare struct {
		slot     int
		backward bool
	}
	opViewClose struct{ slot int }
)

func (o opCursorOpen) String() string { return fmt.Sprintf("cursor %d open %s", o.slot, o.table) }
func (o opCursorMove) String() string {
	return fmt.Sprintf("cursor %d %v %s", o.slot, o.step, quote(o.key))
}
func (o opCursorClose) String() string { return fmt.Sprintf("cursor %d close", o.slot) }
func (o opViewOpen) String() string    { return fmt.Sprintf("view %d open %s", o.slot, o.table) }
func (o opViewMove) String() string {
	return fmt.Sprintf("view %d %v %s", o.slot, o.step, quote(o.key))
}
func (o opViewGet) String() string {
	return fmt.Sprintf("view %d get %s %s", o.slot, o.table, quote(o.key))
}
func (o opViewCompare) String() string {
	return fmt.Sprintf("view %d compare backward=%v", o.slot, o.backward)
}
func (o opViewClose) String() string { return fmt.Sprintf("view %d close", o.slot) }

// writerCursor is a cursor of the store itself, over a table.
type writerCursor struct {
	walker
	table string
}

func (o opCursorOpen) do(r *run) error {
	c, err := r.s.Cursor(r.handles[o.table])
	if err != nil {
		return err
	}
	r.cursors[o.slot] = &writerCursor{walker{cursor: c}, o.table}
	return nil
}

func (o opCursorMove) do(r *run) error {
	c := r.cursors[o.slot]
	return c.move(o.step, o.key, r.m.tables[r.table(c.table)])
}

func (o opCursorClose) do(r *run) error {
	c := r.cursors[o.slot]
	r.cursors[o.slot] = nil
	return c.cursor.Close()
}

// openView is a view, what it must show, a cursor in it, and values that it has
// given out: they live until it is closed.
type openView struct {
	store.View
	want    version
	handles map[string]store.Table
	walker  walker
	table   string // "" if the view's state does not have the cursor's table
	given   []givenValue
}

type givenValue struct {
	value []byte
	want  string
}

func (o opViewOpen) do(r *run) error {
	v, err := r.s.View()
	if err != nil {
		return err
	}
	w := &openView{View: v, want: r.m.shown, handles: handles(v.Tables())}
	r.views[o.slot] = w
	if v.Revision() != w.want.revision {
		return fmt.Errorf("view shows revision %d, should be %d", v.Revision(), w.want.revision)
	}
	if indexOf(w.want.names, o.table) < 0 {
		return catalogue(v.Tables(), r.handles, w.want.state, false)
	}
	c, err := v.Cursor(w.handles[o.table])
	if err != nil {
		return err
	}
	w.table, w.walker = o.table, walker{cursor: c}
	return catalogue(v.Tables(), r.handles, w.want.state, false)
}

func (o opViewMove) do(r *run) error {
	v := r.views[o.slot]
	return v.walker.move(o.step, o.key, v.want.tables[indexOf(v.want.names, v.table)])
}

func (o opViewGet) do(r *run) error {
	v := r.views[o.slot]
	t := indexOf(v.want.names, o.table)
	if t < 0 {
		return nil
	}
	got, err := v.Get(v.handles[o.table], []byte(o.key))
	if err == nil {
		v.given = append(v.given, givenValue{got, string(got)})
	}
	return matchGet(got, err, v.want.tables[t], o.key)
}

func (o opViewCompare) do(r *run) error {
	v := r.views[o.slot]
	return compare(v, v.handles, v.want.state, o.backward)
}

func (o opViewClose) do(r *run) error {
	v := r.views[o.slot]
	r.views[o.slot] = nil
	for i, g := range v.given {
		if string(g.value) != g.want {
			return fmt.Errorf("value %d of the view became %s, was %s", i, quote(string(g.value)), quote(g.want))
		}
	}
	if v.walker.cursor != nil {
		if err := v.walker.cursor.Close(); err != nil {
			return err
		}
	}
	return v.Close()
}
