// Package blocklog keeps the blocks of an Opera chain with their receipts, each once, and
// finds them by ids, transactions and logs.
//
// Blocks of the chain's own are a log, in their order; those that a genesis brought are
// another one, newest first, because genesis files have them so; those that came as records
// after that are a third one, in the order in which they came. Roots are a log of their
// own, because they are known later than their blocks. Transactions of events lie in the
// events; a block has their numbers in the log of events, and of each transaction what it
// takes to find it and to show it: the beginning of its hash, and its sender.
//
// The package owns the entries' form (docs/formats/opera-chain.md) and the keys of the
// indexes. It never executes, checks or derives anything.
//
// One goroutine appends, cuts and settles. Everything else is anybody's, beside it.
package blocklog

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/appendonly"
	"tarn/opera/inter"
	"tarn/store/vfs"
)

// Block is what is kept of a block.
type Block struct {
	ID      inter.EventID
	Time    inter.Timestamp
	GasUsed uint64
	// Events are the numbers, in the log of events, of those whose transactions the block
	// has.
	Events []uint64
	// Txs stand in no event: internal ones, or all of a block from a record.
	Txs types.Transactions
	// Skipped are indexes of transactions that were not executed, among Txs and those of
	// the events together.
	Skipped  []uint32
	Receipts []*types.ReceiptForStorage // of those that were executed
	// Found has the first HashBytes bytes of the hash of each transaction that was
	// executed.
	Found []byte
	// Senders are those of the executed transactions; none if they must be recovered.
	Senders []common.Address
	// Root is that of the state after the block; only of blocks that came as records, with a
	// genesis or after it.
	Root []byte
}

// HashBytes is how much of a transaction's hash a block keeps.
const HashBytes = 8

// Options say where the logs are and what must be there. Zero values stand for the
// defaults.
type Options struct {
	FS     vfs.FS // vfs.OS
	Dir    string
	OldDir string // where segments move to; "" is nowhere
	// SegmentBytes is from which size on a file is finished; 0 is appendonly's default.
	SegmentBytes int64
	// First is the number of the first block of the chain's own.
	First inter.BlockNumber
	// Top is the number after the newest block that a genesis brought; First if it is 0. The
	// blocks from Top to First came as records.
	Top inter.BlockNumber
	// Brought is how many blocks of a genesis must be there; Need and NeedRoots are the
	// numbers up to which blocks and roots must be there, themselves excluded.
	Brought         uint64
	Need, NeedRoots inter.BlockNumber
	// Spare says that the owner cuts at Need and NeedRoots, before it appends: what is wrong behind
	// them stops no open.
	Spare bool
	// IndexBytes is from which size on the newest part of an index becomes a file: 32 MiB.
	IndexBytes int64
	// Notice, if not nil, is told what a crash or damage left to mend, and that it is.
	Notice func(error)
}

// Log is the blocks.
type Log struct {
	first    inter.BlockNumber
	top      inter.BlockNumber // after the newest that a genesis brought
	own      part
	brought  part
	recorded records
	roots    *appendonly.Log
}

// part is a log of blocks with its index.
type part struct {
	log   *appendonly.Log
	index *appendonly.Index
}

// Open opens the logs, or makes them.
func Open(o Options) (*Log, error) {
	l := &Log{first: o.First, top: cmp.Or(o.Top, o.First)}
	err := l.open(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the log of blocks: %w", err), l.Close())
	}
	return l, nil
}

func (l *Log) open(o Options) (err error) {
	dir := func(base, name string) string {
		if base == "" {
			return ""
		}
		return filepath.Join(base, name)
	}
	logs := func(name string, first, need uint64) appendonly.LogOptions {
		return appendonly.LogOptions{
			FS: o.FS, Dir: dir(o.Dir, name), OldDir: dir(o.OldDir, name), First: first, Need: need,
			SegmentBytes: o.SegmentBytes, Notice: o.Notice,
		}
	}
	own, roots := logs("own", uint64(o.First), uint64(o.Need)), logs("roots", uint64(o.First), uint64(o.NeedRoots))
	own.Spare, roots.Spare = o.Spare, o.Spare
	if l.own, err = openPart(own, o, keys); err != nil {
		return err
	}
	if l.brought, err = openPart(logs("brought", 0, o.Brought), o, keys); err != nil {
		return err
	}
	if l.recorded.part, err = openPart(logs("recorded", 0, 0), o, recordKeys); err != nil {
		return err
	}
	if err = l.recorded.find(); err != nil {
		return err
	}
	l.roots, err = appendonly.OpenLog(roots)
	return err
}

