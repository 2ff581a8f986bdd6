package storetest

import (
	"fmt"
	"strings"
	"testing"

	"tarn/store"
)

func sessionPromises() []promise {
	return []promise{
		{name: "sessions nest and are taken back", check: sessionsNest},
		{name: "squash keeps, undo of the outer takes all", check: squashKeeps},
		{name: "undo brings back exactly what was", check: undoIsExact},
		{name: "revisions are undone one by one", check: revisionsUndone},
		{name: "undoall goes to the irreversible revision", check: undoAll},
		{name: "calls out of order are refused", check: outOfOrder},
		{name: "changes outside sessions need nothing undoable", check: changesOutside},
		{name: "commit makes irreversible", check: commits},
		{name: "revisions are named upwards only", check: revisionsNamed},
		{name: "a thousand revisions are undone", check: longUndo},
		{name: "what the head changed is told", check: changesTold},
	}
}

func sessionsNest(t *testing.T, e Engine) {
	const depth = 12
	x := open(t, e, Knobs{})
	x.put("a", "0")
	want := []string{"a=0"}
	recorded := []int{x.Recorded()}
	for i := 1; i <= depth; i++ {
		x.begin()
		x.wantNumbers(i, 0, 0)
		x.put("a", fmt.Sprint(i))
		x.put(fmt.Sprintf("b%02d", i), "")
		if recorded = append(recorded, x.Recorded()); recorded[i] <= recorded[i-1] {
			t.Fatalf("two changes made %d bytes for undoing %d", recorded[i-1], recorded[i])
		}
		rows, err := list(x, x.rows)
		x.must(err)
		want = append(want, rows)
	}
	for i := depth; i >= 1; i-- {
		x.wantRows(want[i])
		x.undo()
		x.wantNumbers(i-1, 0, 0)
		x.wantRows(want[i-1])
		if x.Recorded() != recorded[i-1] {
			t.Fatalf("%d bytes are recorded at depth %d, %d were before", x.Recorded(), i-1, recorded[i-1])
		}
	}
}

func squashKeeps(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "0")
	x.begin() // block
	x.put("a", "1")
	x.begin() // transaction
	x.put("a", "2")
	x.begin() // action
	x.put("b", "3")
	x.must(x.Squash())
	x.wantNumbers(2, 0, 0)
	x.begin() // action that fails
	x.del("a")
	x.del("b")
	x.undo()
	x.wantRows("a=2 b=3")
	x.must(x.Squash())
	x.wantNumbers(1, 0, 0)
	x.begin() // transaction that fails, with actions that did not
	x.begin()
	x.put("c", "4")
	x.must(x.Squash())
	x.del("b")
	x.undo()
	x.wantRows("a=2 b=3")
	x.push()
	x.wantNumbers(0, 1, 0)
	x.wantRows("a=2 b=3")
	x.undo()
	x.wantNumbers(0, 0, 0)
	x.wantRows("a=0")
}

func undoIsExact(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	rng := source(1, "undo", 0)
	var want []row
	for i, size := range []int{0, 1, 100, 4000, 4096, 9000, 1 << 20, 0, 50} {
		want = append(want, row{fmt.Sprintf("k%d", i), value(rng, size)})
		x.put(want[i].key, want[i].value)
	}
	changes := map[string]func(){
		"overwrite small": func() {
			for _, r := range want {
				x.put(r.key, "s")
			}
		},
		"overwrite large": func() {
			for _, r := range want {
				x.put(r.key, strings.Repeat("L", 20_000))
			}
		},
		"delete":       func() { x.must(second(x.DeleteRange(x.rows, nil, nil))) },
		"insert":       func() { x.fill(300, "new") },
		"put, delete":  func() { x.put("new", "1"); x.del("new") },
		"delete, put":  func() { x.del("k3"); x.put("k3", "1") },
		"swap":         func() { x.put("k0", want[6].value); x.put("k6", "") },
		"put the same": func() { x.put("k5", want[5].value) },
	}
	for name, change := range changes {
		for _, pushed := range []bool{false, true} {
			x.begin()
			x.begin()
			change()
			x.must(x.Squash())
			if pushed {
				x.push()
			}
			x.undo()
			if err := compareTable(x, x.rows, want, true); err != nil {
				t.Fatalf("%s, pushed %v: %v", name, pushed, err)
			}
		}
	}
}

func revisionsUndone(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "0")
	for i := 1; i <= 5; i++ {
		x.revision("a", fmt.Sprint(i))
	}
	for i := 5; i > 2; i-- {
		x.wantRows(fmt.Sprintf("a=%d", i))
		x.wantNumbers(0, uint64(i), 0)
		x.undo()
	}
	x.revision("a", "another third")
	x.wantNumbers(0, 3, 0)
	x.undo()
	x.wantRows("a=2")
	x.undo()
	x.undo()
	x.wantRows("a=0")
	wantError(t, "undo at the irreversible revision", x.Undo(), store.ErrNothingToUndo)
	x.wantNumbers(0, 0, 0)
}

