// Package chain is the controller of an Antelope chain: it takes a genesis or a
// snapshot, and blocks, and arrives at the state that nodeos (Leap 5.0) arrives at. It
// owns the order of blocks: which one is applied after which, the switching between
// forks, the start from the logs, and when what becomes irreversible, durable and
// visible.
//
// What a block and its transactions do to the state is package execute's. The chain opens
// no files: the store, the block log and the file of reversible blocks are given to it. It
// reads the clock only to measure.
//
// # Goroutines
//
// One goroutine, the writer, calls the methods of [Chain]. Any goroutine may call
// [Chain.View], [Chain.Fork], the functions that prepare blocks for the writer
// ([Chain.Prepare]), and make a reader, which executes transactions that leave nothing.
package chain

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/finality"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
)

// Options are what a node's operator decides about the chain. The zero value is a
// node that validates everything.
type Options struct {
	execute.Options // of what blocks and transactions do

	TrustedProducers []types.Name                 // trust these, of signed blocks
	Checkpoints      map[uint32]types.Checksum256 // ids that blocks of these numbers must have
	Blocks           BlockLog                     // nil for none
	Reversible       ReversibleLog                // nil for none
	IrreversibleMode bool                         // apply only what is irreversible (read-mode)
	StopAt           uint32                       // apply no block after this one (terminate-at-block); 0 for no end
	Threads          int                          // that unpack and check blocks ahead of the writer; 0 is 1
	KeyBytes         int64                        // memory for keys that are prepared to be checked; 0 for the default
	RowBytes         int64                        // memory for decoded rows of the state; 0 for the default
	Limits           Limits                       // of what was not executed
	// Hooks are told from the first block on, before those of Chain.Subscribe.
	Hooks Hooks
}

// Chain is the controller. See the package comment for goroutines. It has many methods,
// because a block is begun, finished and taken back, blocks of others are pushed, and forks,
// logs, store and hooks must agree after each step. What a block does is the executor's, the
// start a [resumption]'s, and what is asked of the pending block or found out ahead of the
// writer things of their own.
type Chain struct {
	examiner
	pending
	votes

	store  store.Store
	state  *state.State
	shared *execute.Shared
	logs   logs

	chainID types.Checksum256
	head    *consensus.BlockState
	// validation is the tree over what blocks did up to the head, except in an open batch; nil
	// before the genesis block of Savanna's rules.
	validation *finality.Validation
	// of blocks that are being pushed; in irreversible mode of those that wait to be applied
	prepared map[types.Checksum256]*Prepared
	batch    batch
	hooks    hooks
	report   execute.Report // of the last block
	worked   time.Duration  // on all blocks
	trusting bool           // the producer of the block that is being pushed is trusted
	pauseAt  atomic.Uint32  // block to stand still at; 0 for none

	application application
}

