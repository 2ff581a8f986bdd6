package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/genesis"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store"
	"tarn/store/engine"
)

// Beginning is a genesis that is opened when it is needed.
type Beginning struct {
	File       string // a genesis file, or
	Validators int    // the size of a fakenet, or
	Folder     string // the data folder of a go-opera, whose chain is taken over
	Trust      bool   // a file that is none of those known
}

// open opens the genesis; what is returned last closes it.
func (b *Beginning) open(n *Node, read func(unit string, done, size uint64)) (genesis.Source, func() error, error) {
	if b.File == "" {
		g, err := fakenet.New(fakenet.Options{Validators: b.Validators})
		return g, func() error { return nil }, err
	}
	f, err := genesis.Open(b.File, genesis.Options{Progress: read})
	if err != nil {
		return nil, nil, err
	}
	name, known, err := genesis.Recognize(f.Header(), f.Hashes())
	switch {
	case err != nil:
	case known:
		n.o.Log.Info("Genesis file is a known preset", "name", name)
	case b.Trust:
		n.o.Log.Warn("Genesis file doesn't refer to any trusted preset")
	default:
		err = fmt.Errorf(
			"genesis file %s doesn't refer to any trusted preset. Enable experimental genesis with "+
				"--genesis.allowExperimental", b.File)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, f.Close, nil
}

// begin applies the genesis to a folder without a chain. One that was interrupted is begun
// again.
func (n *Node) begin(ctx context.Context) error {
	note, err := engine.Unfinished(n.stateDir())
	interrupted := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = engine.Detect(n.stateDir())
	empty := errors.Is(err, fs.ErrNotExist)
	if err != nil && !empty && !interrupted {
		return err
	}
	if n.o.Renew {
		return n.fleet.load(ctx)
	}
	if !empty && !interrupted {
		return n.compareGenesis()
	}
	if _, err := os.Stat(n.historyDir()); err == nil && !interrupted {
		return fmt.Errorf("%s is there without the state beside it: move it away to begin a new chain", n.historyDir())
	}
	if n.fleet.replicates() {
		return n.fleet.load(ctx)
	}
	if n.o.Genesis == nil {
		if interrupted {
			return fmt.Errorf("the chain in %s is not whole: %s", n.o.Dir, strings.TrimSpace(string(note)))
		}
		return fmt.Errorf("%w in %s: start with --genesis FILE or --fakenet n/N", chain.ErrEmpty, n.o.Dir)
	}
	if interrupted {
		n.o.Log.Warn("Making the chain was interrupted; it begins again", "dir", n.dir())
	}
	if n.o.Genesis.Folder != "" {
		return n.takeOver(ctx)
	}
	p := nodeupkeep.NewProgress(n.o.Log, "Reading the genesis", progressEvery)
	defer p.End()
	source, close, err := n.o.Genesis.open(n, func(unit string, done, size uint64) {
		p.Bytes(done, size, "unit", unit)
	})
	if err != nil {
		return err
	}
	return errors.Join(n.apply(ctx, source, p), close())
}

// apply makes the chain of a genesis. The state carries a mark until it is durable.
func (n *Node) apply(ctx context.Context, source genesis.Source, p *nodeupkeep.Progress) error {
	if err := n.newStore(
		"a genesis is being applied; start with it again: --genesis FILE or --fakenet n/N\n"); err != nil {
		return err
	}
	n.o.Log.Info("Applying genesis", "header", fmt.Sprint(source.Header()), "engine", n.o.Engine.Kind)
	watched := &watched{Source: source, ctx: ctx, progress: p, puts: &counting{Store: n.store}}
	stop := watched.tell(n)
	err := chain.ApplyGenesis(chain.Options{Store: watched.puts, History: n.history,
		Warn: func(err error) { n.o.Log.Warn(err.Error()) }}, watched)
	stop()
	if err != nil {
		return fmt.Errorf("apply the genesis: %w", remedy(err))
	}
	// Closed and opened anew: the chain's logs are open once.
	err, n.store = n.store.Close(), nil
	if err == nil {
		err = engine.MarkFinished(n.stateDir())
	}
	if err != nil {
		return err
	}
	p.Done("Applied genesis", "epochs", watched.epochs, "blocks", watched.blocks, "items", watched.items.Load())
	return nil
}

// newStore makes an empty store, with a mark that says what is being done, and drops what
// was left of an interrupted one.
func (n *Node) newStore(note string) error {
	dir := n.stateDir()
	if err := engine.MarkUnfinished(dir, []byte(note)); err != nil {
		return err
	}
	if err := errors.Join(engine.Remove(dir), chain.NewHistory(n.historyOptions()).GiveUp()); err != nil {
		return err
	}
	if err := os.RemoveAll(n.historyDir()); err != nil {
		return err
	}
	return n.openStore(true)
}

// compareGenesis refuses a chain of another network than the genesis that was named.
func (n *Node) compareGenesis() error {
	if n.o.Genesis == nil {
		return nil
	}
	if n.o.Genesis.Folder != "" {
		return fmt.Errorf("take over %s: %w in %s; name an empty folder with --datadir",
			n.o.Genesis.Folder, chain.ErrNotEmpty, n.dir())
	}
	source, close, err := n.o.Genesis.open(n, nil)
	if err != nil {
		return err
	}
	want := source.Header()
	if err := close(); err != nil {
		return err
	}
	if err := n.openStore(false); err != nil {
		return err
	}
	got, err := chain.NetworkOf(n.store)
	if err != nil {
		return fmt.Errorf("the state in %s: %w", n.stateDir(), err)
	}
	if got.GenesisID != want.ID {
		return fmt.Errorf("genesis mismatch: the chain in %s began with %x, and the genesis is %x",
			n.dir(), got.GenesisID, want.ID)
	}
	return nil
}

// watched is a genesis whose reading is counted, and ends with a context.
type watched struct {
	genesis.Source
	ctx            context.Context
	progress       *nodeupkeep.Progress
	epochs, blocks int
	items          atomic.Uint64
	puts           *counting
}

var _ genesis.Source = (*watched)(nil)

// Epochs implements genesis.Source.
func (w *watched) Epochs() iter.Seq2[*inter.EpochRecord, error] {
	return func(yield func(*inter.EpochRecord, error) bool) {
		for r, err := range w.Source.Epochs() {
			w.epochs++
			if err = errors.Join(err, w.ctx.Err()); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Blocks implements genesis.Source.
func (w *watched) Blocks() iter.Seq2[*inter.BlockRecord, error] {
	return func(yield func(*inter.BlockRecord, error) bool) {
		for r, err := range w.Source.Blocks() {
			w.blocks++
			if err = errors.Join(err, w.ctx.Err()); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Items implements genesis.Source.
func (w *watched) Items() iter.Seq2[genesis.Item, error] {
	return func(yield func(genesis.Item, error) bool) {
		for i, err := range w.Source.Items() {
			w.items.Add(1)
			if err = errors.Join(err, w.ctx.Err()); !yield(i, err) || err != nil {
				return
			}
		}
		w.puts.second.Store(w.puts.all.Load())
	}
}

// counting counts the rows that are put, and those by when all items were read.
type counting struct {
	store.Store
	all, second atomic.Uint64
}

// Put implements store.Store.
func (c *counting) Put(t store.Table, key, value []byte) error {
	c.all.Add(1)
	return c.Store.Put(t, key, value)
}

// tell says how far the state is that is made after the items were read: each of them
// becomes about one row.
func (w *watched) tell(n *Node) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	n.running.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		var p *nodeupkeep.Progress
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				if p != nil {
					p.End()
				}
				return
			}
			begun := w.puts.second.Load()
			if begun == 0 {
				continue
			}
			if p == nil {
				p = nodeupkeep.NewProgress(n.o.Log, "Making the rows of the genesis' state", 0)
			}
			p.Items(w.puts.all.Load()-begun, w.items.Load())
		}
	})
	return cancel
}
