// Package node runs an Antelope node: it opens the files of a data folder, brings
// the chain to its head, whatever happened before, and keeps the parts of the node
// going until it is told to stop. It alone names engines.
//
// It owns the order of start and stop, and the checkpoints. It knows no rules of
// the chain.
//
// # What a crash leaves
//
// The state's image is that of a block which the block log or the file of
// reversible blocks has too: both are synced before an image that needs them
// becomes durable. So every start is the same: open the image, step back from what
// the logs do not have, apply what they have beyond.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/deepmind"
	"tarn/antelope/ship"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/tracelog"
	"tarn/antelope/types"
	"tarn/nodeupkeep"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// progressEvery is the time between two lines about work that takes long.
const progressEvery = 2 * time.Second

// Node is a node whose files are open.
//
// It has many methods because starts, checkpoints and the end concern all of a node's files at
// once, and their order is what a crash relies on.
type Node struct {
	o          Options
	log        *blocklog.Log
	lock       io.Closer            // of the blocks' folder
	histories  map[string]io.Closer // locks of the histories' folders
	reversible *blocklog.Reversible
	again      bool // the loading of a snapshot was interrupted, and begins again
	store      store.Store
	chain      *chain.Chain
	history    *ship.History     // nil if none is kept
	traces     *tracelog.History // nil if none are recorded
	written    written

	historyServer *ship.Server // once the node serves

	fleet members

	processors nodeupkeep.Processors
	saver      *nodeupkeep.Saver
	unfinished atomic.Bool    // the state is marked: no image holds the whole snapshot yet
	finishing  sync.WaitGroup // who waits for that image
	tried      uint64         // irreversible block of the last one that the log asked for
	damage     damage         // met by readers
}

// Open opens the files of a node, after deleting what the options say, and gives an
// empty state its first block. Start brings it to the head.
func Open(ctx context.Context, o Options) (n *Node, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	n = &Node{o: o}
	n.fleet.n = n
	defer func() {
		if err != nil {
			err = errors.Join(err, n.closeFiles())
			n = nil
		}
	}()
	if n.lock, err = lockBlocks(o.BlocksDir); err != nil {
		return n, err
	}
	if err := n.lockRetained(); err != nil {
		return n, err
	}
	if err := clearFolders(&n.o); err != nil {
		return n, err
	}
	o = n.o
	if err := n.openState(); err != nil { // before the logs: it tells what of them is needed
		return n, err
	}
	if err := n.openLogs(); err != nil {
		return n, err
	}
	if err := n.fleet.open(); err != nil {
		return n, err
	}
	co := o.Chain
	co.Log, co.Blocks, co.Reversible, co.StopAt = o.Log, blocks{n.log}, n.reversible, o.TerminateAt
	if o.DeepMind != nil {
		co.Hooks.Tracer = deepmind.New(o.DeepMind, deepmind.Options{Failed: n.stopTelling})
	}
	if n.chain, err = chain.Open(n.store, co); err != nil {
		return n, err
	}
	n.saver = nodeupkeep.NewSaver(nodeupkeep.SaverOptions{Store: n.store, Recovery: o.Recovery, Worked: n.chain.Worked,
		Saved: n.clearUnfinishedMark})
	n.chain.Subscribe(chain.Hooks{Irreversible: n.irreversible})
	if err := errors.Join(n.openHistory(), n.openTraces()); err != nil {
		return n, err
	}
	n.fleet.hook()
	if n.chain.Head() == nil {
		return n, n.begin(ctx)
	}
	return n, n.goOn()
}

// stopTelling ends the chain's work because the deep-mind log could not be written:
// who reads it must not miss anything.
func (n *Node) stopTelling(err error) {
	n.o.Log.Error("The deep-mind log ends", "error", err)
	n.chain.Fail(err)
}

