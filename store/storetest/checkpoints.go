package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tarn/store"
)

func checkpointPromises() []promise {
	return []promise{
		{name: "without a checkpoint nothing is durable", check: nothingDurable},
		{name: "a checkpoint makes the image durable", check: makesDurable},
		{name: "an image is of the moment of the call", check: imageOfTheMoment},
		{name: "a reopened store can be undone or is irreversible", check: undoAfterReopen},
		{name: "a checkpoint on a lost fork is harmless", check: lostFork},
		{name: "several wait for one checkpoint", check: severalWait},
		{name: "a checkpoint waits for the one before", check: oneAfterTheOther},
		{name: "a checkpoint of nothing new is one", check: nothingNew},
		{name: "close waits for the checkpoint under way", check: closeWaits},
		{name: "the ledger goes before the image", check: ledgerFirst},
		{name: "a checkpoint that the ledger fails changes nothing", check: ledgerFails},
		{name: "the memory bound takes checkpoints", check: memoryBound,
			kept: func(e Engine) bool { return e.Bounded }},
		{name: "a checkpoint is counted", check: checkpointCounted},
		{name: "many lives", check: manyLives},
	}
}

func nothingDurable(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.checkpoint()
	x.put("a", "1")
	x.revision("b", "2")
	x.commit(1)
	x.publish()
	x.wantDurable(store.Durable{})
	x.reopen()
	x.wantNumbers(0, 0, 0)
	x.wantRows("")
}

func makesDurable(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.put("a", "1")
	x.must(x.SetRevision(7))
	x.checkpoint()
	x.wantDurable(store.Durable{Head: 7, Irreversible: 7})
	x.revision("b", "2")
	x.revision("c", "3")
	x.commit(8)
	want := x.image()
	x.checkpoint()
	x.wantDurable(want)
	x.revision("d", "4")
	x.reopen()
	x.wantDurable(want)
	x.wantNumbers(0, want.Head, want.Irreversible)
	if e.StoresUndo {
		x.wantRows("a=1 b=2 c=3")
		x.undo()
	}
	x.wantRows("a=1 b=2")
	v := x.view()
	if v.Revision() != want.Head {
		t.Fatalf("the view after opening shows revision %d, should be %d", v.Revision(), want.Head)
	}
	x.must(v.Close())
}

// imageOfTheMoment changes everything while the checkpoint is under way.
func imageOfTheMoment(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	rng := source(1, "moment", 0)
	var want []row
	for i := range 3000 {
		want = append(want, row{numberedKey(i), value(rng, 200+i%200)})
		x.put(want[i].key, want[i].value)
	}
	x.revision("z", "undoable")
	x.commit(1)
	want = append(want, row{"z", "undoable"})
	c, err := x.Checkpoint()
	x.must(err)
	n := 0
	for pending := true; pending && n < 200; n++ {
		x.begin()
		x.put(numberedKey(n*37%3000), "changed")
		x.must(second(x.DeleteRange(x.rows, []byte(numberedKey(n*15)), []byte(numberedKey(n*15+10)))))
		x.put(fmt.Sprintf("new%d", n), strings.Repeat("n", 5000))
		x.push()
		x.commit(x.Head())
		x.publish()
		select {
		case <-c.Done():
			pending = false
		default:
		}
	}
	x.must(c.Wait())
	x.wantDurable(store.Durable{Head: 1, Irreversible: 1})
	x.reopen()
	x.wantNumbers(0, 1, 1)
	x.must(compareTable(x, x.rows, want, true))
}

func undoAfterReopen(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(100, "0")
	for i := 1; i <= 6; i++ {
		x.begin()
		for j := range 20 {
			x.put(numberedKey(i*10+j), fmt.Sprint(i))
		}
		x.del(numberedKey(i))
		x.wantID(x.rows, uint64(i-1))
		x.push()
	}
	var states []string
	for range 4 { // at 6, 5, 4, 3
		rows, err := list(x, x.rows)
		x.must(err)
		states = append(states, rows)
		x.undo()
	}
	for i := 3; i <= 6; i++ { // the same again
		x.begin()
		for j := range 20 {
			x.put(numberedKey(i*10+j), fmt.Sprint(i))
		}
		x.del(numberedKey(i))
		x.wantID(x.rows, uint64(i-1))
		x.push()
	}
	x.commit(3)
	x.checkpoint()
	for range 3 { // what was undone by one process is there for the next
		x.reopen()
		if e.StoresUndo {
			x.wantNumbers(0, 6, 3)
			for _, rows := range states[:3] {
				x.wantRows(rows)
				x.undo()
			}
		}
		x.wantNumbers(0, 3, 3)
		x.wantRows(states[3])
		wantError(t, "undo at the irreversible revision", x.Undo(), store.ErrNothingToUndo)
		x.begin()
		x.wantID(x.rows, 3)
		x.push()
	}
}

