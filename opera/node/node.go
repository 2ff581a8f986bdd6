// Package node runs an Opera node: it opens the files of a data folder, gives a new chain
// its genesis, brings the chain to its head, whatever happened before, and keeps it going
// until it is told to stop. It alone names engines.
//
// It owns the data folder, the order of start and stop, the writer's goroutine, and the
// checkpoints; its commands are those of go-opera. It knows no rules of the chain.
//
// # What is in the data folder
//
// chaindata/state is the store, chaindata/history the logs beside it, chaindata/preset what
// --db.preset said last, chaindata/reserve room that is set aside. Whoever has the chain open holds the lock in chaindata.
//
// # What a crash leaves
//
// A genesis that was interrupted leaves a mark in the state's folder, and is applied again
// by the next start that names one. Everything else is the chain's business: it opens at
// its last image and makes the blocks after it again.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tarn/fleet/fleetnode"
	"tarn/internal/sdnotify"
	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store"
	"tarn/store/engine"
	"tarn/writerloop"
)

// Options are what a node is started with.
type Options struct {
	Dir string // the data folder
	Log *slog.Logger
	// Genesis is what a new chain begins with, and what the chain that there is must have
	// begun with; nil for a chain that there is.
	Genesis *Beginning
	Engine  engine.Options       // of the state; BeforeCheckpoint is the node's own
	History chain.HistoryOptions // Dir and Notice are the node's own
	// Recovery is how long the blocks after the last checkpoint may take to be made again;
	// 0 for any time.
	Recovery time.Duration
	// ExitAge and ExitEpoch end the node once it has caught up so far; nil for never.
	ExitAge   *time.Duration
	ExitEpoch *uint64
	Serving   bool   // of peers, who may ask for the state with which the epoch began
	MinFree   uint64 // bytes of the disk below which the node stops; 0 for never
	// Manager hears that saving the state at the end needs time.
	Manager sdnotify.Manager
	Fleet   *fleetnode.Options // nil for none
	Renew   bool               // a replica gives its state up, and begins with the fleet's newest snapshot
}

// Why a node stops by itself.
var (
	ErrSynced = errors.New("the chain is synced as far as was asked for")
	ErrClosed = errors.New("the node is closed")
)

// progressEvery is the time between two lines about work that takes long (go-opera: 8 s).
const progressEvery = 8 * time.Second

// Node is a node whose chain is open. Its methods may be called by any goroutine.
type Node struct {
	o       Options
	lock    io.Closer
	store   store.Store
	history *chain.History
	written atomic.Int64 // bytes to its files
	chain   *chain.Chain
	fleet   joined

	saver   *nodeupkeep.Saver
	effort  effort
	version version

	writer  *writerloop.Writer
	stop    context.CancelCauseFunc // of what runs
	ended   context.Context
	running sync.WaitGroup
	opening *nodeupkeep.Progress   // while blocks are made again at the start
	free    func() (uint64, error) // bytes of the disk
	damage  *nodeupkeep.Damage     // met by requests

	mu        sync.Mutex
	listeners map[int]func(*chain.Block)
	next      int
	made      atomic.Uint64 // blocks since the start
}

// Open opens the chain of a data folder, after applying a genesis to an empty one.
func Open(ctx context.Context, o Options) (n *Node, err error) {
	n = &Node{o: o, writer: writerloop.New(writerloop.Options{}), listeners: map[int]func(*chain.Block){}}
	n.fleet.n = n
	n.ended, n.stop = context.WithCancelCause(context.Background())
	n.free = n.freeRoom
	n.damage = &nodeupkeep.Damage{Log: o.Log, Is: chain.Damaged, Remedy: damageRemedy}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.closeFiles())
			n = nil
		}
	}()
	if err := n.openFolder(); err != nil {
		return n, err
	}
	if err := n.fleet.open(); err != nil {
		return n, err
	}
	if err := n.begin(ctx); err != nil {
		return n, err
	}
	if err := n.openChain(); err != nil {
		return n, fmt.Errorf("open the chain in %s: %w", n.dir(), err)
	}
	if err := n.version.read(n.chain); err != nil {
		return n, err
	}
	n.version.warn(o.Log)
	n.running.Go(n.write)
	n.setAside()
	n.running.Go(n.watchDisk)
	n.checkSynced(n.chain.Epoch().Epoch, n.chain.Head().Time)
	return n, nil
}