func (n *Node) openLogs() (err error) {
	if err := vfs.MkdirAll(vfs.OS, n.o.BlocksDir); err != nil {
		return err
	}
	bo := n.o.Blocks
	bo.Dir, bo.Logger, bo.Needed, bo.Mend = n.o.BlocksDir, n.o.Log, n.firstNeededBlock, n.o.Replay
	bo.FS = countingFS(bo.FS, &n.written.blocks)
	if n.log, err = blocklog.Open(bo); err != nil {
		return fmt.Errorf("open the block log: %w", err)
	}
	durable := n.log.Durable
	if keep := bo.RetainBlocks; keep != nil && *keep == 0 {
		// Without a log only the state's image makes a block superfluous.
		durable = func() uint32 { return n.firstNeededBlock() - 1 }
	}
	n.reversible, err = blocklog.OpenReversible(blocklog.ReversibleOptions{
		Dir: n.o.BlocksDir, FS: countingFS(n.o.Blocks.FS, &n.written.reversible), Durable: durable, Logger: n.o.Log,
		Mend: n.o.Follower,
	})
	if err != nil {
		return fmt.Errorf("open the reversible blocks: %w", err)
	}
	return nil
}

// snapshotNote begins the note in a state that a snapshot is being loaded into; the
// path follows.
const snapshotNote = "snapshot "

// dropUnfinished deletes a state that was being loaded from a snapshot, which will be
// loaded again.
func (n *Node) dropUnfinished(note string) error {
	path, ok := strings.CutPrefix(note, snapshotNote)
	switch {
	case note == fleetNote && n.o.Fleet != nil && n.o.Fleet.Replica:
		n.o.Log.Warn("The replica gives its state and its blocks up; the fleet's newest snapshot is loaded")
		if err := clearFolder(n.o.BlocksDir, engine.LockFile); err != nil { // those that came after it
			return err
		}
	case ok:
		var err error
		if n.again, err = againFrom(&n.o, path); err != nil {
			return err
		}
	default:
		return &store.FormatError{Path: n.o.StateDir,
			Detail: "a conversion into this folder has not finished; run it again, " +
				"or give the folder up with --replay-blockchain"}
	}
	lock, err := engine.Lock(n.o.StateDir)
	if err != nil {
		return err
	}
	return errors.Join(engine.Remove(n.o.StateDir), lock.Close())
}

// againFrom makes a node begin with the snapshot that was being loaded, or with another one that is asked for. It tells
// whether it is the same.
func againFrom(o *Options, path string) (same bool, err error) {
	if o.Snapshot == "" {
		o.Snapshot = path
	}
	asked, err := filepath.Abs(o.Snapshot)
	if err != nil {
		return false, err
	}
	o.Log.Warn("The node ended while it loaded a snapshot; the snapshot is loaded again", "snapshot", o.Snapshot)
	if _, err := os.Stat(o.Snapshot); err != nil {
		return false, fmt.Errorf(
			"%w; name another file with --snapshot, or replay the block log instead with --replay-blockchain", err)
	}
	return asked == path, nil
}

// openState opens the state. One that a snapshot was being loaded into when the
// node ended is loaded anew.
func (n *Node) openState() error {
	note, err := engine.Unfinished(n.o.StateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := n.dropUnfinished(string(note)); err != nil {
			return fmt.Errorf("drop the unfinished state: %w", err)
		}
	}
	eo := n.o.Engine
	eo.Unfinished = true
	eo.BeforeCheckpoint = n.beforeCheckpoint
	if n.store, err = engine.Open(n.o.StateDir, eo); err != nil {
		return fmt.Errorf("open the state: %w", err)
	}
	if eo.Mode == 0 && n.store.Stats().Mode == "mapped" {
		n.o.Log.Info("The folder of the state is on a file system in memory: database-map-mode is mapped",
			"folder", n.o.StateDir)
	}
	return nil
}

// errNoGenesis says that there is nothing to begin with.
var errNoGenesis = errors.New(
	"Genesis state is necessary to initialize fresh blockchain state but genesis state could not be " +
		"found in the blocks log. Please either load from snapshot or find a blocks log that starts from genesis.")

