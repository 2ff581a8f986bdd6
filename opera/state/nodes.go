package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/triedb/database"

	"tarn/store"
)

// batch is what a stretch of blocks did to the nodes of the tries, ready to be written.
type batch struct {
	number uint64 // the stretch's last block
	root   common.Hash
	// dropped are the storage tries of which no node of before is left; nodes has what
	// they have now.
	dropped map[common.Hash]bool
	nodes   map[common.Hash]map[string][]byte // by owner, zero for the accounts, and path; nil: no such node
	size    int
}

// find tells what a batch says of a node.
func (b *batch) find(owner common.Hash, path []byte) (node []byte, said bool) {
	if node, said = b.nodes[owner][string(path)]; said {
		return node, true
	}
	return nil, b.dropped[owner]
}

// nodeReader reads the nodes of the tries by path: batches that may not be in the rows
// yet, above the rows. It is go-ethereum's database of nodes, whatever the root asked for.
type nodeReader struct {
	tables  *Tables
	rows    store.Reader
	batches []*batch // oldest first
}

var _ database.NodeDatabase = (*nodeReader)(nil)

// NodeReader implements database.NodeDatabase.
func (n *nodeReader) NodeReader(common.Hash) (database.NodeReader, error) { return n, nil }

// Node implements database.NodeReader. There is one node at a path; its hash is not
// compared, rows have checksums.
func (n *nodeReader) Node(owner common.Hash, path []byte, _ common.Hash) ([]byte, error) {
	for i := len(n.batches) - 1; i >= 0; i-- {
		if node, said := n.batches[i].find(owner, path); said {
			return node, nil
		}
	}
	var buf [maxNodeKey]byte
	table, key := n.tables.nodeKey(buf[:0], owner, path)
	node, err := n.rows.Get(table, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read trie node %x: %w", key, err)
	}
	return bytes.Clone(node), nil
}

const maxNodeKey = common.HashLength + 33

// nodeKey appends the key of a node's row: the owner if it is a storage trie's, the path's
// nibbles two a byte, how many those are.
func (t *Tables) nodeKey(b []byte, owner common.Hash, path []byte) (store.Table, []byte) {
	table := t.accountNodes
	if owner != (common.Hash{}) {
		table, b = t.slotNodes, append(b, owner[:]...)
	}
	for i := 0; i < len(path); i += 2 {
		nibbles := path[i] << 4
		if i+1 < len(path) {
			nibbles |= path[i+1]
		}
		b = append(b, nibbles)
	}
	return table, append(b, byte(len(path)))
}

// writeNodes puts a batch into the rows, in their order.
func (t *Tables) writeNodes(s store.Store, b *batch) error {
	for owner := range b.dropped {
		if _, err := s.DeleteRange(t.slotNodes, owner[:], after(owner[:])); err != nil {
			return err
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(b.nodes), common.Hash.Cmp) {
		nodes := b.nodes[owner]
		type row struct{ key, node []byte }
		rows := make([]row, 0, len(nodes))
		var table store.Table
		for path, node := range nodes {
			r := row{node: node}
			table, r.key = t.nodeKey(nil, owner, []byte(path))
			rows = append(rows, r)
		}
		slices.SortFunc(rows, func(x, y row) int { return bytes.Compare(x.key, y.key) })
		for _, r := range rows {
			var err error
			if r.node == nil {
				err = s.Delete(table, r.key)
			} else {
				err = s.Put(table, r.key, r.node)
			}
			if err != nil {
				return fmt.Errorf("trie node %x: %w", r.key, err)
			}
		}
	}
	return nil
}