// Open makes a chain of a store that holds the state of a block, or nothing: then
// Genesis or a snapshot must follow. The store stays the caller's to close.
func Open(st store.Store, o Options) (*Chain, error) {
	s, err := state.Open(st)
	if err != nil {
		return nil, err
	}
	if o.RowBytes > 0 {
		s.CacheRows(int(o.RowBytes / state.CachedRowBytes))
	}
	shared, err := execute.NewShared(o.Options)
	if err != nil {
		return nil, err
	}
	o.Options, o.Limits = *shared.Options(), o.Limits.withDefaults()
	c := &Chain{
		examiner: examiner{opt: &o, keys: execute.NewKeys(o.KeyBytes), fork: consensus.NewForkDatabase(o.Features)},
		pending:  pending{execute.New(s, shared)},
		store:    st, state: s, shared: shared, logs: logs{blocks: o.Blocks, reversible: o.Reversible},
	}
	c.fork.Limit(o.Limits.WaitingBytes)
	c.application.interrupt = c.executor.Interrupt
	c.Subscribe(o.Hooks)
	if err := c.load(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close frees what the chain holds besides the store.
func (c *Chain) Close() error {
	return errors.Join(c.executor.Close(), c.shared.Close())
}

// NewReader makes a reader for transactions that change so many bytes at most. It must be closed
// before the chain. Any goroutine may call it.
func (c *Chain) NewReader(bytes int64) (*execute.Reader, error) {
	return execute.NewReader(c.store, c.state.Layout(), c.shared, bytes)
}

// load reads where the state stands.
func (c *Chain) load() error {
	empty, err := c.state.Empty()
	if err != nil || empty {
		return err
	}
	b, err := c.state.Head()
	if err != nil {
		return err
	}
	h, err := consensus.DecodeHead(b)
	if err != nil {
		return err
	}
	if uint64(h.BlockNum) > c.store.Head() {
		// The image of a batch, made before the batch got its number. Its blocks are
		// irreversible, even if the image was made before that was said.
		if err := c.store.Commit(c.store.Head()); err != nil {
			return err
		}
		if err := c.store.SetRevision(uint64(h.BlockNum)); err != nil {
			return err
		}
	}
	if uint64(h.BlockNum) != c.store.Head() {
		return fmt.Errorf("the head of the chain state is block %d, its revision %d: %w",
			h.BlockNum, c.store.Head(), state.ErrFormat)
	}
	c.head, c.validation = &consensus.BlockState{HeaderState: h.HeaderState}, h.Validation
	g, err := c.state.Global.Get()
	if err != nil {
		return err
	}
	// Written once: goroutines that recover keys read it while a batch is dropped.
	if c.chainID == (types.Checksum256{}) {
		c.chainID = g.ChainID
		if err := c.checkProtocol(); err != nil {
			return err
		}
		c.keys.SignFor(g.ChainID)
	}
	return c.executor.Load(h.HeaderState)
}

// checkProtocol refuses a state that names what this program does not have.
func (c *Chain) checkProtocol() error {
	p, err := c.state.Protocol.Get()
	if err != nil {
		return err
	}
	return c.shared.Options().CheckProtocol(c.chainID, p)
}

// ForkVersion is what the nodes call themselves that the state's functions are of, a fork's of Leap or
// Spring's; empty for Leap's. The writer may ask.
func (c *Chain) ForkVersion() (string, error) {
	p, err := c.state.Protocol.Get()
	if err != nil {
		return "", err
	}
	return execute.ForkVersion(p), nil
}

// ID is the chain's id; zero in an empty state.
func (c *Chain) ID() types.Checksum256 { return c.chainID }

// Head is the newest block that was applied; nil in an empty state.
func (c *Chain) Head() *consensus.BlockState { return c.head }

// Standing is where the state stands, between blocks: the head with what its execution told.
func (c *Chain) Standing() consensus.Head {
	return consensus.Head{HeaderState: c.head.HeaderState, Validation: c.validation}
}

// State is the writer's state, between blocks.
func (c *Chain) State() *state.State { return c.state }

// View shows what was published last to a reader, on any goroutine.
func (c *Chain) View() (*state.View, error) { return c.state.View() }

// Fork is the tree of blocks above the last irreversible one.
func (c *Chain) Fork() *consensus.ForkDatabase { return c.fork }

// Keys finds out with which keys transactions of this chain are signed. Any goroutine
// may use it.
func (c *Chain) Keys() *execute.Keys { return c.keys }

// Limits are the bounds of what was not executed. Any goroutine may ask.
func (c *Chain) Limits() Limits { return c.opt.Limits }

// Policy is what the operator decided last. Any goroutine may ask.
func (c *Chain) Policy() execute.Policy { return c.shared.Policy() }

// SetPolicy replaces it, from the next transaction on. One goroutine at a time changes it.
func (c *Chain) SetPolicy(p execute.Policy) { c.shared.SetPolicy(p) }