// begin gives an empty state its first block: a snapshot's, or the genesis.
func (n *Node) begin(ctx context.Context) error {
	if n.fleet.part.Follower() != nil {
		return n.fleet.begin(ctx)
	}
	if n.o.Snapshot != "" {
		return n.loadSnapshot(ctx)
	}
	_, _, logged := n.log.Head()
	g := n.o.Genesis
	if _, known := n.log.ChainID(); known {
		p, _, err := blocklog.Tool{Dir: n.o.BlocksDir}.Context(n.o.retainedDir())
		if err != nil {
			return err
		}
		switch {
		case p.Genesis == nil && g == nil:
			return errNoGenesis
		case p.Genesis == nil && g.ChainID() != p.ChainID:
			return fmt.Errorf(
				"Genesis state, provided via command line arguments, has a chain ID (%s) that does not match the "+
					"existing chain ID in blocks.log (%s).", g.ChainID(), p.ChainID)
		case p.Genesis != nil && g != nil && *g != *p.Genesis:
			return fmt.Errorf(
				"Genesis state, provided via command line arguments, does not match the existing genesis state in blocks.log. " +
					"It is not necessary to provide genesis state arguments when a full blocks.log file already exists.")
		case p.Genesis != nil:
			n.o.Log.Info("Starting fresh blockchain state using genesis state extracted from blocks.log.")
			g = p.Genesis
		}
	} else if g == nil {
		n.o.Log.Info("Starting fresh blockchain state using default genesis state.")
		g = new(types.DefaultGenesis())
	} else {
		n.o.Log.Info("Starting fresh blockchain state using provided genesis state.")
	}
	if logged && n.log.First() != 1 {
		return fmt.Errorf("block log does not start with genesis block, but with block %d: start from a snapshot",
			n.log.First())
	}
	if err := n.chain.Genesis(g); err != nil {
		return err
	}
	if !logged {
		block := n.chain.Head().Block.Append(nil)
		if err := n.log.ResetGenesis(*g, block); err != nil {
			return fmt.Errorf("begin the block log: %w", err)
		}
	}
	return n.checkpointNow()
}

func (n *Node) loadSnapshot(ctx context.Context) error {
	f, err := os.Open(n.o.Snapshot)
	if err != nil {
		return fmt.Errorf("Cannot load snapshot, %s does not exist: %w", n.o.Snapshot, err)
	}
	defer f.Close()
	r, err := snapshot.FromFile(f)
	if err != nil {
		return err
	}
	id, err := n.checkSnapshot(r)
	if err != nil {
		return err
	}
	_, _, logged := n.log.Head()
	path, err := filepath.Abs(n.o.Snapshot)
	if err != nil {
		return err
	}
	if !logged && !n.again {
		if err := n.forgetReversible(); err != nil {
			return fmt.Errorf("forget the reversible blocks from before the snapshot: %w", err)
		}
	}
	if err := engine.MarkUnfinished(n.o.StateDir, []byte(snapshotNote+path)); err != nil {
		return err
	}
	n.o.Log.Info("Starting initialization from snapshot, this may take a significant amount of time", "snapshot", path)
	watch := nodeupkeep.NewProgress(n.o.Log, "Loading the snapshot", progressEvery)
	err = n.chain.Load(func(s *state.State) (consensus.Head, error) {
		return snapshot.Load(r, s, func(p snapshot.Progress) error {
			watch.Bytes(uint64(p.Bytes), uint64(r.Size()), "rows", p.Rows)
			if err := n.store.Relieve(); err != nil {
				return fmt.Errorf("save what was loaded so far: %w", err)
			}
			return context.Cause(ctx)
		})
	})
	if err != nil {
		return fmt.Errorf("load snapshot %s: %w", n.o.Snapshot, remedy(err))
	}
	if !logged {
		if err := n.log.Reset(id, n.chain.Head().BlockNum+1); err != nil {
			return fmt.Errorf("begin the block log: %w", err)
		}
	}
	if err := n.finishLater(); err != nil {
		return err
	}
	watch.Done("Finished initialization from snapshot", "block", n.chain.Head().BlockNum, "id", n.chain.Head().ID)
	return nil
}

