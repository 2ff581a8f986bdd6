package consensus

import (
	"crypto/sha256"
	"math"
	"math/bits"
	"slices"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// pair hashes two nodes of a legacy merkle tree. The top bit of a node says on
// which side it stands (Leap: make_canonical_pair).
func pair(left, right *types.Checksum256) types.Checksum256 {
	var b [64]byte
	copy(b[:32], left[:])
	copy(b[32:], right[:])
	b[0] &= 0x7f
	b[32] |= 0x80
	return sha256.Sum256(b[:])
}

// MerkleRoot returns the root of a legacy merkle tree: a level of odd length
// repeats its last node, a single leaf is its own root, and no leaves give zero
// (Leap: merkle.cpp). It uses the slice as scratch space.
func MerkleRoot(leaves []types.Checksum256) types.Checksum256 {
	if len(leaves) == 0 {
		return types.Checksum256{}
	}
	for n := len(leaves); n > 1; n = (n + 1) / 2 {
		for i := 0; i < n; i += 2 {
			leaves[i/2] = pair(&leaves[i], &leaves[min(i+1, n-1)])
		}
	}
	return leaves[0]
}

// IncrementalMerkle is a merkle tree that only grows, reduced to the nodes that
// further leaves need; the last one is the root (Leap: incremental_merkle). It is a
// value: With leaves it as it is, so that copies share their nodes.
type IncrementalMerkle struct {
	nodes []types.Checksum256
	count uint64
}

// Nodes returns the nodes that further leaves need, as snapshots have them. The
// slice must not be changed.
func (m IncrementalMerkle) Nodes() []types.Checksum256 { return m.nodes }

// Count returns the number of leaves.
func (m IncrementalMerkle) Count() uint64 { return m.count }

// Root returns the root, zero for an empty tree. It equals the [MerkleRoot] of the
// leaves.
func (m IncrementalMerkle) Root() types.Checksum256 {
	if m.count == 0 || len(m.nodes) == 0 {
		return types.Checksum256{}
	}
	return m.nodes[len(m.nodes)-1]
}

// With returns the tree with one more leaf.
//
// Nodes holds the complete left subtrees that are still waiting for their right
// side, from the lowest, and after them the root. Going up from the new leaf, a
// left node waits (if its subtree is complete) and is paired with itself; a right
// node is paired with the one that waits, which goes on waiting if what it was
// paired with is not complete.
func (m IncrementalMerkle) With(leaf types.Checksum256) IncrementalMerkle {
	levels := bits.Len64(m.count) // of pairs above the leaves
	waiting, nodes := m.nodes, make([]types.Checksum256, 0, levels+1)
	complete, top := true, leaf
	for index := m.count; levels > 0; index, levels = index>>1, levels-1 {
		switch left := index&1 == 0; {
		case left:
			if complete {
				nodes = append(nodes, top)
			}
			complete, top = false, pair(&top, &top)
		case len(waiting) == 0: // not a tree that appending has made
			return IncrementalMerkle{}
		default:
			if !complete {
				nodes = append(nodes, waiting[0])
			}
			top = pair(&waiting[0], &top)
			waiting = waiting[1:]
		}
	}
	return IncrementalMerkle{append(nodes, top), m.count + 1}
}

// wellFormed tells whether the number of nodes is one that appending leads to: the
// root, and a complete subtree for each bit of count except that a tree of 2^n
// leaves is its own root. There are no more leaves than block numbers.
func (m IncrementalMerkle) wellFormed() bool {
	want := bits.OnesCount64(m.count)
	if want > 1 {
		want++
	}
	return len(m.nodes) == want && m.count <= math.MaxUint32
}

// Append appends the encoding of snapshots: the nodes, the number of leaves.
func (m IncrementalMerkle) Append(b []byte) []byte {
	return serial.AppendUint64(types.AppendChecksums(b, m.nodes), m.count)
}

// Read decodes what Append encodes and refuses trees that appending cannot make.
func (m *IncrementalMerkle) Read(r *serial.Reader) {
	m.nodes = types.ReadChecksums(r)
	m.count = r.Uint64()
	if r.Err() == nil && !m.wellFormed() {
		r.Fail(serial.ErrValue)
	}
}

// Equal tells whether two trees are the same.
func (m IncrementalMerkle) Equal(o IncrementalMerkle) bool {
	return m.count == o.count && slices.Equal(m.nodes, o.nodes)
}