// keysOf emits the keys of an entry.
type keysOf func(number uint64, entry []byte, emit func(key, value []byte)) error

func openPart(lo appendonly.LogOptions, o Options, keys keysOf) (p part, err error) {
	if p.log, err = appendonly.OpenLog(lo); err != nil {
		return p, err
	}
	if p.index, err = appendonly.OpenIndex(appendonly.IndexOptions{
		FS: o.FS, Dir: lo.Dir, Log: p.log, Keys: keys, MemoryBytes: o.IndexBytes, Notice: o.Notice,
	}); err != nil {
		return p, err
	}
	return p, p.index.Drop()
}

func (p *part) close() (err error) {
	if p.index != nil {
		err = p.index.Close()
	}
	if p.log != nil {
		err = errors.Join(err, p.log.Close())
	}
	return err
}

// append adds a block to a part, as its entry of a number.
func (p *part) append(number uint64, b *Block) error {
	if next := p.log.Next(); next != number {
		return fmt.Errorf("the next entry is %d, not %d", next, number)
	}
	entry, err := rlp.EncodeToBytes(b)
	if err != nil {
		return err
	}
	if _, err := p.log.Append(entry); err != nil {
		return err
	}
	return p.index.AddKeys(number, func(emit func(key, value []byte)) error {
		b.keys(emit)
		return nil
	})
}

// Append adds the next block of the chain's own.
func (l *Log) Append(number inter.BlockNumber, b *Block) error {
	if err := l.own.append(uint64(number), b); err != nil {
		return fmt.Errorf("append block %d: %w", number, err)
	}
	return nil
}

// AppendBrought adds a block that a genesis brought. They come newest first, the last
// before the chain's own at once.
func (l *Log) AppendBrought(number inter.BlockNumber, b *Block) error {
	if number >= l.top {
		return fmt.Errorf("append block %d of a genesis: the chain's own begin with %d", number, l.top)
	}
	if err := l.brought.append(uint64(l.top-1-number), b); err != nil {
		return fmt.Errorf("append block %d of a genesis: %w", number, err)
	}
	return nil
}

// AppendRoot adds the root of the state after a block of the chain's own. They come in
// order.
func (l *Log) AppendRoot(number inter.BlockNumber, root [32]byte) error {
	if next := l.roots.Next(); next != uint64(number) {
		return fmt.Errorf("append the root of block %d: that of %d comes first", number, next)
	}
	if _, err := l.roots.Append(root[:]); err != nil {
		return fmt.Errorf("append the root of block %d: %w", number, err)
	}
	return nil
}

// Next is the number that the next block of the chain's own gets.
func (l *Log) Next() inter.BlockNumber { return inter.BlockNumber(l.own.log.Next()) }

// Brought is how many blocks came with the genesis.
func (l *Log) Brought() uint64 { return l.brought.log.Next() }

// place tells in which part a block is, and as which entry.
func (l *Log) place(number inter.BlockNumber) (*part, uint64) {
	if number >= l.top {
		return &l.own, uint64(number)
	}
	return &l.brought, uint64(l.top - 1 - number)
}

// Block returns a block, nil if there is none. It is the caller's.
func (l *Log) Block(number inter.BlockNumber) (*Block, error) {
	p, at := l.place(number)
	entry, err := p.log.Read(at, nil)
	if errors.Is(err, appendonly.ErrNoEntry) {
		return l.Recorded(number)
	}
	b := new(Block)
	if err == nil {
		err = rlp.DecodeBytes(entry, b)
	}
	if err != nil {
		return nil, fmt.Errorf("read block %d: %w", number, err)
	}
	return b, nil
}

// ID returns the id of a block, and whether there is one. Nothing else of the block is decoded, which may be large.
func (l *Log) ID(number inter.BlockNumber) (id inter.EventID, found bool, err error) {
	p, at := l.place(number)
	entry, err := p.log.Read(at, nil)
	if errors.Is(err, appendonly.ErrNoEntry) {
		b, err := l.Recorded(number)
		if err != nil || b == nil {
			return id, false, err
		}
		return b.ID, true, nil
	}
	var raw []byte
	if err == nil {
		if raw, _, err = rlp.SplitList(entry); err == nil {
			raw, _, err = rlp.SplitString(raw)
		}
	}
	if err == nil && len(raw) != len(id) {
		err = fmt.Errorf("its id has %d bytes", len(raw))
	}
	if err != nil {
		return id, false, fmt.Errorf("read the id of block %d: %w", number, err)
	}
	return inter.EventID(raw), true, nil
}

