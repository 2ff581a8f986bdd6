package state

// notes are what happened to the rows of one table since the block began, in order, as
// far as it was not undone: who tells indexers of it needs the order in which rows were
// touched, made and removed, which neither the rows nor the store's journal keep.
//
// A row's value before the block is kept once, with the row's first note. A nil *notes
// keeps nothing.
type notes[K comparable, V any] struct {
	list  []note[K, V]
	first map[K]int // where each row's first note is
	marks []int     // where each open session starts in list
}

// note says that a row was changed (it was there before and after), made or removed.
type note[K comparable, V any] struct {
	key           K
	before, after bool
	was           V // of a row's first note, if it was there
}

func newNotes[K comparable, V any]() *notes[K, V] {
	return &notes[K, V]{first: make(map[K]int)}
}

// unseen tells whether the next note of a row is its first, which needs its value.
func (n *notes[K, V]) unseen(k K) bool {
	if n == nil {
		return false
	}
	_, seen := n.first[k]
	return !seen
}

// noteChange notes that a row, which was was if nothing has been noted of it, is changed.
// The rows' order is that of their first notes, so later ones say nothing new.
func (n *notes[K, V]) noteChange(k K, was V) {
	if n.unseen(k) {
		n.add(note[K, V]{k, true, true, was})
	}
}

func (n *notes[K, V]) noteCreation(k K) {
	if n != nil {
		n.add(note[K, V]{key: k, after: true})
	}
}

// noteRemoval notes that a row, which was was if nothing has been noted of it, is gone.
func (n *notes[K, V]) noteRemoval(k K, was V) {
	if n == nil {
		return
	}
	if !n.unseen(k) {
		var none V
		was = none
	}
	n.add(note[K, V]{key: k, before: true, was: was})
}

// add keeps a note. What is changed outside sessions (genesis, a snapshot) is no block's.
func (n *notes[K, V]) add(x note[K, V]) {
	if len(n.marks) == 0 {
		return
	}
	if n.unseen(x.key) {
		n.first[x.key] = len(n.list)
	}
	n.list = append(n.list, x)
}

func (n *notes[K, V]) begin() { n.marks = append(n.marks, len(n.list)) }

// squash ends the innermost session. The last one's notes go: the block is finished.
func (n *notes[K, V]) squash() {
	n.marks = n.marks[:len(n.marks)-1]
	if len(n.marks) == 0 {
		n.forget()
	}
}

func (n *notes[K, V]) undo() {
	mark := n.marks[len(n.marks)-1]
	n.marks = n.marks[:len(n.marks)-1]
	for i := mark; i < len(n.list); i++ {
		if k := n.list[i].key; n.first[k] == i {
			delete(n.first, k)
		}
	}
	clear(n.list[mark:])
	n.list = n.list[:mark]
}

// keptNotes is how large a list may be that is used again for the next block.
const keptNotes = 1 << 16

func (n *notes[K, V]) forget() {
	if cap(n.list) > keptNotes {
		n.list, n.first = nil, make(map[K]int)
	}
	clear(n.list)
	clear(n.first)
	n.list, n.marks = n.list[:0], n.marks[:0]
}

// Change is what a block did to one row.
type Change[K comparable, V any] struct {
	Key K
	Old *V // before the block; nil if the row is new
	New *V // nil if the row is gone
}

// changes returns what the notes come to, in nodeos' order (chainbase: undo_index): the
// rows that were there and are, newest first by when they were touched first; those that
// are gone, newest removal first; those that are new, in the order in which they were
// made. What was made and removed again is not among them; what was removed and made
// again is there twice, gone and new. now returns a row as it is.
func (n *notes[K, V]) changes(now func(K) (V, error)) ([]Change[K, V], error) {
	if n == nil {
		return nil, nil
	}
	type fate struct {
		gone bool // the row from before the block
		made int  // note that made the row that is there now, -1 if none did
	}
	fates := make(map[K]*fate, len(n.first))
	var touched, gone []K
	for i := range n.list {
		x := &n.list[i]
		f := fates[x.key]
		if f == nil {
			f = &fate{made: -1}
			fates[x.key] = f
		}
		switch {
		case x.before && x.after:
			touched = append(touched, x.key)
		case x.after:
			f.made = i
		case f.made >= 0:
			f.made = -1
		default:
			f.gone = true
			gone = append(gone, x.key)
		}
	}
	var list []Change[K, V]
	add := func(k K, old *V, there bool) error {
		c := Change[K, V]{Key: k, Old: old}
		if there {
			v, err := now(k)
			if err != nil {
				return err
			}
			c.New = &v
		}
		list = append(list, c)
		return nil
	}
	old := func(k K) *V { v := n.list[n.first[k]].was; return &v }
	for i := len(touched) - 1; i >= 0; i-- {
		if k := touched[i]; !fates[k].gone {
			if err := add(k, old(k), true); err != nil {
				return nil, err
			}
		}
	}
	for i := len(gone) - 1; i >= 0; i-- {
		if err := add(gone[i], old(gone[i]), false); err != nil {
			return nil, err
		}
	}
	for i := range n.list {
		if x := &n.list[i]; !x.before && fates[x.key].made == i {
			if err := add(x.key, nil, true); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}
