package state

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// object is a row as chainbase has it: with an id, and with when it was touched.
type object struct{ key, value, id int }

// undoIndex is what a table remembers of its open sessions, as its rules are told: the
// old value of a row at its first touch in a session, in front; removed rows, in front;
// rows with an id from the session's start on are new.
type undoIndex struct {
	rows     map[int]object
	next     int
	sessions []undoState
}

type undoState struct {
	next         int
	old, removed []object // the newest first
	before       map[int]object
}

func (u *undoIndex) begin() {
	before := make(map[int]object, len(u.rows))
	for k, v := range u.rows {
		before[k] = v
	}
	u.sessions = append(u.sessions, undoState{next: u.next, before: before})
}

func (u *undoIndex) top() *undoState { return &u.sessions[len(u.sessions)-1] }

func (u *undoIndex) modify(k, v int) {
	o, s := u.rows[k], u.top()
	if o.id < s.next && !slices.ContainsFunc(s.old, func(x object) bool { return x.id == o.id }) {
		s.old = slices.Insert(s.old, 0, o)
	}
	o.value = v
	u.rows[k] = o
}

func (u *undoIndex) create(k, v int) {
	u.rows[k] = object{k, v, u.next}
	u.next++
}

func (u *undoIndex) remove(k int) {
	o, s := u.rows[k], u.top()
	delete(u.rows, k)
	if o.id < s.next {
		s.removed = slices.Insert(s.removed, 0, o)
	}
}

func (u *undoIndex) undo() {
	u.rows, u.next = u.top().before, u.top().next
	u.sessions = u.sessions[:len(u.sessions)-1]
}

func (u *undoIndex) squash() {
	s := *u.top()
	u.sessions = u.sessions[:len(u.sessions)-1]
	p := u.top()
	for _, o := range slices.Backward(s.old) {
		if o.id < p.next && !slices.ContainsFunc(p.old, func(x object) bool { return x.id == o.id }) {
			p.old = slices.Insert(p.old, 0, o)
		}
	}
	for _, o := range slices.Backward(s.removed) {
		if o.id < p.next {
			p.removed = slices.Insert(p.removed, 0, o)
		}
	}
}

// delta is what nodeos shows of the one open session.
func (u *undoIndex) delta() (list []string) {
	s := u.top()
	for _, o := range s.old {
		if now, ok := u.rows[o.key]; ok && now.id == o.id {
			list = append(list, fmt.Sprint("changed ", o.key, s.before[o.key].value, now.value))
		}
	}
	for _, o := range s.removed {
		list = append(list, fmt.Sprint("gone ", o.key, s.before[o.key].value))
	}
	var made []object
	for _, o := range u.rows {
		if o.id >= s.next {
			made = append(made, o)
		}
	}
	slices.SortFunc(made, func(a, b object) int { return a.id - b.id })
	for _, o := range made {
		list = append(list, fmt.Sprint("made ", o.key, o.value))
	}
	return list
}

// Random blocks of sessions, kept and undone, come to the same rows in the same order.
func TestNotesComeToWhatChainbaseRemembers(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	want := &undoIndex{rows: make(map[int]object)}
	got := newNotes[int, int]()
	for block := range 3000 {
		want.begin()
		got.begin()
		for range rng.IntN(40) {
			randomStep(rng, want, got)
		}
		for len(want.sessions) > 1 {
			want.squash()
			got.squash()
		}
		changes, err := got.changes(func(k int) (int, error) { return want.rows[k].value, nil })
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, c := range changes {
			switch {
			case c.Old != nil && c.New != nil:
				list = append(list, fmt.Sprint("changed ", c.Key, *c.Old, *c.New))
			case c.Old != nil:
				list = append(list, fmt.Sprint("gone ", c.Key, *c.Old))
			default:
				list = append(list, fmt.Sprint("made ", c.Key, *c.New))
			}
		}
		if w := want.delta(); !slices.Equal(list, w) {
			t.Fatalf("seed %d, block %d:\n got %q\nwant %q", seed, block, list, w)
		}
		want.sessions = nil
		got.squash()
		if len(got.list)+len(got.first)+len(got.marks) > 0 {
			t.Fatalf("seed %d, block %d: notes outlive it", seed, block)
		}
	}
}

func randomStep(rng *rand.Rand, want *undoIndex, got *notes[int, int]) {
	k, v := rng.IntN(8), rng.Int()
	o, there := want.rows[k]
	switch n := rng.IntN(10); {
	case n == 0:
		want.begin()
		got.begin()
	case n < 3 && len(want.sessions) > 1:
		if n == 1 {
			want.undo()
			got.undo()
		} else {
			want.squash()
			got.squash()
		}
	case !there:
		got.noteCreation(k)
		want.create(k, v)
	case n < 5:
		got.noteRemoval(k, o.value)
		want.remove(k)
	default:
		got.noteChange(k, o.value)
		want.modify(k, v)
	}
}