// checkSnapshot refuses a snapshot that this program cannot go on from, or that does not fit the
// block log. It returns the chain's id.
func (n *Node) checkSnapshot(r *snapshot.Reader) (types.Checksum256, error) {
	id, err := snapshot.ChainID(r)
	if err != nil {
		return id, fmt.Errorf("snapshot %s: %w", n.o.Snapshot, err)
	}
	protocol, err := snapshot.Protocol(r)
	if err == nil {
		err = n.o.Chain.CheckProtocol(id, protocol)
	}
	if err != nil {
		return id, fmt.Errorf("snapshot %s: %w", n.o.Snapshot, err)
	}
	if logID, ok := n.log.ChainID(); ok && logID != id {
		return id, fmt.Errorf("snapshot chain ID (%s) does not match the chain ID (%s) in the block log", id, logID)
	}
	head, err := snapshot.Header(r)
	if err != nil {
		return id, fmt.Errorf("snapshot %s: %w", n.o.Snapshot, err)
	}
	if last, _, logged := n.log.Head(); logged && (n.log.First() > head.BlockNum+1 || head.BlockNum > last) {
		other := "a newer"
		if head.BlockNum > last {
			other = "an older"
		}
		return id, fmt.Errorf(
			"Block log is provided with snapshot but does not contain the head block from the snapshot nor a block "+
				"right after it: "+
				"the snapshot is of block %d, the log has blocks %d to %d; name %s snapshot, or move the log "+
				"away from %s",
			head.BlockNum, n.log.First(), last, other, n.o.BlocksDir)
	}
	return id, nil
}

// forgetReversible drops the reversible blocks that an earlier node left, as nodeos does
// where a snapshot and no block log says that a new start is meant: what followed may be
// what is to be left behind. It comes before the state is marked: blocks that came after
// the loading had begun stay when it begins again (Leap: controller_impl::replay).
func (n *Node) forgetReversible() error {
	if blocks := n.reversible.Len(); blocks > 0 {
		n.o.Log.Warn("Starting from a snapshot without a block log: the reversible blocks are dropped",
			"blocks", blocks)
		if err := n.reversible.Reset(); err != nil {
			return err
		}
	}
	kept, err := n.setForkDatabaseAside()
	if kept != "" {
		n.o.Log.Warn("Starting from a snapshot without a block log: the reversible blocks of nodeos are left out",
			"kept", kept)
	}
	return err
}

// goOn checks that a state that exists may be used as the options say.
func (n *Node) goOn() error {
	if n.o.Snapshot != "" {
		return fmt.Errorf(
			"Snapshot can only be used to initialize an empty database: start without --snapshot, or empty %s first",
			n.o.StateDir)
	}
	id := n.chain.ID()
	if logID, ok := n.log.ChainID(); ok && logID != id {
		return fmt.Errorf("Chain ID in blocks.log (%s) does not match the existing chain ID in state (%s).", logID, id)
	}
	if g := n.o.Genesis; g != nil && g.ChainID() != id {
		return fmt.Errorf(
			"Genesis state, provided via command line arguments, has a chain ID (%s) that does not match the "+
				"existing chain ID in the database state (%s). "+
				"It is not necessary to provide genesis state arguments when an initialized database state "+
				"already exists.", g.ChainID(), id)
	}
	if _, _, ok := n.log.Head(); !ok {
		// Without blocks the log goes on from the state, as after a snapshot.
		if next := uint32(n.store.Irreversible()) + 1; n.log.First() != next {
			return n.log.Reset(id, next)
		}
	}
	return nil
}

