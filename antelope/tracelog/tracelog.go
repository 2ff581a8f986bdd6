// Package tracelog keeps what the actions of a chain's blocks did, in the files of nodeos'
// trace_api_plugin, and finds blocks and transactions in them. It owns when a block is
// recorded, which slices are compressed and removed, and the index by which a transaction
// is found.
//
// It never changes the chain, and never lets a reader hold it: blocks are packed and
// written on a goroutine of their own, readers read files, and older slices are compressed
// and removed beside both.
//
// # What a crash leaves
//
// A checkpoint waits until the traces are durable up to its block (History.Sync), so a
// start applies again at least what they lack. Where the chain has gone ahead of them, blocks
// stay missing; what is kept is of the chain all the same (slicefile).
package tracelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/serial"
	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/antelope/writebehind"
)

// Options say what is kept, and where.
type Options struct {
	Files slicefile.Options
	// Keep is how many irreversible blocks are kept at least before a slice is removed
	// (trace-minimum-irreversible-history-blocks); nil removes none.
	Keep *uint32
	// Plain is how many are kept at least before a slice is compressed
	// (trace-minimum-uncompressed-irreversible-history-blocks); nil compresses none.
	Plain *uint32
	// QueueBytes bounds the blocks that wait to be written, about; 0 is 64 MiB. A block
	// waits for those before it, and the chain with it.
	QueueBytes int64
	// BlockID is the id of an irreversible block, false if it cannot be had; nil knows none.
	BlockID func(num uint32) (types.Checksum256, bool, error)
	// Logged is an irreversible block, against which traces are held that are read; nil if it cannot
	// be had, which is no error. Nil knows none. Any goroutine calls it.
	Logged func(num uint32) *types.SignedBlock
	Log    *slog.Logger
}

// ErrNotFound says that there are no traces of a block.
var ErrNotFound = slicefile.ErrNotFound

// History is what is recorded of a chain. Its hooks are the writer's; all else may be
// called from anywhere.
type History struct {
	o        Options
	files    *slicefile.Log
	recorder *writebehind.Queue[job]
	finder   *finder
	keeper   *keeper

	// beginning keeps the first checkpoint of a state that was loaded, and the files' beginning, apart.
	beginning sync.Mutex

	stop   context.CancelFunc
	beside sync.WaitGroup // finder and keeper
}

// job is what is written in one go: a block, that one is irreversible, or both.
type job struct {
	block        *chain.Executed
	elsewhere    *entry            // of a block that another node has executed
	irreversible uint32            // 0 for none
	id           types.Checksum256 // of that
}

// entry is what is kept of a block.
type entry struct {
	traces *wire.Block
	ids    *wire.Transactions
}

// Open opens the files, or begins them.
func Open(o Options) (*History, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Files.Logger == nil {
		o.Files.Logger = o.Log
	}
	files, err := slicefile.Open(o.Files)
	if err != nil {
		return nil, err
	}
	h := &History{o: o, files: files}
	h.finder = newFinder(files, &h.o)
	h.keeper = newKeeper(h)
	h.recorder = writebehind.Start(writebehind.Options[job]{Bytes: o.QueueBytes, Do: h.write, Sync: h.syncFiles,
		Failed: func(err error) {
			h.o.Log.Error("The traces cannot be written: the node stops with its next block", "error", err)
		}})
	return h, nil
}

// Hooks are what the chain tells.
func (h *History) Hooks() chain.Hooks {
	return chain.Hooks{Begin: h.begin, Record: h.record, Adopted: h.adopted,
		Irreversible: func(b *consensus.BlockState) {
			// That the files are closed, or cannot be written, is told by the next block.
			_ = h.recorder.Put(job{irreversible: b.BlockNum, id: b.ID}, 0)
		}}
}

// begin goes on from the head, and begins what works beside the chain.
func (h *History) begin(head *consensus.BlockState) error {
	h.beginning.Lock()
	err := h.files.Begin(slicefile.Chain{Head: head.BlockNum, ID: head.ID, Known: h.o.BlockID})
	h.beginning.Unlock()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.finder.begin()
	h.beside.Go(func() { h.finder.run(ctx) })
	h.beside.Go(func() { h.keeper.run(ctx) })
	return nil
}

// record hands a block over to be written.
func (h *History) record(x *chain.Executed) error {
	j := job{block: x}
	if x.Status == execute.Irreversible { // in a replay nothing else tells it
		j.irreversible, j.id = x.Block.BlockNum, x.Block.ID
	}
	return h.recorder.Put(j, x.TracesSize())
}

// Packing makes what is kept of a block, for another node's history.
func Packing() chain.Packing {
	return chain.Packing{Entry: chain.EntryTraceAPI, Pack: func(x *chain.Executed) ([]byte, error) {
		b, ids, err := wire.Record(x)
		if err != nil {
			return nil, err
		}
		return wire.Entry{Transactions: ids}.Append(b.Append(nil)), nil
	}}
}

// ErrNoEntry says that another node tells of a block without its traces.
var ErrNoEntry = errors.New("the fleet tells of a block without its traces: its node ran without trace_api_plugin " +
	"then. Once there is a snapshot of a node that has it, start with --delete-all-blocks")