// Root returns the root of the state after a block of the chain's own, and whether the log
// has it.
func (l *Log) Root(number inter.BlockNumber) (root [32]byte, ok bool, err error) {
	if number < l.first {
		return root, false, nil
	}
	entry, err := l.roots.Read(uint64(number), nil)
	if errors.Is(err, appendonly.ErrNoEntry) {
		return root, false, nil
	}
	if err == nil && len(entry) != len(root) {
		err = fmt.Errorf("%d bytes", len(entry))
	}
	if err != nil {
		return root, false, fmt.Errorf("read the root of block %d: %w", number, err)
	}
	return [32]byte(entry), true, nil
}

func (l *Log) logs() []*appendonly.Log {
	return []*appendonly.Log{l.own.log, l.brought.log, l.recorded.log, l.roots}
}

// Sync makes durable what was appended.
func (l *Log) Sync() error {
	records := l.Records()
	var errs []error
	for _, log := range l.logs() {
		errs = append(errs, log.Sync())
	}
	err := errors.Join(errs...)
	if err == nil {
		l.recorded.synced.Store(records)
	}
	return err
}

// Settle tells that the blocks before a number, all that the genesis brought, and all records
// that are synced, will not be cut any more. It takes as long as sorting some of them does, and may run beside the
// goroutine that appends, but not beside Cut.
func (l *Log) Settle(before inter.BlockNumber) error {
	return errors.Join(l.brought.index.Settle(l.Brought()), l.recorded.index.Settle(l.recorded.synced.Load()),
		l.own.index.Settle(uint64(before)))
}

// Save saves the indexes of what [Log.Settle] tells of ([appendonly.Index.Save]).
func (l *Log) Save(before inter.BlockNumber) error {
	return errors.Join(l.brought.index.Save(l.Brought()), l.recorded.index.Save(l.recorded.synced.Load()),
		l.own.index.Save(uint64(before)))
}

// Move moves a segment of each log that has nothing but blocks before a number, such that a
// genesis brought, or records that are synced, to OldDir, and tells whether there was one. It may run beside the
// goroutine that appends, but not beside Cut.
func (l *Log) Move(before inter.BlockNumber) (bool, error) {
	own, err := l.own.log.Move(uint64(before))
	brought, err2 := l.brought.log.Move(l.Brought())
	recorded, err3 := l.recorded.log.Move(l.recorded.synced.Load())
	roots, err4 := l.roots.Move(uint64(before))
	return own || brought || recorded || roots, errors.Join(err, err2, err3, err4)
}

// Cut forgets the blocks and the roots from two numbers on.
func (l *Log) Cut(blocks, roots inter.BlockNumber) error {
	return errors.Join(l.own.log.Cut(uint64(blocks)), l.own.index.Cut(uint64(blocks)), l.roots.Cut(uint64(roots)))
}

// Verify reads everything and reports what is not as it was written. Read, if not nil, is told
// how many bytes were read since the last time; its error ends this.
func (l *Log) Verify(report func(error), read func(bytes int64) error) error {
	var errs []error
	for _, log := range l.logs() {
		errs = append(errs, log.Verify(report, read))
	}
	return errors.Join(append(errs, l.own.index.Verify(report, read), l.brought.index.Verify(report, read),
		l.recorded.index.Verify(report, read))...)
}

// First returns the number of the first block that is the chain's own. Any goroutine may ask.
func (l *Log) First() inter.BlockNumber { return l.first }

// Top returns the number after the newest block that a genesis brought; from there to First they
// came as records. Any goroutine may ask.
func (l *Log) Top() inter.BlockNumber { return l.top }

// Stats are the log's figures.
type Stats struct {
	LogBytes int64 // of the logs' files, written once
	// Index is of the chain's own blocks, Brought of those of the genesis, Recorded of those
	// that came as records.
	Index, Brought, Recorded appendonly.IndexStats
}

// Stats may be called by any goroutine.
func (l *Log) Stats() Stats {
	s := Stats{Index: l.own.index.Stats(), Brought: l.brought.index.Stats(), Recorded: l.recorded.index.Stats()}
	for _, log := range l.logs() {
		s.LogBytes += log.Size()
	}
	return s
}

// Close closes the files; what was not synced may be lost.
func (l *Log) Close() error {
	err := errors.Join(l.own.close(), l.brought.close(), l.recorded.close())
	if l.roots != nil {
		err = errors.Join(err, l.roots.Close())
	}
	return err
}
