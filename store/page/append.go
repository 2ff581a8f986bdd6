package page

import (
	"bytes"

	"tarn/store"
)

// tip is the leaf that rows with ascending keys are being added to, and what must
// be known of it to add the next one without a way from the root: a table that is
// being filled needs no search.
type tip struct {
	table      store.Table // 0: there is none
	leaf       *node
	generation uint64 // of the engine when the leaf was found
	bounded    bool
	bound      []byte // if bounded: the first key that belongs to another leaf
}

// setTip notes that the last row went to the end of p's leaf. The three rows before
// it did so too: random keys shall not pay for what they do not use.
func (ed *editor) setTip(p *path, table store.Table) {
	n, _ := p.leaf()
	t := &ed.tip
	t.table, t.leaf, t.generation, t.bounded = table, n, ed.generation, false
	for d := p.depth - 2; d >= 0; d-- {
		if parent, i := p.nodes[d], p.slots[d]+1; i < int(parent.count) {
			t.bounded, t.bound = true, parent.key(t.bound[:0], i)
			return
		}
	}
}

// appendRow adds a row behind all others of the tip, and reports whether that is where
// it belongs and fits. Whatever else changes a tree has cleared the tip or ended its
// generation.
func (ed *editor) appendRow(t *tree, table store.Table, key, value []byte, undo *store.Journal) bool {
	tip := &ed.tip
	if tip.table != table || tip.generation != ed.generation || len(key)+len(value) > inlined {
		return false
	}
	if tip.bounded && bytes.Compare(key, tip.bound) >= 0 {
		return false
	}
	n := tip.leaf
	last := int(n.count) - 1
	if !n.below(last, key) || !n.fits(key, len(value)) {
		return false
	}
	if undo != nil {
		undo.Record(table, key, nil, false)
	}
	t.rows++
	t.bytes += int64(len(key) + len(value))
	n.insertValue(last+1, key, value, false, ed.spare)
	ed.noteInsert(n, last+1)
	return true
}

// below tells whether the key of slot i is below key.
func (n *node) below(i int, key []byte) bool {
	p := n.prefix()
	if c := bytes.Compare(key[:min(len(key), len(p))], p); c != 0 {
		return c > 0
	}
	return bytes.Compare(n.suffix(i), key[len(p):]) < 0
}