// openChain opens the chain, which makes the blocks again that the image does not have.
func (n *Node) openChain() (err error) {
	if n.store == nil {
		if err := n.openStore(false); err != nil {
			return err
		}
	}
	n.opening = nodeupkeep.NewProgress(n.o.Log, "Giving events of the epoch to consensus again", progressEvery)
	n.saver = nodeupkeep.NewSaver(nodeupkeep.SaverOptions{Store: n.store, Recovery: n.o.Recovery, Worked: n.effort.total})
	n.effort.begin()
	defer n.effort.end()
	o := chain.Options{
		Store: n.store, History: n.history, Connected: n.handleBlock, Beginnings: n.o.Serving,
		Warn:     func(err error) { n.o.Log.Warn(err.Error()) },
		Progress: func(done, total uint64) { n.opening.Items(done, total) },
		Recorded: func(b *inter.BlockRecord) {
			if n.version.noteRecord(b) {
				n.version.warn(n.o.Log)
			}
		},
	}
	if n.fleet.replicates() {
		n.fleet.follower, err = chain.OpenFollower(o)
		n.chain = n.fleet.follower.Chain
	} else {
		if n.fleet.origin != nil {
			o.Pushed = n.fleet.origin.Pushed
		}
		n.chain, err = chain.Open(o)
	}
	n.opening.End()
	if err != nil {
		return remedy(err)
	}
	if again := n.made.Load(); again > 0 {
		n.opening.Done("Blocks after the last checkpoint are made again", "blocks", again,
			"head", n.chain.Head().Number)
	}
	n.opening = nil
	n.tellOpen(time.Now())
	return nil
}

// tellOpen says where the chain stands. The beginning of a fakenet has a time that means nothing,
// and no age.
func (n *Node) tellOpen(now time.Time) {
	h, network := n.chain.Head(), n.chain.Network().Name
	args := []any{"network", network, "epoch", n.chain.Epoch().Epoch, "block", h.Number}
	if at := time.Unix(0, int64(h.Time)); network != "fake" ||
		at.Sub(time.Unix(0, int64(fakenet.StartTime))) > time.Second {
		args = append(args, "age", blockAge(now.Sub(at).Round(time.Second)))
	}
	n.o.Log.Info("Chain is open", append(args, "engine", n.o.Engine.Kind)...)
}

// Chain returns the chain. What is the writer's there is done by Do.
func (n *Node) Chain() *chain.Chain { return n.chain }

// History returns the logs' figures.
func (n *Node) History() chain.HistoryStats { return n.history.Stats() }

// Store returns the store's figures.
func (n *Node) Store() store.Stats { return n.store.Stats() }

// Dir returns where a part of the node, such as "emitter", keeps its files.
func (n *Node) Dir(part string) string { return filepath.Join(n.o.Dir, "go-opera", part) }

// Subscribe has each block told after it was published, on the writer's goroutine, which
// must not be kept. The function that is returned ends that.
func (n *Node) Subscribe(each func(*chain.Block)) func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := n.next
	n.next++
	n.listeners[id] = each
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, id)
	}
}

// handleBlock is told of each block by the writer.
func (n *Node) handleBlock(b *chain.Block) {
	n.made.Add(1)
	n.mu.Lock()
	for _, each := range n.listeners {
		each(b)
	}
	n.mu.Unlock()
	if n.version.noteBlock(b) {
		n.version.warn(n.o.Log)
	}
	n.saveIfDue()
	n.checkSynced(b.ID.Epoch(), b.Time)
}

// saveIfDue begins a checkpoint when it is time for one. Only the writer calls it, between
// blocks.
func (n *Node) saveIfDue() {
	if !n.saver.Due() {
		return
	}
	if err := n.saver.Begin(); err != nil {
		n.o.Log.Error("A checkpoint has failed; a start now would go on from an older block",
			"block", n.store.Durable().Irreversible, "err", remedy(err))
	}
}

// checkSynced ends the node when it has caught up as far as was asked for (go-opera,
// cmd/opera/launcher: --exitwhensynced). The age is the last block's.
func (n *Node) checkSynced(epoch inter.Epoch, at inter.Timestamp) {
	age, to := n.o.ExitAge, n.o.ExitEpoch
	if age != nil && time.Since(time.Unix(0, int64(at))) <= *age || to != nil && *to <= uint64(epoch) {
		n.stop(ErrSynced)
	}
}

// Stop asks the node to end, with a reason. Close does it.
func (n *Node) Stop(cause error) { n.stop(cause) }

// Done is closed when the node should be closed; [Node.Cause] says why.
func (n *Node) Done() <-chan struct{} { return n.ended.Done() }

// Cause returns why the node should be closed, nil if it should not.
func (n *Node) Cause() error { return context.Cause(n.ended) }

// Close ends the writer after what it is at, saves the state, and closes everything.
func (n *Node) Close() error {
	n.stop(ErrClosed)
	n.running.Wait()
	given := n.giveBack()
	err := nodeupkeep.Watch{Log: n.o.Log, Manager: n.o.Manager}.Save(n.store, n.saver.Save)
	if err != nil {
		err = fmt.Errorf("the state was not saved, the next start goes on from block %d: %w",
			n.store.Durable().Irreversible, remedy(err))
	}
	return errors.Join(given, err, n.closeFiles())
}

// closeFiles closes what is open, without a checkpoint.
func (n *Node) closeFiles() (err error) {
	if n.chain != nil {
		err = n.chain.Close()
	}
	if n.store != nil {
		err = errors.Join(err, n.store.Close())
	}
	n.fleet.part.Close()
	if n.lock != nil {
		err = errors.Join(err, n.lock.Close())
	}
	return err
}