// Start brings the chain to its head. It ends early, with ctx's error and nothing
// lost, when ctx is cancelled.
func (n *Node) Start(ctx context.Context) error {
	if err := n.takeOver(); err != nil {
		return err
	}
	n.tellForeign()
	start := n.chain.Head().BlockNum
	head, _, _ := n.log.Head()
	watch := nodeupkeep.NewProgress(n.o.Log, "Replaying blocks", progressEvery)
	if head > start {
		n.o.Log.Info("existing block log, attempting to replay", "from", start+1, "to", head)
	}
	if n.o.Chain.ForceAllChecks {
		// A goroutine in libsecp256k1 holds a processor without the scheduler's knowing what for, and the writer
		// waited for it: the replay is some 5 to 15 % faster with twice as many.
		defer n.processors.Lend(runtime.GOMAXPROCS(0))()
	}
	err := n.chain.Resume(ctx, n.reversibleBlocks(), func(p chain.Progress) {
		watch.Items(uint64(p.Block-start), uint64(max(head, start)-start), "block", p.Block,
			"transactions", p.Transactions)
		if p.Finished {
			n.checkpointDue()
		}
	})
	if err != nil {
		return remedy(err)
	}
	h := n.chain.Head()
	watch.Done(fmt.Sprintf("Blockchain started; head block is #%d", h.BlockNum), "id", h.ID,
		"lib", n.store.Irreversible())
	if n.o.IntegrityHashOnStart {
		return n.logIntegrityHash()
	}
	return nil
}

// reversibleBlocks decodes the blocks of their file.
func (n *Node) reversibleBlocks() iter.Seq2[*types.SignedBlock, error] {
	return func(yield func(*types.SignedBlock, error) bool) {
		for raw, err := range n.reversible.All() {
			b := new(types.SignedBlock)
			if err == nil {
				err = types.Decode(raw, b)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// Chain is the node's chain; the rules of its package say who may call what.
func (n *Node) Chain() *chain.Chain { return n.chain }

// IntegrityHash computes the hash of the head's state.
func (n *Node) IntegrityHash() (types.Checksum256, error) {
	if err := n.chain.Publish(); err != nil {
		return types.Checksum256{}, err
	}
	v, err := n.chain.View()
	if err != nil {
		return types.Checksum256{}, err
	}
	h, err := snapshot.Hash(v, n.chain.Standing(), snapshot.Options{})
	return h, errors.Join(err, v.Close())
}

func (n *Node) logIntegrityHash() error {
	h, err := n.IntegrityHash()
	if err == nil {
		n.o.Log.Info(fmt.Sprintf("chain database started with hash: %s", h))
	}
	return err
}

// Close ends the node: the state becomes durable, and the files are closed. A block
// that is being made is dropped.
func (n *Node) Close() error { return errors.Join(n.save(), n.closeFiles()) }

// save makes the state durable for the last time.
func (n *Node) save() error {
	var errs []error
	if n.chain != nil && n.chain.Head() != nil {
		_, err := n.chain.AbortBlock()
		errs = append(errs, err)
		if n.o.IntegrityHashOnStop {
			h, err := n.IntegrityHash()
			if err == nil {
				n.o.Log.Info(fmt.Sprintf("chain database stopped with hash: %s", h))
			}
			errs = append(errs, err)
		}
		// Spring's words for the head that a start goes on from, which scripts look for
		if head := n.chain.Head(); n.chain.Spring() {
			n.o.Log.Info(fmt.Sprintf("Writing chain_head block %d %s", head.BlockNum, head.ID))
		}
		errs = append(errs, n.checkpointNow())
	}
	return errors.Join(errs...)
}

// closeFiles closes what is open, without a checkpoint.
func (n *Node) closeFiles() error {
	var errs []error
	if n.history != nil { // it may be reading the state
		errs = append(errs, n.history.Close())
	}
	if n.traces != nil {
		errs = append(errs, n.traces.Close())
	}
	if n.chain != nil {
		errs = append(errs, n.chain.Close())
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	n.finishing.Wait()
	n.fleet.part.Close()
	if n.reversible != nil {
		errs = append(errs, n.reversible.Close())
	}
	if n.log != nil {
		errs = append(errs, n.log.Close())
	}
	for _, lock := range n.histories {
		errs = append(errs, lock.Close())
	}
	if n.lock != nil {
		errs = append(errs, n.lock.Close())
	}
	return errors.Join(errs...)
}
