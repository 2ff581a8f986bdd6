package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"tarn/opera/blocklog"
	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store"
)

// View shows the chain as it was after one block, while the writer goes on. Any goroutine
// may use it, several at a time. It holds memory until it is closed.
type View struct {
	chain *Chain
	from  store.Reader
	close func() error // nil for the writer's own
	shown *shown
}

// shown is what stands in memory of a revision. It is never changed.
type shown struct {
	block    inter.BlockState // without the root
	epoch    *inter.EpochState
	upgrades []inter.UpgradeHeight
	config   *params.ChainConfig
}

// View returns the chain after the newest block. It must be closed.
func (c *Chain) View() (*View, error) {
	from, err := c.store.View()
	if err != nil {
		return nil, fmt.Errorf("view the chain: %w", err)
	}
	v := &View{chain: c, from: from, close: from.Close, shown: c.shown.Load()}
	if v.shown == nil || uint64(v.shown.block.LastBlock.Number) != from.Revision() {
		// The writer is between publishing and saying so.
		h, err := c.rows.getHead(from)
		if err == nil && h == nil {
			err = ErrEmpty
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("view the chain: %w", err), from.Close())
		}
		v.shown = &shown{block: h.Block, epoch: &h.Epoch, upgrades: h.Upgrades,
			config: evm.ChainConfig(c.network.ID, h.Upgrades)}
	}
	return v, nil
}

// show says what the revision is that was published.
func (c *Chain) show() {
	c.shown.Store(&shown{block: c.block.Copy(), epoch: c.epoch, upgrades: c.upgrades, config: c.config})
}

// own is the writer's view.
func (c *Chain) own() *View {
	return &View{chain: c, from: c.store, shown: &shown{block: c.block, epoch: c.epoch, upgrades: c.upgrades,
		config: c.config}}
}

// Close gives the view back.
func (v *View) Close() error {
	if v.close == nil {
		return nil
	}
	return v.close()
}

// Network returns what chain it is.
func (v *View) Network() Network { return v.chain.network }

// Head returns the last block.
func (v *View) Head() inter.BlockInfo { return v.shown.block.LastBlock }

// Epoch returns what holds for the next block. It never changes.
func (v *View) Epoch() *inter.EpochState { return v.shown.epoch }

// Config says which of Ethereum's upgrades hold at which block.
func (v *View) Config() *params.ChainConfig { return v.shown.config }

// BlockState returns the state of blocks after the last one, its root included, which may
// have to be waited for. It is the caller's.
func (v *View) BlockState() (inter.BlockState, error) {
	s := v.shown.block.Copy()
	root, err := v.Root(s.LastBlock.Number)
	s.FinalizedStateRoot = root
	return s, err
}

// Present returns the state of blocks after the last one without its root, for which
// nobody has to wait. It must not be changed.
func (v *View) Present() *inter.BlockState { return &v.shown.block }

func (v *View) has(number inter.BlockNumber) bool { return number <= v.Head().Number }

// Made tells whether the chain has made a block itself, by executing it: it did not come with the
// genesis, or as a record.
func (v *View) Made(number inter.BlockNumber) bool {
	return v.has(number) && number >= v.chain.logs.blocks.First()
}

// Keeps tells whether the chain has a block with its receipts. Of one that the chain has made, or that came as a record,
// nothing is read.
func (v *View) Keeps(number inter.BlockNumber) (bool, error) {
	if v.Made(number) {
		return true, nil
	}
	if found, err := v.chain.logs.blocks.HasRecord(number); found || err != nil {
		return found, err
	}
	e, err := v.entry(number)
	return e != nil, err
}

// entry returns a block, nil if there is none: the chain's own, or one that came as a record.
func (v *View) entry(number inter.BlockNumber) (*blocklog.Block, error) {
	if v.has(number) {
		return v.chain.logs.blocks.Block(number)
	}
	return v.chain.logs.blocks.Recorded(number)
}

// Block returns a block with its receipts, which have everything in them; nil if there is
// none.
func (v *View) Block(number inter.BlockNumber) (*Block, error) {
	e, err := v.entry(number)
	if err != nil || e == nil {
		return nil, err
	}
	return v.complete(number, e)
}

