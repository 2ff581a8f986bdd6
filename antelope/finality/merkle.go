package finality

import (
	"crypto/sha256"
	"math/bits"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// pair hashes two nodes of a tree.
func pair(left, right types.Checksum256) types.Checksum256 {
	var b [64]byte
	copy(b[:32], left[:])
	copy(b[32:], right[:])
	return sha256.Sum256(b[:])
}

// Root is the root of a tree of leaves: zero without any, a leaf by itself, else the pair of the
// roots of the first 2^n, as many as there are below the number of leaves, and of the rest
// (Spring: merkle.hpp).
func Root(leaves []types.Checksum256) types.Checksum256 {
	switch len(leaves) {
	case 0:
		return types.Checksum256{}
	case 1:
		return leaves[0]
	}
	left := 1 << (bits.Len(uint(len(leaves)-1)) - 1)
	return pair(Root(leaves[:left]), Root(leaves[left:]))
}

// Tree is a tree that only grows, reduced to what further leaves need (Spring:
// incremental_merkle.hpp). It is a value: With leaves it as it is.
type Tree struct {
	count uint64
	roots []types.Checksum256 // of the full trees for each bit of count, the largest first
}

// Count is the number of leaves.
func (t Tree) Count() uint64 { return t.count }

// Roots are those of the full trees for each bit of the count, the largest first, which must not be
// changed.
func (t Tree) Roots() []types.Checksum256 { return t.roots }

// Root is the root, equal to [Root] of the leaves.
func (t Tree) Root() types.Checksum256 {
	if len(t.roots) == 0 {
		return types.Checksum256{}
	}
	root := t.roots[len(t.roots)-1]
	for i := len(t.roots) - 2; i >= 0; i-- {
		root = pair(t.roots[i], root)
	}
	return root
}

// With is the tree with one more leaf.
func (t Tree) With(leaf types.Checksum256) Tree {
	merged := bits.TrailingZeros64(^t.count) // full trees that the leaf fills up
	kept := len(t.roots) - merged
	for i := len(t.roots) - 1; i >= kept; i-- {
		leaf = pair(t.roots[i], leaf)
	}
	roots := make([]types.Checksum256, 0, kept+1)
	return Tree{t.count + 1, append(append(roots, t.roots[:kept]...), leaf)}
}

// Append appends the number of leaves and the roots.
func (t Tree) Append(b []byte) []byte {
	return types.AppendChecksums(serial.AppendUint64(b, t.count), t.roots)
}

// Read decodes what Append encodes, and refuses what no tree is.
func (t *Tree) Read(r *serial.Reader) {
	*t = Tree{count: r.Uint64(), roots: types.ReadChecksums(r)}
	if r.Err() == nil && len(t.roots) != bits.OnesCount64(t.count) {
		r.Fail(serial.ErrValue)
	}
}