func undoAll(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.must(x.UndoAll())
	for i := 1; i <= 4; i++ {
		x.revision("a", fmt.Sprint(i))
	}
	x.commit(2)
	x.begin()
	x.put("a", "5")
	x.begin()
	x.put("b", "6")
	x.must(x.UndoAll())
	x.wantNumbers(0, 2, 2)
	x.wantRows("a=2")
	x.must(x.UndoAll())
	x.wantNumbers(0, 2, 2)
}

func outOfOrder(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	wantError(t, "push without a session", x.Push(), store.ErrNoSession)
	wantError(t, "squash without a session", x.Squash(), store.ErrNoSession)
	wantError(t, "undo with nothing done", x.Undo(), store.ErrNothingToUndo)
	wantError(t, "commit beyond the head", x.Commit(1), store.ErrRevision)
	x.begin()
	x.put("a", "1")
	wantError(t, "squash of the outermost", x.Squash(), store.ErrNoSession)
	wantError(t, "checkpoint in a session", second(x.Checkpoint()), store.ErrSessionOpen)
	wantError(t, "setrevision in a session", x.SetRevision(9), store.ErrSessionOpen)
	wantError(t, "commit of the session's revision", x.Commit(1), store.ErrRevision)
	x.begin()
	wantError(t, "push with two sessions", x.Push(), store.ErrSessionOpen)
	x.wantNumbers(2, 0, 0)
	x.must(x.Squash())
	x.push()
	x.wantNumbers(0, 1, 0)
	wantError(t, "push twice", x.Push(), store.ErrNoSession)
	wantError(t, "setrevision with an undoable revision", x.SetRevision(9), store.ErrRevision)
	wantError(t, "commit beyond the head", x.Commit(2), store.ErrRevision)
	x.wantRows("a=1")
	x.wantNumbers(0, 1, 0)
}

func changesOutside(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.wantID(x.rows, 0)
	x.revision("b", "2")
	wantError(t, "put", x.Put(x.rows, []byte("c"), nil), store.ErrNoSession)
	wantError(t, "delete", x.Delete(x.rows, []byte("a")), store.ErrNoSession)
	wantError(t, "deleterange", second(x.DeleteRange(x.rows, nil, nil)), store.ErrNoSession)
	wantError(t, "nextid", second(x.NextID(x.rows)), store.ErrNoSession)
	x.wantRows("a=1 b=2")
	x.commit(1)
	x.put("c", "3")
	x.wantID(x.rows, 1)
	x.begin()
	x.put("d", "4")
	x.undo()
	x.del("a")
	x.wantRows("b=2 c=3")
	wantError(t, "undo of changes outside sessions", x.Undo(), store.ErrNothingToUndo)
}

func commits(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	for i := 1; i <= 6; i++ {
		x.revision("a", fmt.Sprint(i))
	}
	x.commit(2)
	x.wantNumbers(0, 6, 2)
	x.commit(1) // irreversible already: ignored
	x.commit(2)
	x.commit(0)
	x.wantNumbers(0, 6, 2)
	x.begin()
	x.put("a", "7")
	x.commit(4) // beside an open session
	x.wantNumbers(1, 6, 4)
	x.undo()
	x.undo()
	x.undo()
	x.wantRows("a=4")
	wantError(t, "undo of an irreversible revision", x.Undo(), store.ErrNothingToUndo)
	x.revision("a", "8")
	x.commit(5)
	x.wantNumbers(0, 5, 5)
	x.wantRows("a=8")
}

func revisionsNamed(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.must(x.SetRevision(1 << 40))
	x.wantNumbers(0, 1<<40, 1<<40)
	wantError(t, "setrevision downwards", x.SetRevision(1<<40-1), store.ErrRevision)
	x.must(x.SetRevision(1 << 40))
	x.revision("a", "2")
	x.wantNumbers(0, 1<<40+1, 1<<40)
	x.publish()
	v := x.view()
	if v.Revision() != 1<<40+1 {
		t.Fatalf("view's revision is %d", v.Revision())
	}
	x.must(v.Close())
	x.commit(1<<40 + 1)
	x.checkpoint()
	x.wantDurable(store.Durable{Head: 1<<40 + 1, Irreversible: 1<<40 + 1})
	x.reopen()
	x.wantNumbers(0, 1<<40+1, 1<<40+1)
	x.wantRows("a=2")
}

// longUndo undoes far more than a ledger's irreversibility ever lags behind.
func longUndo(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(200, "old")
	const n = 1000
	for i := range n {
		x.begin()
		for j := range 10 {
			x.put(numberedKey((i*13+j*7)%250), fmt.Sprint(i))
		}
		x.push()
	}
	x.wantNumbers(0, n, 0)
	x.must(x.UndoAll())
	x.wantNumbers(0, 0, 0)
	var want []row
	for i := range 200 {
		want = append(want, row{numberedKey(i), "old"})
	}
	x.must(compareTable(x, x.rows, want, true))
}