func lostFork(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.revision("a", "1")
	x.commit(1)
	x.revision("a", "fork")
	x.revision("b", "fork")
	x.checkpoint()
	x.undo()
	x.undo()
	x.revision("a", "main")
	x.reopen()
	x.must(x.UndoAll())
	x.wantRows("a=1")
	x.wantNumbers(0, 1, 1)
	x.revision("a", "main")
	x.commit(2)
	x.checkpoint()
	x.reopen()
	x.wantRows("a=main")
	x.wantNumbers(0, 2, 2)
}

func severalWait(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.fill(500, strings.Repeat("v", 500))
	c, err := x.Checkpoint()
	x.must(err)
	const n = 8
	errs := make(chan error, n)
	for range n {
		go func() {
			<-c.Done()
			errs <- c.Wait()
		}()
	}
	for range n {
		x.must(<-errs)
	}
	x.must(c.Wait()) // again, later
}

func oneAfterTheOther(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	var all []store.Checkpoint
	for i := range 20 {
		x.begin()
		for j := range 50 {
			x.put(numberedKey(j), strings.Repeat(fmt.Sprint(i), 100))
		}
		x.push()
		x.commit(x.Head())
		c, err := x.Checkpoint()
		x.must(err)
		for _, before := range all {
			select {
			case <-before.Done():
			default:
				t.Fatal("two checkpoints are under way")
			}
		}
		all = append(all, c)
	}
	for _, c := range all {
		x.must(c.Wait())
	}
	x.wantDurable(store.Durable{Head: 20, Irreversible: 20})
	if n := x.Stats().Checkpoints; n != 20 {
		t.Fatalf("%d checkpoints are counted, should be 20", n)
	}
}

func nothingNew(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	for range 5 {
		x.checkpoint()
		x.wantDurable(store.Durable{})
	}
	x.revision("a", "1")
	x.commit(1)
	for range 5 {
		x.checkpoint()
		x.wantDurable(store.Durable{Head: 1, Irreversible: 1})
	}
	x.must(x.SetRevision(5))
	x.checkpoint()
	x.reopen()
	x.wantNumbers(0, 5, 5)
	x.wantRows("a=1")
}

func closeWaits(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	x.begin()
	x.fill(2000, strings.Repeat("v", 700))
	x.push()
	x.commit(1)
	c, err := x.Checkpoint()
	x.must(err)
	x.close()
	select {
	case <-c.Done():
		x.must(c.Wait())
	default:
		t.Fatal("closed with a checkpoint under way")
	}
	x.reopen()
	x.wantNumbers(0, 1, 1)
	wantValue(t, x, x.rows, numberedKey(1999), strings.Repeat("v", 700))
}

// ledgerFirst: when the ledger is asked, the image must not be the durable one
// yet, and it must be asked for every image.
func ledgerFirst(t *testing.T, e Engine) {
	var x *subject
	var asked []uint64
	early := true
	x = open(t, e, Knobs{BeforeCheckpoint: func(revision uint64) error {
		time.Sleep(2 * time.Millisecond)
		early = early && x.Store.Durable().Head < revision
		asked = append(asked, revision)
		return nil
	}})
	for i := uint64(1); i <= 5; i++ {
		x.revision("a", fmt.Sprint(i))
		x.commit(i)
		asked = nil
		x.checkpoint()
		if len(asked) == 0 || asked[len(asked)-1] != i {
			t.Fatalf("checkpoint of revision %d asked for %v", i, asked)
		}
	}
	if !early {
		t.Fatal("an image was durable before the ledger was asked")
	}
}

