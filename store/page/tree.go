package page

import (
	"bytes"
	"fmt"

	"tarn/store"
)

// A tree is one table's rows: a B+tree of nodes. The zero root is an empty table.
type tree struct {
	root   ref
	height uint8 // levels, 0 for an empty table
	rows   int64
	bytes  int64 // of keys and values
}

// maxHeight bounds the depth of any tree: with at least three entries a page, 24
// levels hold more rows than there are page numbers.
const maxHeight = 24

// path leads from the root to a leaf: the nodes, and the slot taken in each.
type path struct {
	nodes [maxHeight]*node
	slots [maxHeight]int
	depth int // nodes in use
	found bool
}

func (p *path) leaf() (*node, int) { return p.nodes[p.depth-1], p.slots[p.depth-1] }

// lookup finds the leaf slot of key.
func (e *Engine) lookup(t *tree, table store.Table, key []byte) (*node, int, error) {
	r := t.root
	for level := int(t.height) - 1; level >= 0; level-- {
		n, err := e.node(r, table, level)
		if err != nil {
			return nil, 0, err
		}
		if level == 0 {
			i, found := n.search(key, 0)
			if !found {
				return nil, 0, store.ErrNotFound
			}
			return n, i, nil
		}
		r = n.child(n.route(key))
		prefetch(e.mem.at(r.page))
	}
	return nil, 0, store.ErrNotFound
}

// find is get for the writer, who may be about to change the row.
func (e *Engine) find(t *tree, table store.Table, key []byte) ([]byte, error) {
	p, err := e.lead(t, table, key)
	if err != nil {
		return nil, err
	}
	if !p.found {
		return nil, store.ErrNotFound
	}
	return e.valueAt(p.leaf())
}

// get returns the value of key, in place.
func (e *Engine) get(t *tree, table store.Table, key []byte) ([]byte, error) {
	n, i, err := e.lookup(t, table, key)
	if err != nil {
		return nil, err
	}
	return e.valueAt(n, i)
}

func (e *Engine) valueAt(n *node, i int) ([]byte, error) {
	v, run := n.value(i)
	if !run {
		return v, nil
	}
	return e.readRun(decodeRunRef(v), store.Table(n.table))
}

// descend fills p with the way to where key is or would be.
func (e *Engine) descend(p *path, t *tree, table store.Table, key []byte) error {
	p.depth, p.found = 0, false
	r := t.root
	for level := int(t.height) - 1; level >= 0; level-- {
		n, err := e.node(r, table, level)
		if err != nil {
			return err
		}
		i := 0
		if level == 0 {
			i, p.found = n.search(key, 0)
		} else {
			i = n.route(key)
			r = n.child(i)
			prefetch(e.mem.at(r.page))
		}
		p.nodes[p.depth], p.slots[p.depth] = n, i
		p.depth++
	}
	return nil
}

// known is the key that the writer's way leads to, and what must be known to take that
// way again without a search: a row is often put right after it was got.
type known struct {
	table store.Table // 0: nothing is known
	key   []byte
}

// lead makes e.way lead to where key is or would be. Whoever changes the tree but for a
// value in its place, or takes another way, has to forget what is known.
func (e *Engine) lead(t *tree, table store.Table, key []byte) (*path, error) {
	p, k := &e.way, &e.known
	if k.table == table && bytes.Equal(k.key, key) && e.holds(p) {
		return p, nil
	}
	k.table = 0
	if err := e.descend(p, t, table, key); err != nil {
		return nil, err
	}
	k.table, k.key = table, append(k.key[:0], key...)
	return p, nil
}

// holds tells whether the nodes of p are still verified: memory may have been given
// back. What a page says of itself, its number too, counts only if it is.
func (e *Engine) holds(p *path) bool {
	for _, n := range p.nodes[:p.depth] {
		if !e.isChecked(e.mem.pageOf(n)) {
			return false
		}
	}
	return true
}

// own makes the nodes of p ones that may be changed in place: those that a
// checkpoint or a view can reach are copied. A node of the present generation
// has only such nodes above it, because its parent was given its number in this
// generation too.
func (e *Engine) own(p *path, t *tree) {
	if p.depth == 0 || p.nodes[p.depth-1].generation == e.generation {
		return
	}
	for d := 0; d < p.depth; d++ {
		n := p.nodes[d]
		if n.generation == e.generation {
			continue
		}
		c := e.copyNode(n)
		if d == 0 {
			t.root = c.ref()
		} else {
			p.nodes[d-1].setChild(p.slots[d-1], c.ref())
		}
		p.nodes[d] = c
	}
}

func (n *node) ref() ref { return ref{n.number, uint32(n.generation)} }

