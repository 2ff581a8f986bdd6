package page

import (
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

// within tells whether a key lies between those of the leaf, so that it belongs there.
func (p *path) within(key []byte) bool {
	if p.depth == 0 {
		return false
	}
	n := p.nodes[p.depth-1]
	last := int(n.count) - 1
	return last > 0 && n.below(0, key) && !n.below(last, key)
}

func (p *path) leaf() (*node, int) { return p.nodes[p.depth-1], p.slots[p.depth-1] }

// lookup finds the leaf slot of key.
func (ps *pages) lookup(t *tree, table store.Table, key []byte) (*node, int, error) {
	r := t.root
	for level := int(t.height) - 1; level >= 0; level-- {
		n, err := ps.node(r, table, level)
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
		prefetch(ps.mem.at(r.page))
	}
	return nil, 0, store.ErrNotFound
}

// get returns the value of key, in place.
func (ps *pages) get(t *tree, table store.Table, key []byte) ([]byte, error) {
	n, i, err := ps.lookup(t, table, key)
	if err != nil {
		return nil, err
	}
	return ps.valueAt(n, i)
}

func (ps *pages) valueAt(n *node, i int) ([]byte, error) {
	v, run := n.value(i)
	if !run {
		return v, nil
	}
	return ps.readRun(decodeRunRef(v), store.Table(n.table))
}

// descend fills p with the way to where key is or would be.
func (ps *pages) descend(p *path, t *tree, table store.Table, key []byte) error {
	p.depth, p.found = 0, false
	r := t.root
	for level := int(t.height) - 1; level >= 0; level-- {
		n, err := ps.node(r, table, level)
		if err != nil {
			return err
		}
		i := 0
		if level == 0 {
			i, p.found = n.search(key, 0)
		} else {
			i = n.route(key)
			r = n.child(i)
			prefetch(ps.mem.at(r.page))
		}
		p.nodes[p.depth], p.slots[p.depth] = n, i
		p.depth++
	}
	return nil
}

// holds tells whether all nodes of p are still verified. A page whose memory was given back is
// read from the file again, unverified. The pages' numbers come from where the nodes lie in
// memory, because the number in an unverified page may be wrong.
func (ps *pages) holds(p *path) bool {
	for _, n := range p.nodes[:p.depth] {
		if !ps.isChecked(ps.mem.pageOf(n)) {
			return false
		}
	}
	return true
}

func (n *node) ref() ref { return ref{n.number, uint32(n.generation)} }

// separator returns, in buf, the shortest key K with key(at-1) < K <= key(at): it divides the
// slots before at from the others. In a branch K is the key of slot at itself.
func separator(buf []byte, n *node, at int) []byte {
	buf = n.key(buf, at)
	if n.level > 0 {
		return buf
	}
	shared := int(n.prefixLen) + commonPrefix(n.suffix(at-1), n.suffix(at))
	return buf[:shared+1]
}