// complete makes a block of its entry.
func (v *View) complete(number inter.BlockNumber, e *blocklog.Block) (*Block, error) {
	h, err := v.header(number, e)
	if err != nil {
		return nil, err
	}
	b, err := v.chain.logs.assemble(number, e)
	if err != nil {
		return nil, err
	}
	if len(b.Senders) != len(b.Txs) {
		v.chain.verifier.senders.Find(b.Txs)
	}
	return b, b.derive(h)
}

// Header returns what transactions of a block see of it, nil if there is none. One goroutine at a time may use it.
func (v *View) Header(number inter.BlockNumber) (*evm.Header, error) {
	b, err := v.entry(number)
	if err != nil || b == nil {
		return nil, err
	}
	return v.header(number, b)
}

func (v *View) header(number inter.BlockNumber, e *blocklog.Block) (*evm.Header, error) {
	h := &evm.Header{Number: number, Time: e.Time, ID: e.ID, Config: v.shown.config, BlockID: BlockIDs(v)}
	fee, ok := v.chain.fees.get(e.ID.Epoch())
	if ok {
		h.BaseFee = fee
		return h, nil
	}
	// Of a block that came with a genesis the rules are shown that hold in the epoch of its
	// id, whatever it was executed with (go-opera, gossip/evm_state_reader.go).
	record, err := v.EpochRecord(e.ID.Epoch())
	if err != nil || record == nil {
		return h, err
	}
	h.BaseFee = evm.BaseFee(&record.State.EpochState.Rules)
	v.chain.fees.set(record.Epoch, h.BaseFee)
	return h, nil
}

// BlockID returns a block's id as BLOCKHASH does: zero where there is no such block, or none
// that can be read.
func (v *View) BlockID(number inter.BlockNumber) inter.EventID {
	if number == 0 {
		return v.chain.zero()
	}
	id, found, err := idOf(v, number)
	if err != nil || !found {
		return inter.EventID{}
	}
	return id
}

// idOf returns the id of a block as entry does the block, and whether there is one.
func idOf(v *View, number inter.BlockNumber) (id inter.EventID, found bool, err error) {
	if v.has(number) {
		return v.chain.logs.blocks.ID(number)
	}
	b, err := v.chain.logs.blocks.Recorded(number)
	if err != nil || b == nil {
		return id, false, err
	}
	return b.ID, true, nil
}

// BlockIDs returns what tells ids as a view's BlockID does, and reads each block once: a contract asks for next to no
// gas. One goroutine at a time may call it, and for the 256 blocks that BLOCKHASH knows.
func BlockIDs(v *View) func(inter.BlockNumber) inter.EventID {
	ids := map[inter.BlockNumber]inter.EventID{}
	return func(number inter.BlockNumber) inter.EventID {
		id, ok := ids[number]
		if !ok {
			id = v.BlockID(number)
			ids[number] = id
		}
		return id
	}
}

// Root waits for the root of the state after a block, and returns it.
func (v *View) Root(number inter.BlockNumber) ([32]byte, error) {
	if v.has(number) {
		return v.chain.root(number)
	}
	b, err := v.chain.logs.blocks.Recorded(number)
	if err == nil && b == nil {
		err = fmt.Errorf("the last one is %d", v.Head().Number)
	}
	if err != nil {
		return [32]byte{}, fmt.Errorf("the root of block %d: %w", number, err)
	}
	return [32]byte(b.Root), nil
}

// Whole waits until the root of the state after the last block is computed, or the context ends:
// after that Root does not wait.
func (v *View) Whole(ctx context.Context) error {
	number, c := v.Head().Number, v.chain
	if _, ok, err := c.logs.blocks.Root(number); err != nil || ok || number < c.logs.blocks.First() {
		return err
	}
	err := c.roots.Wait(ctx, uint64(number))
	if err != nil {
		// It may have gone into the log meanwhile.
		if _, ok, again := c.logs.blocks.Root(number); again == nil && ok {
			return nil
		}
	}
	return err
}

