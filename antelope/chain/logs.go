package chain

import (
	"fmt"

	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// BlockLog is where irreversible blocks go ([blocklog.Log]).
type BlockLog interface {
	// Append adds a packed block, which must not change afterwards. Its number follows the
	// head's. The block is durable only after a sync, which is the log's owner's to do.
	Append(num uint32, id types.Checksum256, block []byte) error
	// Head returns the number and id of the last block; ok is false in a log without blocks.
	Head() (num uint32, id types.Checksum256, ok bool)
	// First returns the first number from which on all blocks up to the head can be read. In
	// a log without blocks it is the number that the first one must have.
	First() uint32
	// Read returns a block, decoded. A block that the log does not have is an error.
	Read(num uint32) (*types.SignedBlock, error)
	// ReadRaw returns a packed block, which the caller must not change. A damaged one is an error.
	ReadRaw(num uint32) ([]byte, error)
	// ReadToExecute is ReadRaw for who executes the block: a damaged one may be no error.
	ReadToExecute(num uint32) ([]byte, error)
	// Where says in which file a block is, and at which offset, for a message.
	Where(num uint32) string
}

// ReversibleLog is where blocks wait that are not irreversible yet
// ([blocklog.Reversible]).
type ReversibleLog interface {
	// Append adds a packed block, which a power cut may lose. It keeps nothing of block.
	Append(block []byte) error
	// AppendDurably adds a packed block. When it returns nil, that block and all before it
	// survive a power cut. It keeps nothing of block.
	AppendDurably(block []byte) error
	// Obsolete says that blocks with numbers up to upTo are not needed any more, because the
	// block log has blocks with these numbers.
	Obsolete(upTo uint32) error
}

// logs is where a chain keeps blocks: what became irreversible in one log, what may still
// be taken back in the other. Either may be missing; then nothing is kept there.
type logs struct {
	blocks     BlockLog
	reversible ReversibleLog
	encoded    []byte // of the block that was kept last: room for the next one
}

// encodedKept is how much memory of a block is kept for the next one.
const encodedKept = 1 << 20

// keep appends another producer's block to the reversible log, without a sync: a crash may
// lose the block, and peers have it too.
func (l *logs) keep(b *consensus.BlockState) error { return l.keepBy(ReversibleLog.Append, b) }

// keepOwn keeps a block that was made here, durably.
func (l *logs) keepOwn(b *consensus.BlockState) error {
	return l.keepBy(ReversibleLog.AppendDurably, b)
}

func (l *logs) keepBy(appends func(ReversibleLog, []byte) error, b *consensus.BlockState) error {
	if l.reversible == nil {
		return nil
	}
	block := b.Block.Append(l.encoded[:0])
	if l.encoded = block; cap(block) > encodedKept {
		l.encoded = nil
	}
	if err := appends(l.reversible, block); err != nil {
		return fmt.Errorf("keep block %d: %w", b.BlockNum, err)
	}
	return nil
}

// obsolete says that the reversible blocks up to one are not needed any more.
func (l logs) obsolete(upTo uint32) error {
	if l.reversible == nil {
		return nil
	}
	return l.reversible.Obsolete(upTo)
}

// append logs a block that is irreversible.
func (l logs) append(b *consensus.BlockState) error {
	if l.blocks == nil {
		return nil
	}
	if err := l.blocks.Append(b.BlockNum, b.ID, b.Block.Append(nil)); err != nil {
		return fmt.Errorf("log block %d: %w", b.BlockNum, err)
	}
	return nil
}

// head is the last block of the log; false if there is none.
func (l logs) head() (uint32, bool) {
	if l.blocks == nil {
		return 0, false
	}
	n, _, ok := l.blocks.Head()
	return n, ok
}

// has tells whether the log's block of h's number is h. A log that begins above this number
// says nothing against h: then has is true. h's number is not above the log's last.
func (l logs) has(h *consensus.HeaderState) (bool, error) {
	if h.BlockNum < l.blocks.First() {
		return true, nil
	}
	if num, id, ok := l.blocks.Head(); ok && num == h.BlockNum {
		return id == h.ID, nil // without reading it: a log may keep no blocks at all
	}
	b, err := l.blocks.Read(h.BlockNum)
	if err != nil {
		return false, fmt.Errorf("compare the state's block with that of the block log: %w", err)
	}
	return b.ID() == h.ID, nil
}