// put sets a row. The caller has reserved the pages.
func (e *Engine) put(t *tree, table store.Table, key, value []byte, undo *store.Journal) error {
	if e.appendRow(t, table, key, value, undo) {
		e.known.table = 0
		return nil
	}
	e.tip.table = 0
	p, err := e.lead(t, table, key)
	if err != nil {
		return err
	}
	var old []byte
	if p.found {
		n, i := p.leaf()
		if old, err = e.valueAt(n, i); err != nil {
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
	if p.found && !run && e.overwrite(p, t, value) {
		return nil
	}
	e.known.table = 0
	stored := value
	if run {
		stored = encodeRunRef(e.scratch[:0], e.writeRun(kindValue, table, value))
	}
	if p.found {
		e.own(p, t)
		n, i := p.leaf()
		e.dropValue(n, i)
		n.remove(i)
	}
	if err := e.place(t, table, key, stored, run); err != nil {
		// The old row is gone and recorded: only the durable image is sound now.
		e.failed = fmt.Errorf("%w: %w", store.ErrFailed, err)
		return e.failed
	}
	return nil
}

// overwrite replaces a value by one of the same size, in place.
func (e *Engine) overwrite(p *path, t *tree, value []byte) bool {
	n, i := p.leaf()
	if v, run := n.value(i); run || len(v) != len(value) {
		return false
	}
	e.own(p, t)
	n, i = p.leaf()
	v, _ := n.value(i)
	copy(v, value)
	return true
}

// dropValue frees the run behind a row that goes away.
func (e *Engine) dropValue(n *node, i int) {
	if v, run := n.value(i); run {
		r := decodeRunRef(v)
		h := (*runHeader)(e.mem.at(r.page))
		e.free(extent{r.page, uint32(runPages(int64(r.size))), h.generation})
	}
}

// place inserts a row that is not there. Splitting a node leaves a sound tree
// with the same rows, so place starts over from the root after each.
func (e *Engine) place(t *tree, table store.Table, key, stored []byte, run bool) error {
	p := &e.way
	for range 4 * maxHeight {
		if t.height == 0 {
			t.root, t.height = e.newNode(table, 0).ref(), 1
		}
		if err := e.descend(p, t, table, key); err != nil {
			return err
		}
		e.own(p, t)
		n, i := p.leaf()
		if n.fits(key, len(stored)) || n.tighten(key, e.spare) && n.fits(key, len(stored)) {
			n.insertValue(i, key, stored, run, e.spare)
			e.noteInsert(n, i)
			if e.ascending >= 3 && i == int(n.count)-1 {
				e.setTip(p, table)
			}
			return nil
		}
		e.split(p, p.depth-1, t, table)
	}
	return fmt.Errorf("table %d: no room for a key of %d bytes after splitting: %w", table, len(key), store.ErrCorrupt)
}

// noteInsert remembers where the last row went, to recognise ascending keys.
func (e *Engine) noteInsert(n *node, i int) {
	if e.lastPage == n.number && e.lastSlot == i-1 {
		e.ascending++
	} else {
		e.ascending = 0
	}
	e.lastPage, e.lastSlot = n.number, i
}

// split divides the node at depth d of p in two, or, if its parent has no room
// for the second, the parent.
func (e *Engine) split(p *path, d int, t *tree, table store.Table) {
	n := p.nodes[d]
	if d == 0 {
		root := e.newNode(table, n.level+1)
		root.insertChild(0, nil, n.ref(), e.spare)
		t.root = root.ref()
		t.height++
		copy(p.nodes[1:], p.nodes[:p.depth])
		copy(p.slots[1:], p.slots[:p.depth])
		p.nodes[0], p.slots[0] = root, 0
		p.depth++
		d = 1
	}
	at := e.splitAt(n, p.slots[d])
	e.separator = separator(e.separator[:0], n, at)
	parent := p.nodes[d-1]
	if !parent.fits(e.separator, childSize) && !(parent.tighten(e.separator, e.spare) && parent.fits(e.separator, childSize)) {
		e.split(p, d-1, t, table)
		return
	}
	right := e.newNode(table, n.level)
	*e.spare = *n
	count := int(e.spare.count)
	right.reset(n.level, e.spare.sharedPrefix(at, count))
	right.appendRange(e.spare, at, count)
	n.reset(n.level, e.spare.sharedPrefix(0, at))
	n.appendRange(e.spare, 0, at)
	parent.insertChild(p.slots[d-1]+1, e.separator, right.ref(), e.spare)
}

// splitAt chooses the first slot of the right half: the middle by bytes, or, when
// keys arrive in ascending order, the place of the row to come, so that pages
// are left full.
func (e *Engine) splitAt(n *node, slot int) int {
	count := int(n.count)
	atEnd := n.level > 0 && slot == count-1 || slot == count && e.lastPage == n.number && e.lastSlot == slot-1
	if e.ascending >= 3 && atEnd {
		return count - 1
	}
	half, sum := (n.used()-n.slotBase())/2, 0
	for i := 0; i < count-1; i++ {
		sum += n.cellSize(i) + slotSize
		if sum >= half {
			return i + 1
		}
	}
	return count - 1
}

// separator appends the shortest key that is above the slots below at and not
// above slot at.
func separator(buf []byte, n *node, at int) []byte {
	buf = n.key(buf, at)
	if n.level > 0 {
		return buf
	}
	shared := int(n.prefixLen) + commonPrefix(n.suffix(at-1), n.suffix(at))
	return buf[:shared+1]
}

// remove deletes a row.
func (e *Engine) remove(t *tree, table store.Table, key []byte, undo *store.Journal) error {
	p, err := e.lead(t, table, key)
	if err != nil {
		return err
	}
	if !p.found {
		return store.ErrNotFound
	}
	e.known.table = 0
	n, i := p.leaf()
	old, err := e.valueAt(n, i)
	if err != nil {
		return err
	}
	sibling, left, err := e.sibling(p, p.depth-1, table)
	if err != nil {
		return err
	}
	if undo != nil {
		undo.Record(table, key, old, true)
	}
	t.rows--
	t.bytes -= int64(len(key) + len(old))
	e.own(p, t)
	n, i = p.leaf()
	e.dropValue(n, i)
	n.remove(i)
	e.lastPage, e.tip.table = 0, 0
	return e.shrink(p, p.depth-1, t, table, sibling, left)
}

// sibling returns the node beside the one at depth d under the same parent, if
// that one is so empty that the two may be merged.
func (e *Engine) sibling(p *path, d int, table store.Table) (n *node, left bool, err error) {
	if d == 0 || p.nodes[d].used() > pageSize/3 {
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
	n, err = e.node(parent.child(i), table, int(p.nodes[d].level))
	return n, left, err
}

// shrink takes the node at depth d out of the tree if it is empty, merges it with
// the sibling that was found for it, and goes on upwards.
func (e *Engine) shrink(p *path, d int, t *tree, table store.Table, sibling *node, left bool) error {
	for {
		n := p.nodes[d]
		if d == 0 {
			e.lowerRoot(t, n, table)
			return nil
		}
		parent, i := p.nodes[d-1], p.slots[d-1]
		switch {
		case n.count == 0:
			parent.remove(i)
			if i == 0 && parent.count > 0 {
				parent.dropKey()
			}
			e.freeNode(n)
		case sibling != nil && e.merge(n, sibling, left, parent, i):
		default:
			return nil
		}
		d--
		var err error
		if sibling, left, err = e.sibling(p, d, table); err != nil {
			// The tree is sound without this merge; the damage shows when the
			// sibling itself is asked for.
			return nil
		}
	}
}

// merge moves the sibling's slots into n, if they fit with some room to spare.
func (e *Engine) merge(n, sibling *node, left bool, parent *node, i int) bool {
	sep := i + 1 // the parent's slot of the right one of the two
	a, b := n, sibling
	if left {
		sep, a, b = i, sibling, n
	}
	e.separator = parent.key(e.separator[:0], sep)
	prefix := e.mergedPrefix(a, b)
	need := a.usedWith(min(len(prefix), int(a.prefixLen))) + b.usedWith(min(len(prefix), int(b.prefixLen)))
	if n.level > 0 {
		need += len(e.separator)
	}
	if need > pageSize*4/5 {
		return false
	}
	x, y := e.spare, e.spare2
	*x, *y = *a, *b
	n.reset(n.level, prefix)
	n.appendRange(x, 0, int(x.count))
	if n.level > 0 {
		c := y.child(0)
		n.appendCell(childBytes(c), nil, e.separator[len(prefix):], nil)
		n.appendRange(y, 1, int(y.count))
	} else {
		n.appendRange(y, 0, int(y.count))
	}
	parent.remove(sep)
	if left {
		parent.setChild(i-1, n.ref())
	}
	e.freeNode(sibling)
	return true
}

// mergedPrefix is what the keys of a, b and, between inner nodes, the separator
// share.
func (e *Engine) mergedPrefix(a, b *node) []byte {
	first := a.sharedPrefix(0, int(a.count))
	if a.level > 0 && a.count == 1 {
		first = e.separator
	}
	last := b.sharedPrefix(0, int(b.count))
	if b.level > 0 {
		first = first[:commonPrefix(first, e.separator)]
		if b.count == 1 {
			return first
		}
	}
	return first[:commonPrefix(first, last)]
}

// lowerRoot takes away a root without rows, or levels with a single child.
func (e *Engine) lowerRoot(t *tree, n *node, table store.Table) {
	if n.count == 0 {
		e.freeNode(n)
		*t = tree{rows: t.rows, bytes: t.bytes}
		return
	}
	for n.level > 0 && n.count == 1 {
		r := n.child(0)
		c, err := e.node(r, table, int(n.level)-1)
		if err != nil {
			return // a root with one child is sound
		}
		e.freeNode(n)
		t.root = r
		t.height--
		n = c
	}
}