// root waits for the root of a block that was published.
func (c *Chain) root(number inter.BlockNumber) ([32]byte, error) {
	if root, ok, err := c.logs.blocks.Root(number); err != nil || ok {
		return root, err
	}
	if number < c.logs.blocks.First() {
		b, err := c.logs.blocks.Block(number)
		if err == nil && (b == nil || len(b.Root) != common.HashLength) {
			err = state.ErrNoState
		}
		if err != nil {
			return [32]byte{}, fmt.Errorf("the root of block %d: %w", number, err)
		}
		return [32]byte(b.Root), nil
	}
	root, err := c.roots.Root(uint64(number))
	if err != nil {
		// It may have gone into the log meanwhile.
		if root, ok, again := c.logs.blocks.Root(number); again == nil && ok {
			return root, nil
		}
		return [32]byte{}, fmt.Errorf("the root of block %d: %w", number, err)
	}
	return root, nil
}

// NumberOf returns the number of the block with an id, and whether there is one.
func (v *View) NumberOf(id inter.EventID) (number inter.BlockNumber, found bool, err error) {
	var failed error
	err = v.chain.logs.blocks.Numbers(id, func(n inter.BlockNumber) bool {
		is, has, err := idOf(v, n)
		if err != nil {
			failed = err
			return false
		}
		if found = has && is == id; found {
			number = n
		}
		return !found
	})
	return number, found, errors.Join(err, failed)
}

// TxPlace is where a transaction was executed.
type TxPlace struct {
	Block inter.BlockNumber
	Index uint // among the block's executed ones
}

// Places calls each for the places where a transaction may have been executed, until it
// returns false: the log knows the beginnings of hashes.
func (v *View) Places(hash common.Hash, each func(TxPlace) bool) error {
	var failed error
	err := v.chain.logs.blocks.Transactions(hash, func(n inter.BlockNumber, index uint) bool {
		has := v.has(n)
		if !has {
			has, failed = v.chain.logs.blocks.HasRecord(n)
		}
		return failed == nil && (!has || each(TxPlace{n, index}))
	})
	return errors.Join(err, failed)
}

// LogQuery is which logs are wanted: of the blocks From to To, by one of the addresses if
// there are any, and with one of the topics at each place that has any.
type LogQuery = blocklog.Query

// Logging calls each for the numbers of the blocks that may have logs that a query wants, oldest
// first, until it returns false.
func (v *View) Logging(ctx context.Context, q LogQuery, each func(inter.BlockNumber) bool) error {
	before, after := q, q
	before.To, after.From = min(q.To, v.Head().Number), max(q.From, v.Head().Number+1)
	more := true
	err := v.chain.logs.blocks.Logging(ctx, &before, func(n inter.BlockNumber) bool {
		more = each(n)
		return more
	})
	if err == nil && more && after.From <= q.To {
		_, err = v.chain.logs.blocks.LoggingRecords(ctx, &after, each)
	}
	return err
}

// BlockWith returns a block as Block does if it has a log that is wanted, else nil. Of one that
// has none less is read.
func (v *View) BlockWith(number inter.BlockNumber, wanted func(*types.Log) bool) (*Block, error) {
	e, err := v.entry(number)
	if err != nil || e == nil || !slices.ContainsFunc(e.Receipts,
		func(r *types.ReceiptForStorage) bool { return slices.ContainsFunc(r.Logs, wanted) }) {
		return nil, err
	}
	return v.complete(number, e)
}

// Logs calls each for the logs that a query wants, oldest first, until it returns false.
// A log is the callee's.
func (v *View) Logs(ctx context.Context, q LogQuery, each func(*types.Log) bool) error {
	var failed error
	err := v.Logging(ctx, q, func(n inter.BlockNumber) bool {
		b, err := v.BlockWith(n, q.Wants)
		if err != nil {
			failed = err
			return false
		}
		if b == nil {
			return ctx.Err() == nil
		}
		for _, r := range b.Receipts {
			for _, l := range r.Logs {
				if q.Wants(l) && !each(l) {
					return false
				}
			}
		}
		return ctx.Err() == nil
	})
	return errors.Join(err, failed, ctx.Err())
}

// State returns the state after the last block, valid until Close.
func (v *View) State() state.Source { return v.chain.state.Flat(v.from) }

// Account returns an account after the last block; the one of an address that has none is
// empty.
func (v *View) Account(address common.Address) (state.Account, error) {
	a, err := v.State().Account(crypto.Keccak256Hash(address[:]))
	switch {
	case err != nil:
		return state.Account{}, fmt.Errorf("read the account %v: %w", address, err)
	case a == nil:
		return state.Account{}, nil
	}
	return *a, nil
}

