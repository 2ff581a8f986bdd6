package node

import (
	"errors"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/types"
)

// blocks finds what blocks the node has. Damage that it meets is said.
func (n *Node) blocks() *chain.Blocks { return chain.NewBlocks(n.chain, n.log, n.noteDamage) }

// servedLog is the block log as the API reads it.
type servedLog struct{ n *Node }

// First implements rpc.BlockLog.
func (s servedLog) First() uint32 { return s.n.log.First() }

// Read implements rpc.BlockLog.
func (s servedLog) Read(num uint32) (*types.SignedBlock, error) {
	b, err := s.n.log.Read(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return nil, nil
	}
	return b, err
}

// ReadHeader implements rpc.BlockLog.
func (s servedLog) ReadHeader(num uint32) (*types.SignedBlockHeader, error) {
	h, err := s.n.log.ReadHeader(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return nil, nil
	}
	return h, err
}

// loggedID is the id of a block of the block log; false if the log lacks it.
func (n *Node) loggedID(num uint32) (types.Checksum256, bool, error) {
	id, err := n.blocks().LoggedID(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return types.Checksum256{}, false, nil
	}
	return id, err == nil, err
}
