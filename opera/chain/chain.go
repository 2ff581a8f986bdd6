// Package chain is Opera's ledger: it takes events, parents first, and arrives at the
// blocks, receipts, roots, epochs and rules of go-opera.
//
// It owns the order of things: an event is checked, consensus decides, a decided frame
// becomes a block, the block is executed, and all that it changed is one revision of the
// store, irreversible at once, because Opera's blocks are final. It owns the rows of epochs
// and of its head; those of accounts are opera/state's. Events, blocks, roots and what each
// block changed are written once, into the logs of [History]. It never talks to peers or
// clients, reads no clock, and knows no engine.
//
// # Goroutines
//
// One goroutine, the writer, calls the methods of [Chain] that do not say otherwise.
// [View] shows the chain to everybody else, and [Verifier] makes the checks that need no
// writer: decoding and signatures. Beside the writer runs the goroutine that computes roots
// (opera/state), and now and then one that sorts what the logs' indexes have in memory.
//
// # What is durable
//
//  1. An event is in its log before anything is made of it.
//  2. A block, and what it changed, is in the logs before its revision is published.
//  3. The logs are synced before an image of the store counts on them. They may be ahead of
//     the store, never behind.
//  4. A start takes the revision that the store has, cuts the logs of blocks there, gives
//     the epoch's events before it to consensus, and connects those that came after it
//     again: the same blocks are made of them.
//  5. A state that is brought in is durable as a whole, with the row that makes a start go over to its
//     epoch, before the chain's head is there (goover.go).
//
// So a process that is killed loses no event that a block was made of, and a power cut
// none that was synced.
//
// # Chains that follow
//
// A [Follower] has no events to make blocks of: a [Teller] of another chain says what each block changed, and brought
// to the logs. Its start takes the revision that the store has and cuts all logs there.
package chain

import (
	"errors"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store"
)

// Options of a chain.
type Options struct {
	// Store is open, the chain's to write until Close, and closed by its owner after it.
	Store store.Store
	// History is what the store's engine syncs before its checkpoints. It is opened by the
	// chain, and closed with it.
	History *History
	// Warn, if not nil, is told what an operator should know and no rule forbids: what
	// the driver contract says that cannot be understood, and proofs of cheating.
	Warn func(error)
	// Connected, if not nil, is told of each block after it was published. It must not
	// keep the writer.
	Connected func(*Block)
	// Recorded, if not nil, is told of each block that came as a record, once it is taken. It must not keep the
	// writer.
	Recorded func(*inter.BlockRecord)
	// Pushed, if not nil, is told of each block while its revision can be undone, with the block before it, and the
	// rows of [Teller.Tables] that it changed. Nobody sees the block yet. It must not keep the writer; after an error
	// of it nothing can go on.
	Pushed func(before inter.BlockInfo, b *Block, rows ChangedRows) error
	// Progress, if not nil, is told by Open how many of the epoch's events were given to
	// consensus again.
	Progress func(done, total uint64)
	// Beginnings has the state with which the present epoch began held for others; see
	// [Chain.Beginning]. It keeps on the disk, or in memory, what the epoch's blocks replace.
	Beginnings bool
	// Analyses is how many bytes of analysed contracts are remembered; 16 MiB by default.
	Analyses int
}

// Chain is the ledger. See the package comment for who may call what.
//
// The present epoch is its Graph; what was written once, its logs; what validators say about
// records, its ballot. It has many methods still, because connecting, deciding, making a block
// and writing its revision are steps of one writer over one state.
type Chain struct {
	*logs
	Graph
	ballot

	options   Options
	store     store.Store
	state     *state.Tables
	hashes    *state.Hashes
	roots     *state.Roots
	rows      rows
	beginning beginnings
	shown     atomic.Pointer[shown] // of the newest revision
	fees      fees

	network Network
	counted counted
	beyond  beyond

	// rootsForgotten is whether rows of roots below counted.Roots were looked for since the start.
	rootsForgotten bool

	frontier atomic.Pointer[Frontier] // that views show
	block    inter.BlockState         // after the last frame; its root lacks, see root
	upgrades []inter.UpgradeHeight
	record   *inter.EpochRecord // of the epoch that began with the last block, until it is written

	verifier *Verifier
	decided  inter.Frame      // the last frame of the epoch that was made a block, or skipped
	settled  store.Checkpoint // the last that was asked for
	config   *params.ChainConfig
	analyses *evm.Analyses
	ids      recent
	failed   error // why the writer cannot go on
}

