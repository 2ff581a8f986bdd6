package page

import (
	"runtime/debug"
	"unsafe"

	"tarn/store"
)

// cursor implements store.Cursor over one tree. It keeps the way from the root;
// what the tree's owner changes makes that invalid (store/revision sees to it
// that a writer's cursor then seeks again).
type cursor struct {
	engine *Engine
	table  store.Table
	tree   *tree // of a view; nil: the writer's present one
	nodes  [maxHeight]*node
	slots  [maxHeight]int
	depth  int // nodes in use; 0: on no row
	key    []byte
	value  []byte // of the row, or its run reference
	run    bool
	leaves int // that the walk has come to since it began
	err    error
}

// Cursor implements store.Engine.
func (e *Engine) Cursor(t store.Table) (store.Cursor, error) {
	if e.failed != nil {
		return nil, e.failed
	}
	return &cursor{engine: e, table: t}, nil
}

func (c *cursor) First() bool { return c.settle(c.edge(false)) }
func (c *cursor) Last() bool  { return c.settle(c.edge(true)) }

func (c *cursor) Seek(key []byte) bool   { return c.settle(c.seek(key, false)) }
func (c *cursor) SeekLT(key []byte) bool { return c.settle(c.seek(key, true)) }

func (c *cursor) Next() bool { return c.settle(c.step(1)) }
func (c *cursor) Prev() bool { return c.settle(c.step(-1)) }

// settle ends every movement: a failed one leaves the cursor on no row.
func (c *cursor) settle(err error) bool {
	if err != nil {
		c.depth = 0
	}
	c.err = err
	return c.depth > 0
}

// The three movements guard against page faults and take the row's key and value
// (or the reference to it) while at it, so that Key and Value need no guard.

func (c *cursor) edge(last bool) (err error) {
	defer c.engine.rescue(debug.SetPanicOnFault(true), &err)
	c.depth, c.leaves = 0, 0
	if c.engine.closed.Load() {
		return store.ErrClosed
	}
	tree := c.present()
	if err := c.down(tree.root, int(tree.height)-1, last); err != nil {
		return err
	}
	c.take()
	return nil
}

func (c *cursor) seek(key []byte, before bool) (err error) {
	defer c.engine.rescue(debug.SetPanicOnFault(true), &err)
	c.depth, c.leaves = 0, 0
	if c.engine.closed.Load() {
		return store.ErrClosed
	}
	if err := c.descend(key); err != nil || c.depth == 0 {
		return err
	}
	d := c.depth - 1
	switch {
	case before:
		err = c.walk(-1)
	case c.slots[d] == int(c.nodes[d].count):
		c.slots[d]--
		err = c.walk(1)
	}
	c.take()
	return err
}

func (c *cursor) step(by int) (err error) {
	defer c.engine.rescue(debug.SetPanicOnFault(true), &err)
	if c.engine.closed.Load() {
		return store.ErrClosed
	}
	if c.depth == 0 {
		return c.err // what ended the walk stays to be seen
	}
	if d := c.depth - 1; d >= 0 {
		n := c.nodes[d]
		if i := c.slots[d] + by; uint(i) < uint(n.count) {
			c.slots[d] = i
			n.prefetchCell(i + by*lookahead)
		} else if err := c.walk(by); err != nil {
			return err
		}
		c.take()
	}
	return nil
}

func (c *cursor) present() *tree {
	if c.tree != nil {
		return c.tree
	}
	return &c.engine.tables[c.table-1].tree
}

func (c *cursor) take() {
	if c.depth == 0 {
		return
	}
	n, i := c.nodes[c.depth-1], c.slots[c.depth-1]
	s := n.slot(i)
	cell := n.at(int(s.off))
	c.key = append(append(c.key[:0], n.prefix()...), unsafe.Slice((*byte)(unsafe.Add(cell, sizeSize)), s.size)...)
	size := *(*uint16)(cell)
	c.value = unsafe.Slice((*byte)(unsafe.Add(cell, sizeSize+int(s.size))), size&^inRun)
	c.run = size&inRun != 0
}

// down follows the first or the last child from r to a leaf.
func (c *cursor) down(r ref, level int, last bool) error {
	for ; level >= 0; level-- {
		n, err := c.engine.node(r, c.table, level)
		if err != nil {
			return err
		}
		i := 0
		if last {
			i = int(n.count) - 1
		}
		c.push(n, i)
		if level > 0 {
			r = n.child(i)
		}
	}
	return nil
}

func (c *cursor) push(n *node, i int) {
	c.nodes[c.depth], c.slots[c.depth] = n, i
	c.depth++
}

// descend goes to the leaf slot where key is or would be.
func (c *cursor) descend(key []byte) error {
	tree := c.present()
	r := tree.root
	for level := int(tree.height) - 1; level >= 0; level-- {
		n, err := c.engine.node(r, c.table, level)
		if err != nil {
			return err
		}
		i := 0
		if level == 0 {
			i, _ = n.search(key, 0)
		} else {
			i = n.route(key)
			r = n.child(i)
			prefetch(c.engine.mem.at(r.page))
		}
		c.push(n, i)
	}
	return nil
}

// lookahead is how many rows before its turn a cell is prefetched: the cells of a
// leaf lie in the order in which they were written, not of their keys.
const lookahead = 8

func (n *node) prefetchCell(i int) {
	if uint(i) < uint(n.count) {
		prefetchLine(n.at(int(n.slot(i).off)))
	}
}

// prefetch prefetches the leaf after the one that is child i of n.
func (c *cursor) prefetch(n *node, i, by int) {
	if i += by; n.level == 1 && uint(i) < uint(n.count) {
		prefetch(c.engine.mem.at(n.child(i).page))
	}
}

// walk goes to the next slot in a direction, through the parents where the leaf
// ends.
func (c *cursor) walk(by int) error {
	d := c.depth - 1
	for ; d >= 0; d-- {
		if i := c.slots[d] + by; i >= 0 && i < int(c.nodes[d].count) {
			c.slots[d] = i
			break
		}
	}
	if d < 0 {
		c.depth = 0
		return nil
	}
	n := c.nodes[d]
	c.depth = d + 1
	if n.level == 0 {
		return nil
	}
	c.prefetch(n, c.slots[d], by)
	if err := c.down(n.child(c.slots[d]), int(n.level)-1, by < 0); err != nil {
		return err
	}
	c.readAhead(c.nodes[c.depth-2], c.slots[c.depth-2], by)
	n = c.nodes[c.depth-1]
	for i := range lookahead {
		n.prefetchCell(c.slots[c.depth-1] + by*i)
	}
	return nil
}

func (c *cursor) Valid() bool { return c.depth > 0 }

func (c *cursor) Key() []byte {
	if c.depth == 0 {
		return nil
	}
	return c.key
}

// Value verifies a large value when it is asked for.
func (c *cursor) Value() []byte {
	if c.depth == 0 || c.engine.closed.Load() {
		return nil
	}
	if c.run {
		if c.value, c.err = c.large(); c.err != nil {
			c.depth = 0
			return nil
		}
		c.run = false
	}
	return c.value
}

func (c *cursor) large() (v []byte, err error) {
	if c.engine.closed.Load() {
		return nil, store.ErrClosed
	}
	defer c.engine.rescue(debug.SetPanicOnFault(true), &err)
	return c.engine.readRun(decodeRunRef(c.value), c.table)
}

func (c *cursor) Err() error { return c.err }

func (c *cursor) Close() error {
	c.depth = 0
	return nil
}