// adopted hands a block over that another node has executed.
func (h *History) adopted(x *chain.Adopted) error {
	b, ok := x.Entries[chain.EntryTraceAPI]
	if !ok {
		return ErrNoEntry
	}
	e, err := readEntry(bytes.Clone(b))
	if err == nil &&
		(e.traces.ID != x.Block.ID || e.traces.Number != x.Block.BlockNum || e.ids.Number != x.Block.BlockNum) {
		err = fmt.Errorf("they are of block %d, %s", e.traces.Number, e.traces.ID)
	}
	if err != nil {
		return fmt.Errorf("%w: its traces: %w", chain.ErrOtherState, err)
	}
	j := job{elsewhere: e}
	if x.Final {
		j.irreversible, j.id = x.Block.BlockNum, x.Block.ID
	}
	return h.recorder.Put(j, 3*int64(len(b)))
}

// readEntry decodes what a Packing made.
func readEntry(b []byte) (*entry, error) {
	r := serial.NewReader(b)
	e := &entry{traces: new(wire.Block)}
	e.traces.Read(r)
	var ids wire.Entry
	ids.Read(r)
	switch err := r.End(); {
	case err != nil:
		return nil, err
	case ids.Transactions == nil || e.traces.Roots == nil:
		return nil, errors.New("an entry of another kind")
	}
	for i := range e.traces.Transactions {
		if t := &e.traces.Transactions[i]; t.Receipt == nil || t.Place == nil {
			return nil, errors.New("transactions of an old version")
		}
	}
	e.ids = ids.Transactions
	return e, nil
}

// Sync waits until all blocks that were told are written, and makes them durable.
func (h *History) Sync() error { return h.recorder.Sync() }

func (h *History) syncFiles() error {
	h.beginning.Lock()
	defer h.beginning.Unlock()
	return h.files.Sync()
}

// Close writes what waits, makes it durable, and closes the files. The chain tells
// nothing more, and nobody asks.
func (h *History) Close() error {
	if h.stop != nil {
		h.stop()
	}
	failed := h.recorder.Close()
	h.beside.Wait()
	return errors.Join(failed, h.finder.close(), h.files.Close())
}

// write packs and writes what was told, on the recorder's goroutine.
func (h *History) write(j job) error {
	if err := h.block(j); err != nil {
		return err
	}
	if j.irreversible == 0 {
		return nil
	}
	before := h.files.Irreversible()
	if err := h.files.Finalise(j.irreversible, j.id); err != nil {
		return fmt.Errorf("write that block %d is irreversible: %w", j.irreversible, err)
	}
	if j.irreversible > before {
		h.finder.wait()
		h.finder.wake()
		h.keeper.wake()
	}
	return nil
}

// block records a block, unless its slice would be removed at once.
func (h *History) block(j job) error {
	var num uint32
	switch {
	case j.block != nil:
		num = j.block.Block.BlockNum
	case j.elsewhere != nil:
		num = j.elsewhere.traces.Number
	default:
		return nil
	}
	if end, some := h.keeper.due(h.o.Keep, h.files.Irreversible()); some && h.files.Slice(num) <= end {
		h.files.Pass(num)
		return nil
	}
	e := j.elsewhere
	if e == nil {
		b, ids, err := wire.Record(j.block)
		if err != nil {
			return fmt.Errorf("write the traces of block %d: %w", num, err)
		}
		e = &entry{b, ids}
	}
	filled, err := h.files.Append(e.traces, e.ids)
	if err != nil {
		return fmt.Errorf("write the traces of block %d: %w", num, err)
	}
	h.finder.add(num, e.ids.IDs, filled)
	return nil
}

// Block returns what the transactions of a block did, and whether it is irreversible;
// the error is ErrNotFound if there are no traces of it. take, unless nil, is asked
// before memory is taken, in bytes; its error is the answer.
// What the files, or the block itself, tell to be damaged wraps slicefile.ErrCorrupt.
func (h *History) Block(num uint32, take func(bytes int64) error) (*wire.Block, bool, error) {
	b, irreversible, err := h.files.Read(num, take)
	if err != nil || b == nil {
		return b, irreversible, err
	}
	var block *types.SignedBlock
	if h.o.Logged != nil {
		block = h.o.Logged(num)
	}
	var ids []types.Checksum256
	switch {
	case irreversible:
		ids, err = h.files.IDs(num)
	case block == nil || block.ID() != b.ID:
		return b, false, nil
	default: // after a crash the files may not say yet that it is
		ids, err = idsOf(block)
	}
	if err != nil {
		return nil, false, err
	}
	if err := agree(b, ids, block); err != nil {
		return nil, false, fmt.Errorf("%w: the traces of block %d in %s: %w", slicefile.ErrCorrupt, num,
			h.files.Where(num), err)
	}
	return b, irreversible, nil
}

// Find returns the block that has a transaction: the last one, if several have it. It ends early
// when ctx does.
func (h *History) Find(ctx context.Context, id types.Checksum256) (num uint32, ok bool, err error) {
	return h.finder.find(ctx, id)
}

// Stats are what was done since the history was opened.
type Stats struct {
	Files    slicefile.Stats
	Head     uint32 // block that was told last
	Indexed  uint32 // blocks up to it are in the index of transactions
	Waiting  int64  // memory of blocks that wait to be written, about, in bytes
	IndexNew int64  // bytes written to the index
}

// Stats returns what was done.
func (h *History) Stats() Stats {
	s := Stats{Files: h.files.Stats(), Head: h.files.Head(), Waiting: h.recorder.Waiting()}
	s.Indexed, s.IndexNew = h.finder.stats()
	return s
}
