package node

import (
	"errors"
	"fmt"

	"tarn/antelope/blocklog"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// blockByID is a packed block, by its id: of any branch that may yet win, or of the block log;
// nil if the node does not have it.
func (n *Node) blockByID(id types.Checksum256) ([]byte, error) {
	if b := n.chain.Fork().Block(id); b != nil && b.Block != nil {
		return b.Block.Append(nil), nil
	}
	num := types.BlockNum(id)
	b, err := n.loggedBlock(num)
	if err != nil || b == nil {
		return nil, err
	}
	var h types.BlockHeader
	r := serial.NewReader(b)
	if h.Read(r); r.Err() != nil {
		return nil, fmt.Errorf("decode the header of block %d of the block log: %w", num, r.Err())
	}
	if h.ID() != id {
		return nil, nil
	}
	return b, nil
}

// loggedBlock is a packed block of the block log; nil if the log lacks it, which may have let
// it go at any moment.
func (n *Node) loggedBlock(num uint32) ([]byte, error) {
	b, err := n.log.ReadRaw(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return nil, nil
	}
	n.damaged(err)
	return b, err
}

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
	h, err := n.log.ReadHeader(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return types.Checksum256{}, false, nil
	}
	if err != nil {
		n.damaged(err)
		return types.Checksum256{}, false, err
	}
	return h.ID(), true, nil
}
