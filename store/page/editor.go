package page

import (
	"bytes"
	"fmt"

	"tarn/store"
)

// editor is the writer's hand on the trees: it makes the nodes of a way its own and changes
// them. The caller has reserved the pages, and keeps the roots.
type editor struct {
	pages
	failed error // the writer's state is in doubt; only what is durable counts

	// Scratch.
	way           path
	known         known
	spare, spare2 *node
	separator     []byte
	scratch       [runRefSize]byte
	aliased       []byte

	// Where the last row was inserted.
	lastPage  uint32
	lastSlot  int
	ascending int
	tip       tip
}

// find is get for the writer, who may be about to change the row.
func (ed *editor) find(t *tree, table store.Table, key []byte) ([]byte, error) {
	p, err := ed.lead(t, table, key)
	if err != nil {
		return nil, err
	}
	if !p.found {
		return nil, store.ErrNotFound
	}
	return ed.valueAt(p.leaf())
}

// known is the key that the writer's way leads to, and what must be known to take that
// way again without a search: a row is often put right after it was got, or after one of
// the same leaf.
type known struct {
	table store.Table // 0: nothing is known
	key   []byte
}

// lead makes e.way lead to where key is or would be. Whoever changes the tree but for a
// value in its place, or takes another way, has to forget what is known.
func (ed *editor) lead(t *tree, table store.Table, key []byte) (*path, error) {
	p, k := &ed.way, &ed.known
	if k.table == table && ed.holds(p) {
		if bytes.Equal(k.key, key) {
			return p, nil
		}
		if p.within(key) {
			n, _ := p.leaf()
			p.slots[p.depth-1], p.found = n.search(key, 0)
			k.key = append(k.key[:0], key...)
			return p, nil
		}
	}
	k.table = 0
	if err := ed.descend(p, t, table, key); err != nil {
		return nil, err
	}
	k.table, k.key = table, append(k.key[:0], key...)
	return p, nil
}

// own makes the nodes of p ones that may be changed in place: those that a
// checkpoint or a view can reach are copied. A node of the present generation
// has only such nodes above it, because its parent was given its number in this
// generation too.
func (ed *editor) own(p *path, t *tree) {
	if p.depth == 0 || p.nodes[p.depth-1].generation == ed.generation {
		return
	}
	for d := 0; d < p.depth; d++ {
		n := p.nodes[d]
		if n.generation == ed.generation {
			continue
		}
		c := ed.copyNode(n)
		if d == 0 {
			t.root = c.ref()
		} else {
			p.nodes[d-1].setChild(p.slots[d-1], c.ref())
		}
		p.nodes[d] = c
	}
}

// put sets a row. The caller has reserved the pages.
func (ed *editor) put(t *tree, table store.Table, key, value []byte, undo *store.Journal) error {
	if ed.appendRow(t, table, key, value, undo) {
		ed.known.table = 0
		return nil
	}
	ed.tip.table = 0
	p, err := ed.lead(t, table, key)
	if err != nil {
		return err
	}
	var old []byte
	if p.found {
		n, i := p.leaf()
		if old, err = ed.valueAt(n, i); err != nil {
			return err
		}
	}
	if undo != nil {
		undo.Record(table, key, old, p.found)
	}
	t.bytes += int64(len(value) - len(old))
	if !p.found {
		t.rows++
		t.bytes += int64(len(key))
	}
	run := len(key)+len(value) > inlined
	if p.found && !run && ed.overwrite(p, t, value) {
		return nil
	}
	ed.known.table = 0
	stored := value
	if run {
		stored = encodeRunRef(ed.scratch[:0], ed.writeRun(kindValue, table, value))
	}
	if p.found {
		ed.own(p, t)
		n, i := p.leaf()
		ed.dropValue(n, i)
		n.remove(i)
	}
	if err := ed.place(t, table, key, stored, run); err != nil {
		// The old row is gone and recorded: only the durable image is sound now.
		ed.failed = fmt.Errorf("%w: %w", store.ErrFailed, err)
		return ed.failed
	}
	return nil
}

// overwrite replaces a value by one of the same size, in place.
func (ed *editor) overwrite(p *path, t *tree, value []byte) bool {
	n, i := p.leaf()
	if v, run := n.value(i); run || len(v) != len(value) {
		return false
	}
	ed.own(p, t)
	n, i = p.leaf()
	v, _ := n.value(i)
	copy(v, value)
	return true
}