// walkLimit is how many changed accounts and slots a walk over an old state may go
// through, and proofLimit how many may be taken back for a proof.
const (
	walkLimit  = 1 << 20
	proofLimit = 1 << 17
)

// StateAt returns the state after a block, valid until Close; [state.ErrNoState] if it is
// not kept.
func (v *View) StateAt(number inter.BlockNumber) (state.Source, error) {
	if number == v.Head().Number {
		return v.State(), nil
	}
	return v.chain.logs.states.At(uint64(number), uint64(v.Head().Number), v.State(), walkLimit)
}

// Proof proves an account and some of its slots to whoever knows the root after a block, until the context ends.
func (v *View) Proof(
	ctx context.Context, number inter.BlockNumber, address common.Address, slots []common.Hash,
) (*state.Proof, error) {
	from, ok := v.from.(store.View)
	if !ok || !v.has(number) {
		return nil, fmt.Errorf("prove the state of block %d: %w", number, state.ErrNoState)
	}
	hashed := make([]common.Hash, len(slots))
	for i, slot := range slots {
		hashed[i] = crypto.Keccak256Hash(slot[:])
	}
	p, err := v.chain.state.Prove(ctx, from, v.chain.logs.states, uint64(number), proofLimit,
		crypto.Keccak256Hash(address[:]), hashed)
	if err != nil {
		return nil, err
	}
	root, err := v.Root(number)
	if err == nil && !bytes.Equal(root[:], p.Root[:]) {
		err = fmt.Errorf("prove the state of block %d: its root is %x, and what was made has %x: %w",
			number, root, p.Root, store.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// BlockRecord returns a block as it is exchanged, nil if there is none. It waits for the
// block's root.
func (v *View) BlockRecord(number inter.BlockNumber) (*inter.BlockRecord, error) {
	e, err := v.entry(number)
	if err != nil || e == nil {
		return nil, err
	}
	b, err := v.chain.logs.assemble(number, e)
	if err != nil {
		return nil, err
	}
	record := &inter.BlockRecord{Number: number, Block: inter.BlockContent{
		Atropos: b.ID, Txs: b.Txs, Receipts: make([]*types.ReceiptForStorage, len(b.Receipts)), Time: b.Time,
		GasUsed: b.GasUsed,
	}}
	for i, r := range b.Receipts {
		record.Block.Receipts[i] = (*types.ReceiptForStorage)(r)
	}
	record.Block.Root, err = v.Root(number)
	return record, err
}

// EpochRecord returns the beginning of an epoch, nil if it is not known. Of an epoch that
// began with the last block it waits for that block's root.
func (v *View) EpochRecord(number inter.Epoch) (*inter.EpochRecord, error) {
	record := new(inter.EpochRecord)
	ok, err := get(v.from, v.chain.rows.epochs, epochKey(number), record)
	if err != nil || ok {
		return record, err
	}
	if number != v.shown.epoch.Epoch {
		return v.chain.rows.getRecord(v.from, number)
	}
	s, err := v.BlockState()
	if err != nil {
		return nil, err
	}
	return &inter.EpochRecord{Epoch: number, State: inter.EpochContent{BlockState: s, EpochState: *v.shown.epoch}}, nil
}

// EpochOf returns the epoch of a block by where epochs begin, 0 if it is before them all.
// Of a block that is still to come it is the present one.
func (v *View) EpochOf(number inter.BlockNumber) (inter.Epoch, error) {
	record, err := v.recordOf(number, v.shown.epoch.Epoch)
	if err != nil || record == nil {
		return 0, err
	}
	return record.Epoch, nil
}

// recordOf returns the record of the epoch of a block, which is none after the last one. No
// epoch is known before the first one of the genesis, all from there to the last one are.
func (v *View) recordOf(number inter.BlockNumber, last inter.Epoch) (*inter.EpochRecord, error) {
	first := inter.Epoch(0)
	var found *inter.EpochRecord
	for first < last {
		middle := first + (last-first+1)/2
		record, err := v.EpochRecord(middle)
		if err != nil {
			return nil, err
		}
		if record == nil || record.State.BlockState.LastBlock.Number < number {
			first, found = middle, record
		} else {
			last = middle - 1
		}
	}
	return found, nil
}
