package storetest

import "fmt"

// next chooses the next operation from the model's present state: mostly what a
// ledger does, some of it what the contract refuses.
func (r *run) next() op {
	switch {
	case len(r.m.names) == 0:
		return r.createTable()
	case r.asks && r.m.head != r.asked && r.m.depth() == 0 && len(r.m.undoable) > 0:
		r.asked = r.m.head
		return opChanges{}
	case r.tally.ops%400 == 399:
		return opCompare{r.rng.IntN(2) == 0}
	}
	change := 60
	if r.m.changeable() != nil {
		change = 4 // will be refused
	}
	switch pick(r.rng, change, 30, 14, 10, 2) {
	case 0:
		return r.change()
	case 1:
		return r.revise()
	case 2:
		return r.cursor()
	case 3:
		return r.view()
	}
	return r.disk()
}

func (r *run) createTable() op {
	name := fmt.Sprintf("table%d", r.rng.IntN(6))
	if r.keys[name] == nil {
		all := keyspaces()
		r.keys[name] = all[r.rng.IntN(len(all))]
	}
	return opCreateTable{name}
}

func (r *run) someTable() string { return r.m.names[r.rng.IntN(len(r.m.names))] }
func (r *run) someKey(table string) string {
	rows := r.m.tables[r.table(table)]
	if len(rows) > 0 && r.rng.IntN(2) == 0 {
		return rows[r.rng.IntN(len(rows))].key
	}
	return r.keys[table](r.rng)
}

// change is a change of rows or a look at one.
func (r *run) change() op {
	table := r.someTable()
	ids := 4
	if r.knobs.LimitBytes > 0 {
		ids = 0 // they could not be compared in a full store
	}
	switch pick(r.rng, 60, 18, 2, ids, 12, 1) {
	case 0:
		return opPut{table, r.someKey(table), value(r.rng, r.valueSize())}
	case 1:
		return opDelete{table, r.someKey(table)}
	case 2:
		return r.deleteRange(table)
	case 3:
		return opNextID{table}
	case 4:
		return opGet{table, r.someKey(table)}
	}
	return opFill{table, r.rng.Uint64N(4000), 1 + r.rng.Uint64N(400), value(r.rng, r.rng.IntN(200))}
}

// valueSize is such that a store with a limit is full now and then.
func (r *run) valueSize() int {
	if r.knobs.LimitBytes > 0 && r.rng.IntN(4) == 0 {
		return r.rng.IntN(int(r.knobs.LimitBytes / 16))
	}
	return valueSize(r.rng)
}

func (r *run) deleteRange(table string) op {
	o := opDeleteRange{table: table}
	if r.rng.IntN(20) > 0 {
		o.from = []byte(r.someKey(table))
	}
	if r.rng.IntN(20) > 0 {
		o.to = []byte(r.someKey(table))
	}
	return o
}

// revise moves between sessions and revisions.
func (r *run) revise() op {
	depth := r.m.depth()
	begin, squash, push := 12, 1, 1
	switch {
	case depth == 1:
		begin, push = 8, 10
	case depth > 1:
		begin, squash = 6, 12
	}
	if depth > 7 {
		begin = 0
	}
	switch pick(r.rng, begin, squash, push, 5, 1, 5, 1, 5, 1, 5) {
	case 0:
		return opBegin{}
	case 1:
		return opSquash{}
	case 2:
		return opPush{}
	case 3:
		return opUndo{}
	case 4:
		return opUndoAll{}
	case 5:
		n := uint64(r.rng.IntN(int(r.m.head-r.m.irreversible) + 2))
		return opCommit{r.m.irreversible + n} // one too high, sometimes
	case 6:
		return opSetRevision{r.m.head + uint64(r.rng.IntN(4)) - min(r.m.head, 1)}
	case 7:
		return opPublish{}
	case 8:
		return r.createTable()
	}
	return opChanges{}
}

func (r *run) someStep() step {
	return []step{stepFirst, stepLast, stepSeek, stepSeekLT, stepNext, stepPrev}[pick(r.rng, 1, 1, 3, 3, 8, 8)]
}

// cursor works with one of the writer's cursors.
func (r *run) cursor() op {
	slot := r.rng.IntN(cursorSlots)
	c := r.cursors[slot]
	switch {
	case c == nil:
		return opCursorOpen{slot, r.someTable()}
	case r.rng.IntN(40) == 0:
		return opCursorClose{slot}
	}
	return opCursorMove{slot, r.someStep(), r.someKey(c.table)}
}

// view works with one of the open views.
func (r *run) view() op {
	slot := r.rng.IntN(viewSlots)
	v := r.views[slot]
	switch {
	case v == nil:
		r.tally.views++
		return opViewOpen{slot, r.someTable()}
	case v.table == "" || r.rng.IntN(25) == 0:
		return opViewClose{slot}
	case r.rng.IntN(60) == 0:
		return opViewCompare{slot, r.rng.IntN(2) == 0}
	case r.rng.IntN(3) == 0:
		return opViewGet{slot, v.table, r.someKey(v.table)}
	}
	return opViewMove{slot, r.someStep(), r.someKey(v.table)}
}

// disk makes the state durable, or crashes.
func (r *run) disk() op {
	reopen := 1
	if r.scarce {
		reopen = 0 // may be refused
	}
	fail := 0
	if r.sabotage != nil {
		fail = 3
	}
	switch pick(r.rng, 8, 4, 4, reopen, fail, fail) {
	case 0:
		return opCheckpoint{}
	case 1:
		return opCheckpoint{wait: true}
	case 2:
		return opWait{}
	case 4:
		return opFail{r.rng.Uint64()}
	case 5:
		return opHeal{}
	}
	return opReopen{}
}