// dropValue frees the run behind a row that goes away.
func (ed *editor) dropValue(n *node, i int) {
	if v, run := n.value(i); run {
		r := decodeRunRef(v)
		h := (*runHeader)(ed.mem.at(r.page))
		ed.free(extent{r.page, uint32(runPages(int64(r.size))), h.generation})
	}
}

// place inserts a row that is not there. Splitting a node leaves a sound tree
// with the same rows, so place starts over from the root after each.
func (ed *editor) place(t *tree, table store.Table, key, stored []byte, run bool) error {
	p := &ed.way
	for range 4 * maxHeight {
		if t.height == 0 {
			t.root, t.height = ed.newNode(table, 0).ref(), 1
		}
		if err := ed.descend(p, t, table, key); err != nil {
			return err
		}
		ed.own(p, t)
		n, i := p.leaf()
		if n.fits(key, len(stored)) || n.tighten(key, ed.spare) && n.fits(key, len(stored)) {
			n.insertValue(i, key, stored, run, ed.spare)
			ed.noteInsert(n, i)
			if ed.ascending >= 3 && i == int(n.count)-1 {
				ed.setTip(p, table)
			}
			return nil
		}
		ed.split(p, p.depth-1, t, table)
	}
	return fmt.Errorf("table %d: no room for a key of %d bytes after splitting: %w", table, len(key), store.ErrCorrupt)
}

// noteInsert remembers where the last row went, to recognise ascending keys.
func (ed *editor) noteInsert(n *node, i int) {
	if ed.lastPage == n.number && ed.lastSlot == i-1 {
		ed.ascending++
	} else {
		ed.ascending = 0
	}
	ed.lastPage, ed.lastSlot = n.number, i
}

// split divides the node at depth d of p in two, or, if its parent has no room
// for the second, the parent.
func (ed *editor) split(p *path, d int, t *tree, table store.Table) {
	n := p.nodes[d]
	if d == 0 {
		root := ed.newNode(table, n.level+1)
		root.insertChild(0, nil, n.ref(), ed.spare)
		t.root = root.ref()
		t.height++
		copy(p.nodes[1:], p.nodes[:p.depth])
		copy(p.slots[1:], p.slots[:p.depth])
		p.nodes[0], p.slots[0] = root, 0
		p.depth++
		d = 1
	}
	at := ed.splitAt(n, p.slots[d])
	ed.separator = separator(ed.separator[:0], n, at)
	parent := p.nodes[d-1]
	if !parent.fits(ed.separator, childSize) &&
		!(parent.tighten(ed.separator, ed.spare) && parent.fits(ed.separator, childSize)) {
		ed.split(p, d-1, t, table)
		return
	}
	right := ed.newNode(table, n.level)
	*ed.spare = *n
	count := int(ed.spare.count)
	right.reset(n.level, ed.spare.sharedPrefix(at, count))
	right.appendRange(ed.spare, at, count)
	n.reset(n.level, ed.spare.sharedPrefix(0, at))
	n.appendRange(ed.spare, 0, at)
	parent.insertChild(p.slots[d-1]+1, ed.separator, right.ref(), ed.spare)
}

// splitAt chooses the first slot of the right half: the middle by bytes, or, when
// keys arrive in ascending order, the place of the row to come, so that pages
// are left full.
func (ed *editor) splitAt(n *node, slot int) int {
	count := int(n.count)
	atEnd := n.level > 0 && slot == count-1 || slot == count && ed.lastPage == n.number && ed.lastSlot == slot-1
	if ed.ascending >= 3 && atEnd {
		return count - 1
	}
	half, sum := (n.usedSize()-n.slotBase())/2, 0
	for i := 0; i < count-1; i++ {
		sum += n.cellSize(i) + slotSize
		if sum >= half {
			return i + 1
		}
	}
	return count - 1
}

// remove deletes a row.
func (ed *editor) remove(t *tree, table store.Table, key []byte, undo *store.Journal) error {
	p, err := ed.lead(t, table, key)
	if err != nil {
		return err
	}
	if !p.found {
		return store.ErrNotFound
	}
	ed.known.table = 0
	n, i := p.leaf()
	old, err := ed.valueAt(n, i)
	if err != nil {
		return err
	}
	sibling, left, err := ed.sibling(p, p.depth-1, table)
	if err != nil {
		return err
	}
	if undo != nil {
		undo.Record(table, key, old, true)
	}
	t.rows--
	t.bytes -= int64(len(key) + len(old))
	ed.own(p, t)
	n, i = p.leaf()
	ed.dropValue(n, i)
	n.remove(i)
	ed.lastPage, ed.tip.table = 0, 0
	return ed.shrink(p, p.depth-1, t, table, sibling, left)
}

