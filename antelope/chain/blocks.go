package chain

import (
	"errors"
	"fmt"

	"tarn/antelope/blocklog"
	"tarn/antelope/consensus"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Blocks finds the blocks that a chain has, wherever they are: those that can still be taken back
// in the fork database, the others in the block log. Any goroutine may use it. It writes nothing.
type Blocks struct {
	chain   *Chain
	log     *blocklog.Log
	damaged func(error) bool
}

// NewBlocks returns who finds the blocks of a chain and its log. damaged is told of each error of
// the log before it is returned, by any goroutine; it must not wait.
func NewBlocks(c *Chain, log *blocklog.Log, damaged func(error) bool) *Blocks {
	return &Blocks{chain: c, log: log, damaged: damaged}
}

// First is the number of the oldest block that there is.
func (b *Blocks) First() uint32 {
	if _, _, ok := b.log.Head(); ok {
		return b.log.First()
	}
	return b.chain.Fork().Root().BlockNum + 1
}

// Reversible returns a block of the branch that ends with head, nil if the fork database does not
// have it, root included.
func (b *Blocks) Reversible(head types.Checksum256, num uint32) *consensus.BlockState {
	fork := b.chain.Fork()
	if num < fork.Root().BlockNum {
		return nil
	}
	return fork.SearchOnBranch(head, num)
}

// Packed is a packed block of the branch that ends with head, or of the block log; nil if there is
// none. The caller does not change it.
func (b *Blocks) Packed(head types.Checksum256, num uint32) ([]byte, error) {
	if s := b.Reversible(head, num); s != nil && s.Block != nil {
		return s.Block.Append(nil), nil
	}
	return b.Logged(num)
}

// ByID is a packed block, by its id: of any branch that may yet win, or of the block log; nil if
// there is none. The caller does not change it.
func (b *Blocks) ByID(id types.Checksum256) ([]byte, error) {
	if s := b.chain.Fork().Block(id); s != nil && s.Block != nil {
		return s.Block.Append(nil), nil
	}
	num := types.BlockNum(id)
	block, err := b.Logged(num)
	if err != nil || block == nil {
		return nil, err
	}
	var h types.BlockHeader
	r := serial.NewReader(block)
	if h.Read(r); r.Err() != nil {
		return nil, fmt.Errorf("decode the header of block %d of the block log: %w", num, r.Err())
	}
	if h.ID() != id {
		return nil, nil
	}
	return block, nil
}

// Logged is a packed block of the block log; nil if the log lacks it, which may have let it go.
// The caller does not change it.
func (b *Blocks) Logged(num uint32) ([]byte, error) {
	block, err := b.log.ReadRaw(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return nil, nil
	}
	b.damaged(err)
	return block, err
}

// LoggedID is the id of a block of the block log. An error is [blocklog.ErrNotFound] if the log
// lacks it.
func (b *Blocks) LoggedID(num uint32) (types.Checksum256, error) {
	h, err := b.log.ReadHeader(num)
	if err != nil {
		b.damaged(err)
		return types.Checksum256{}, err
	}
	return h.ID(), nil
}
