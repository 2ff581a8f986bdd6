package network

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/types"
)

// springVariable names a nodeos of Spring 1.2.
const springVariable = "TARN_SPRING_NODEOS"

// spring is ours and a nodeos of Spring, or the test is skipped.
func spring(t *testing.T) (tarn, spring difftest.Executable) {
	t.Helper()
	path := os.Getenv(springVariable)
	if path == "" {
		t.Skip(springVariable + " names no nodeos of Spring")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ours := difftest.Executable{Name: "tarn", Path: self, Env: append(os.Environ(), tarnVariable+"=1")}
	return ours, difftest.Executable{Name: "spring", Path: path}
}

// newQuorum starts nodes with a chain that has all features; what they wrote is said if the test fails.
func newQuorum(t *testing.T, places ...Place) *Quorum {
	t.Helper()
	q, err := NewQuorum(t.Context(), places, t.ArtifactDir(), lines{t})
	t.Cleanup(q.Close)
	if err == nil {
		err = q.Found(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// change lets the members go over to Savanna's rules, with all that have a finalizer, of whom all but
// one must vote if there are four or more.
func change(t *testing.T, q *Quorum) {
	t.Helper()
	var list []types.Finalizer
	for _, m := range q.Members() {
		list = append(list, m.Finalizers()...)
	}
	if err := q.Finalizers(t.Context(), len(list)*2/3+1, list...); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Changed(t.Context(), 3*time.Minute); err != nil {
		t.Fatal(err)
	}
}

// agree holds all members' answers about the chain from a block on against each other, and tells the head.
func agree(t *testing.T, q *Quorum, from uint32) (head uint32) {
	t.Helper()
	err := q.Still(t.Context(), func(s state) error {
		found, count, err := q.Compare(t.Context(), from, s.num())
		if err != nil {
			return err
		}
		for i, d := range found {
			if i == 8 {
				t.Errorf("and %d more", len(found)-i)
				break
			}
			t.Error(d)
		}
		head = s.num()
		t.Logf("%d answers are the same at block %d, hash %s", count-len(found), s.num(), s.hash)
		return nil
	})
	must(t, err)
	return head
}

// A chain of one program is followed by the other from its genesis on, through the change to Savanna's
// rules: the same blocks, states and answers.
func TestOneFollowsTheOtherThroughTheChange(t *testing.T) {
	ours, theirs := spring(t)
	for _, list := range [][]difftest.Executable{{theirs, ours}, {ours, theirs}} {
		t.Run(fmt.Sprintf("%s follows %s", list[1].Name, list[0].Name), func(t *testing.T) {
			q := newQuorum(t, Place{Program: list[0], Finalizes: 1, Records: true},
				Place{Program: list[1], Records: true})
			change(t, q)
			if err := q.blocks(t.Context(), 8); err != nil {
				t.Fatal(err)
			}
			agree(t, q, 1)
			i, err := q.Members()[0].Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sameHistories(t, q, 2, i.HeadNum)
		})
	}
}

// traffic makes transactions at a random member until the test ends, and counts those that are taken.
func traffic(t *testing.T, q *Quorum) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	taken, done := 0, make(chan struct{})
	members := slices.Clone(q.Members())
	go func() {
		defer close(done)
		for i := 0; sleep(ctx, 150*time.Millisecond); i++ {
			name := fmt.Sprintf("acc%c%c%c%c", 'a'+i/17576%26, 'a'+i/676%26, 'a'+i/26%26, 'a'+i%26)
			if q.Push(ctx, members[i%len(members)], q.NewAccount(types.N(name))) == nil {
				taken++
			}
		}
	}()
	return func() int { cancel(); <-done; return taken }
}

// finalise waits until what is the head of the first member now is irreversible everywhere.
func finalise(t *testing.T, q *Quorum) {
	t.Helper()
	i, err := q.Members()[0].Info(t.Context())
	if err == nil {
		err = q.Final(t.Context(), i.HeadNum+1, time.Minute)
	}
	if err != nil {
		for _, m := range q.Members() {
			i, why := m.Info(t.Context())
			t.Logf("%s: head %d, irreversible %d, %v; its log ends:\n%s", m.Name, i.HeadNum, i.Irreversible,
				why, m.LogEnd())
		}
		t.Fatal(err)
	}
}

// must fails the test of an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// interrupt ends a member: ours is killed, and the other is stopped, because it does not start again by
// itself after a kill.
func interrupt(t *testing.T, m *Member) {
	t.Helper()
	t.Log(m.Name, "is ended")
	if m.Program.Name == "tarn" {
		m.Kill()
		return
	}
	must(t, m.Stop())
}

// Nodes of both programs make blocks in turn, and no block becomes irreversible without the votes of
// both: under schedules and policies that change, while nodes are away, and after they come back.
func TestBothProduceAndFinalise(t *testing.T) {
	ours, theirs := spring(t)
	all := Place{Program: theirs, Produces: true, Finalizes: 1, Records: true}
	q := newQuorum(t, all, Place{Program: ours, Produces: true, Finalizes: 1, Records: true}, all)
	a, b, c := q.Members()[0], q.Members()[1], q.Members()[2]
	must(t, q.Schedule(t.Context(), a, b, c))
	must(t, q.blocks(t.Context(), 30))
	halt := traffic(t, q)
	change(t, q)
	finalise(t, q)
	agree(t, q, 1)
	t.Log("fewer finalizers, another schedule")
	must(t, q.Finalizers(t.Context(), 2, b.Finalizers()[0], a.Finalizers()[0]))
	finalise(t, q)
	must(t, q.Schedule(t.Context(), b, a))
	must(t, q.blocks(t.Context(), 40))
	finalise(t, q)
	agree(t, q, 1)
	t.Log("all of them again")
	must(t, q.Finalizers(t.Context(), 3, c.Finalizers()[0], b.Finalizers()[0], a.Finalizers()[0]))
	must(t, q.Schedule(t.Context(), a, b, c))
	must(t, q.blocks(t.Context(), 40))
	finalise(t, q)
	for _, m := range []*Member{b, c} {
		interrupt(t, m)
		must(t, q.blocks(t.Context(), 8))
		must(t, q.Again(t.Context(), m))
		finalise(t, q)
	}
	t.Log(halt(), "transactions were taken")
	agree(t, q, 1)
	i, err := a.Info(t.Context())
	must(t, err)
	sameHistories(t, q, 2, i.Irreversible)
}

// What one program wrote, the other goes on with: snapshots of both are the same to the byte, and each
// begins with the other's.
func TestSnapshotsAndFoldersPassBetweenThem(t *testing.T) {
	ours, theirs := spring(t)
	dir := t.TempDir()
	q := newQuorum(t, Place{Program: theirs, Produces: true, Finalizes: 1}, Place{Program: ours, Finalizes: 1})
	halt := traffic(t, q)
	change(t, q)
	finalise(t, q)
	var files []string
	for _, m := range q.Members() {
		_, path, err := m.Snapshot(t.Context())
		must(t, err)
		files = append(files, path)
	}
	for i, program := range []difftest.Executable{theirs, ours} { // each from the other's
		m, err := q.Join(Place{Program: program}, dir)
		must(t, err)
		must(t, q.Again(t.Context(), m, "--snapshot", files[1-i]))
	}
	finalise(t, q)
	t.Log(halt(), "transactions were taken")
	must(t, q.Still(t.Context(), func(s state) error {
		t.Logf("after snapshots the same at block %d, hash %s", s.num(), s.hash)
		return nil
	}))
	sameSnapshots(t, q)
	takenOver(t, q, q.Members()[0], ours)
	wentBack(t, q, q.Members()[1], theirs)
}

// sameSnapshots has all members make a snapshot of the same block.
func sameSnapshots(t *testing.T, q *Quorum) {
	t.Helper()
	i, err := q.Members()[0].Info(t.Context())
	must(t, err)
	num := i.HeadNum + 6
	for _, m := range q.Members() {
		must(t, m.Call(t.Context(),
			"/v1/producer/schedule_snapshot", map[string]any{"start_block_num": num, "end_block_num": num}, nil))
	}
	must(t, q.Final(t.Context(), num+4, time.Minute))
	var first []byte
	for _, m := range q.Members() {
		text, err := os.ReadFile(snapshotAt(t, m, num))
		must(t, err)
		if first == nil {
			first = text
		}
		if !bytes.Equal(text, first) {
			t.Errorf("the snapshot of %s at block %d is another one", m.Name, num)
		}
	}
	t.Logf("snapshots of block %d are the same %d bytes", num, len(first))
}

// takenOver ends a member, and has the other program go on in its folder: at the same head, with the same
// state, and with its finalizer, whose vote is needed.
func takenOver(t *testing.T, q *Quorum, m *Member, program difftest.Executable) {
	t.Helper()
	var was state
	must(t, q.still(t.Context(), func(s state) error {
		was = s
		return m.Stop()
	}))
	m.Program = program
	must(t, q.Again(t.Context(), m, "--pause-on-startup"))
	is, err := stateOf(t.Context(), m.Node)
	must(t, err)
	if is != was {
		t.Errorf("%s goes on in the folder of %s with %+v, and not with %+v", program.Name, m.Name, is, was)
	}
	for _, m := range q.Members() {
		must(t, m.Resume(t.Context()))
	}
	finalise(t, q)
	agree(t, q, 1)
}

// wentBack ends a member, and has the other program make its state of the blocks that are in its folder, and
// go on with its finalizer: the folder has what that must not forget.
func wentBack(t *testing.T, q *Quorum, m *Member, program difftest.Executable) {
	t.Helper()
	must(t, m.Stop())
	must(t, os.RemoveAll(filepath.Join(m.Dir, "state"))) // which only its own program can read
	m.Program = program
	must(t, q.Again(t.Context(), m))
	finalise(t, q)
	agree(t, q, 1)
}