// sibling returns the node beside the one at depth d under the same parent, if
// that one is so empty that the two may be merged.
func (ed *editor) sibling(p *path, d int, table store.Table) (n *node, left bool, err error) {
	if d == 0 || p.nodes[d].usedSize() > pageSize/3 {
		return nil, false, nil
	}
	parent, i := p.nodes[d-1], p.slots[d-1]
	if int(parent.count) == 1 {
		return nil, false, nil
	}
	left = i+1 == int(parent.count)
	if left {
		i--
	} else {
		i++
	}
	n, err = ed.node(parent.child(i), table, int(p.nodes[d].level))
	return n, left, err
}

// shrink takes the node at depth d out of the tree if it is empty, merges it with
// the sibling that was found for it, and goes on upwards.
func (ed *editor) shrink(p *path, d int, t *tree, table store.Table, sibling *node, left bool) error {
	for {
		n := p.nodes[d]
		if d == 0 {
			ed.lowerRoot(t, n, table)
			return nil
		}
		parent, i := p.nodes[d-1], p.slots[d-1]
		switch {
		case n.count == 0:
			parent.remove(i)
			if i == 0 && parent.count > 0 {
				parent.dropKey()
			}
			ed.freeNode(n)
		case sibling != nil && ed.merge(n, sibling, left, parent, i):
		default:
			return nil
		}
		d--
		var err error
		if sibling, left, err = ed.sibling(p, d, table); err != nil {
			// The tree is sound without this merge; the damage shows when the
			// sibling itself is asked for.
			return nil
		}
	}
}

// merge moves the sibling's slots into n, if they fit with some room to spare.
func (ed *editor) merge(n, sibling *node, left bool, parent *node, i int) bool {
	sep := i + 1 // the parent's slot of the right one of the two
	a, b := n, sibling
	if left {
		sep, a, b = i, sibling, n
	}
	ed.separator = parent.key(ed.separator[:0], sep)
	prefix := ed.mergedPrefix(a, b)
	need := a.usedWith(min(len(prefix), int(a.prefixLen))) + b.usedWith(min(len(prefix), int(b.prefixLen)))
	if n.level > 0 {
		need += len(ed.separator)
	}
	if need > pageSize*4/5 {
		return false
	}
	x, y := ed.spare, ed.spare2
	*x, *y = *a, *b
	n.reset(n.level, prefix)
	n.appendRange(x, 0, int(x.count))
	if n.level > 0 {
		c := y.child(0)
		n.appendCell(childBytes(c), nil, ed.separator[len(prefix):], nil)
		n.appendRange(y, 1, int(y.count))
	} else {
		n.appendRange(y, 0, int(y.count))
	}
	parent.remove(sep)
	if left {
		parent.setChild(i-1, n.ref())
	}
	ed.freeNode(sibling)
	return true
}

// mergedPrefix is what the keys of a, b and, between inner nodes, the separator
// share.
func (ed *editor) mergedPrefix(a, b *node) []byte {
	first := a.sharedPrefix(0, int(a.count))
	if a.level > 0 && a.count == 1 {
		first = ed.separator
	}
	last := b.sharedPrefix(0, int(b.count))
	if b.level > 0 {
		first = first[:commonPrefix(first, ed.separator)]
		if b.count == 1 {
			return first
		}
	}
	return first[:commonPrefix(first, last)]
}

// lowerRoot takes away a root without rows, or levels with a single child.
func (ed *editor) lowerRoot(t *tree, n *node, table store.Table) {
	if n.count == 0 {
		ed.freeNode(n)
		*t = tree{rows: t.rows, bytes: t.bytes}
		return
	}
	for n.level > 0 && n.count == 1 {
		r := n.child(0)
		c, err := ed.node(r, table, int(n.level)-1)
		if err != nil {
			return // a root with one child is sound
		}
		ed.freeNode(n)
		t.root = r
		t.height--
		n = c
	}
}