// Network is what chain it is.
type Network struct {
	GenesisID [32]byte
	ID        uint64
	Name      string
}

// Network returns what chain it is.
func (c *Chain) Network() Network { return c.network }

// Epoch returns what holds in the present epoch. It never changes.
func (c *Chain) Epoch() *inter.EpochState { return c.epoch }

// Head returns the last block.
func (c *Chain) Head() inter.BlockInfo { return c.block.LastBlock }

// Root waits for the root of the state after a block, and returns it.
func (c *Chain) Root(number inter.BlockNumber) ([32]byte, error) { return c.own().Root(number) }

// BlockState returns the state of blocks after the last one, its root included, which may
// have to be waited for. It is the caller's.
func (c *Chain) BlockState() (inter.BlockState, error) { return c.own().BlockState() }

// BlockRecord returns a block as it is exchanged, nil if there is none. It waits for the
// block's root.
func (c *Chain) BlockRecord(number inter.BlockNumber) (*inter.BlockRecord, error) {
	return c.own().BlockRecord(number)
}

// EpochRecord returns the beginning of an epoch, nil if it is not known.
func (c *Chain) EpochRecord(number inter.Epoch) (*inter.EpochRecord, error) {
	if c.record != nil && c.record.Epoch == number {
		return c.record, nil
	}
	return c.own().EpochRecord(number)
}

// Signer returns who recovers the senders of transactions in events. It accepts what any
// epoch does; the epoch's checks refuse types that are not allowed yet.
func (c *Chain) Signer() types.Signer {
	return types.NewLondonSigner(new(big.Int).SetUint64(c.network.ID))
}

// Checkpoint starts to make the last block durable. See store.Store.
func (c *Chain) Checkpoint() (store.Checkpoint, error) { return c.store.Checkpoint() }

// Close ends what runs beside the writer and closes the logs. The store stays open.
func (c *Chain) Close() error {
	if c.roots != nil {
		c.roots.Close()
	}
	err := c.beginning.replace(nil)
	if c.logs != nil {
		c.warn(c.logs.save(c.store.Durable().Irreversible))
		err = errors.Join(err, c.logs.close())
	}
	if err != nil {
		return fmt.Errorf("close the history: %w", err)
	}
	return nil
}

func (c *Chain) warn(err error) {
	if c.options.Warn != nil && err != nil {
		c.options.Warn(err)
	}
}

// fail notes that the store no longer is what memory says; nothing can go on but a start.
func (c *Chain) fail(err error) error {
	c.failed = err
	return err
}

// zero is the id of block 0, which is never made: the genesis' without epoch and time.
func (c *Chain) zero() inter.EventID {
	zero := inter.EventID(c.network.GenesisID)
	clear(zero[:8])
	return zero
}

// fees remembers the base fees of epochs that were asked for, nil before London.
type fees struct {
	mu sync.Mutex
	of map[inter.Epoch]*big.Int
}

// rememberedFees bounds them.
const rememberedFees = 4096

func (f *fees) get(e inter.Epoch) (*big.Int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fee, ok := f.of[e]
	return fee, ok
}

func (f *fees) set(e inter.Epoch, fee *big.Int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil || len(f.of) >= rememberedFees {
		f.of = map[inter.Epoch]*big.Int{}
	}
	f.of[e] = fee
}

// recent is the ids of the last blocks, for BLOCKHASH.
type recent struct {
	ids [257]inter.EventID
}

func (r *recent) set(number inter.BlockNumber, id inter.EventID) { r.ids[number%257] = id }

func (r *recent) get(number inter.BlockNumber) inter.EventID { return r.ids[number%257] }