func ledgerFails(t *testing.T, e Engine) {
	refusal := errors.New("the ledger's disk is broken")
	var refuse error
	x := open(t, e, Knobs{BeforeCheckpoint: func(uint64) error { return refuse }})
	x.fill(100, "1")
	x.checkpoint()
	x.revision("a", "2")
	x.commit(1)
	refuse = refusal
	for range 3 {
		c, err := x.Checkpoint()
		x.must(err)
		wantError(t, "checkpoint", c.Wait(), refusal)
		x.wantDurable(store.Durable{})
	}
	if s := x.Stats(); s.CheckpointsFailed != 3 || s.Checkpoints != 1 {
		t.Fatalf("%d checkpoints failed, %d finished are counted; should be 3, 1", s.CheckpointsFailed, s.Checkpoints)
	}
	x.revision("b", "3")
	wantValue(t, x, x.rows, "a", "2")
	x.reopen() // at the image before
	x.wantNumbers(0, 0, 0)
	wantError(t, "get of what is not durable", second(x.Get(x.rows, []byte("a"))), store.ErrNotFound)
	x.revision("a", "2")
	x.commit(1)
	c, err := x.Checkpoint()
	x.must(err)
	wantError(t, "checkpoint", c.Wait(), refusal)
	x.revision("b", "3")
	x.commit(2)
	refuse = nil
	x.checkpoint()
	x.wantDurable(store.Durable{Head: 2, Irreversible: 2})
	x.reopen()
	wantValue(t, x, x.rows, "a", "2")
	wantValue(t, x, x.rows, "b", "3")
	wantValue(t, x, x.rows, numberedKey(99), "1")
}

// memoryBound writes far more than the bound without asking for a checkpoint.
func memoryBound(t *testing.T, e Engine) {
	const bound = 4 << 20
	x := open(t, e, Knobs{MemoryBytes: bound})
	n := 0
	for written := 0; written < 12*bound/slowness; {
		x.begin()
		for range 20 {
			x.put(numberedKey(n*7919%20_000), strings.Repeat("v", 2000))
			written += 2000
			n++
		}
		x.push()
		x.commit(x.Head())
	}
	patience := time.Now().Add(2 * time.Minute)
	for x.Stats().Checkpoints < 2 && time.Now().Before(patience) {
		time.Sleep(time.Millisecond)
	}
	d := x.Durable()
	if s := x.Stats(); s.Checkpoints < 2 || d.Head == 0 {
		t.Fatalf("%d checkpoints, durable is %+v, after many times the bound", s.Checkpoints, d)
	}
	x.reopen()
	if x.Head() < d.Head {
		t.Fatalf("opened at revision %d, durable was %d", x.Head(), d.Head)
	}
}

func checkpointCounted(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	before := x.Stats()
	begun := time.Now().Add(-time.Second)
	x.begin()
	x.fill(1000, strings.Repeat("v", 100))
	x.push()
	x.commit(1)
	x.checkpoint()
	s := x.Stats()
	last := s.LastCheckpoint
	switch {
	case s.Engine == "":
		t.Fatal("the engine has no name")
	case s.Checkpoints != before.Checkpoints+1 || s.CheckpointsFailed != 0:
		t.Fatalf("%d checkpoints, %d failed", s.Checkpoints, s.CheckpointsFailed)
	case last.Image != x.Durable() || last.At.Before(begun) || last.At.After(time.Now().Add(time.Second)) ||
		last.Duration <= 0:
		t.Fatalf("the last checkpoint was %+v", last)
	case s.Written.Total() < before.Written.Total():
		t.Fatalf("bytes written went down from %d to %d", before.Written.Total(), s.Written.Total())
	}
}

func manyLives(t *testing.T, e Engine) {
	x := open(t, e, Knobs{})
	var want []row
	for life := range 20 {
		for i := range 30 {
			n := life*30 + i
			want = append(want, row{numberedKey(n), strings.Repeat("v", n%700)})
			x.put(want[n].key, want[n].value)
		}
		x.must(x.SetRevision(uint64(life + 1)))
		x.checkpoint()
		x.put("lost", "1")
		x.reopen()
		x.wantNumbers(0, uint64(life+1), uint64(life+1))
		x.must(compareTable(x, x.rows, want, false))
	}
}
