// Package chain is Opera's ledger: it takes events, parents first, and arrives at the
// blocks, receipts, roots, epochs and rules of go-opera.
//
// It owns the order of things: an event is checked, consensus decides, a decided frame
// becomes a block, the block is executed, and all that it changed is one revision of the
// store, irreversible at once, because Opera's blocks are final. It owns the rows of
// blocks, epochs and events; the rows of accounts are opera/state's. It never talks to
// peers or clients, reads no clock, opens no file, and knows no engine.
//
// # Goroutines
//
// One goroutine, the writer, calls the methods of [Chain]. Beside it runs the one that
// computes roots (opera/state). [Verifier] does what needs no writer on any goroutine:
// decoding and signatures.
//
// # What is durable
//
// A revision holds a block with everything that led to it: the states of block and epoch,
// the last decided frame, the events connected since the block before. So whichever
// revision a start finds, it goes on from there: the epoch's events are fed to consensus
// once more, which keeps silent about what it had decided, and events that came later are
// to be had again from whoever sent them.
package chain

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"tarn/opera/dag"
	"tarn/opera/eventcheck"
	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store"
)

// Options of a chain.
type Options struct {
	// Store is open, the chain's to write until Close, and closed by its owner after it.
	Store store.Store
	// Warn, if not nil, is told what an operator should know and no rule forbids: what
	// the driver contract says that cannot be understood, and proofs of cheating.
	Warn func(error)
	// Connected, if not nil, is told of each block after it was published. It must not
	// keep the writer.
	Connected func(*Block)
	// Analyses is how many bytes of analysed contracts are remembered; 16 MiB by default.
	Analyses int
}

// Chain is the ledger. See the package comment for who may call what.
type Chain struct {
	options Options
	store   store.Store
	state   *state.Tables
	roots   *state.Roots
	rows    rows

	network  Network
	block    inter.BlockState // after the last frame; its root lacks, see root
	epoch    *inter.EpochState
	upgrades []inter.UpgradeHeight
	record   *inter.EpochRecord // of the epoch that began with the last block, until it is written

	verifier *Verifier
	checks   *eventcheck.Epoch
	dag      *dag.Epoch
	decided  inter.Frame // the last frame of the epoch that was made a block, or skipped
	graph    map[inter.EventID]*vertex
	fresh    []*inter.Payload // connected since the last revision
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

// vertex is an event of the epoch.
type vertex struct {
	event   inter.Event    // without extra data and parents
	payload *inter.Payload // until the event is confirmed
}

// Network returns what chain it is.
func (c *Chain) Network() Network { return c.network }

// Epoch returns what holds in the present epoch. It never changes.
func (c *Chain) Epoch() *inter.EpochState { return c.epoch }

// Head returns the last block.
func (c *Chain) Head() inter.BlockInfo { return c.block.LastBlock }

// Has tells whether an event was connected: of the present epoch from memory, of earlier
// ones from their rows.
func (c *Chain) Has(id inter.EventID) (bool, error) {
	if id.Epoch() == c.epoch.Epoch {
		_, ok := c.graph[id]
		return ok, nil
	}
	return c.rows.hasEvent(c.store, id)
}

// Root waits for the root of the state after a block, and returns it.
func (c *Chain) Root(number inter.BlockNumber) ([32]byte, error) {
	if root, err := c.state.RootAt(c.store, uint64(number)); err == nil {
		return root, nil
	}
	root, err := c.roots.Root(uint64(number))
	if err != nil {
		return [32]byte{}, fmt.Errorf("the root of block %d: %w", number, err)
	}
	return root, nil
}

// BlockState returns the state of blocks after the last one, its root included, which may
// have to be waited for. It is the caller's.
func (c *Chain) BlockState() (inter.BlockState, error) {
	s := c.block.Copy()
	root, err := c.Root(s.LastBlock.Number)
	s.FinalizedStateRoot = root
	return s, err
}

// Signer returns who recovers the senders of transactions in events. It accepts what any
// epoch does; the epoch's checks refuse types that are not allowed yet.
func (c *Chain) Signer() types.Signer {
	return types.NewLondonSigner(new(big.Int).SetUint64(c.network.ID))
}

// Checkpoint starts to make the last block durable. See store.Store.
func (c *Chain) Checkpoint() (store.Checkpoint, error) { return c.store.Checkpoint() }

// Close ends what runs beside the writer. The store stays open.
func (c *Chain) Close() { c.roots.Close() }

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

// recent is the ids of the last blocks, for BLOCKHASH.
type recent struct {
	ids [257]inter.EventID
}

func (r *recent) set(number inter.BlockNumber, id inter.EventID) { r.ids[number%257] = id }

func (r *recent) get(number inter.BlockNumber) inter.EventID { return r.ids[number%257] }
