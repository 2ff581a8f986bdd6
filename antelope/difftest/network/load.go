package network

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// Load is what a node is given to do.
type Load struct {
	Peers    int           // light peers, those below included
	Syncing  int           // of them fetch the whole chain, again and again
	Relaying int           // of them pass on all blocks and transactions, as nodes do; none if the node produces
	Rate     int           // transfers a second
	Produce  bool          // the node makes the blocks; else another one does, and it passes them on
	Time     time.Duration // that is counted, from when all peers are connected
	Genesis  bool          // the node fetches its blocks from the producer, in place of replaying them
}

// Result is what came of it.
type Result struct {
	Delivered int            // blocks to peers
	Lost      int            // blocks that a peer didn't get
	Taken     int64          // transactions that reached peers
	Sent      int64          // transactions
	Synced    int64          // whole chains that were fetched
	Failed    map[string]int // peers that ended, by why
}

// Measure puts a load on a node, and counts what peers get. producer makes the blocks unless the
// node does. Folders are made in dir.
func Measure(
	ctx context.Context, c *Chain, x, producer difftest.Executable, l Load, dir string, say io.Writer,
) (*Result, error) {
	g := &generator{chain: c, load: l, failed: map[string]int{}, known: map[uint32]bool{}}
	var err error
	source := (*difftest.Node)(nil)
	produces, ways := []string{"eosio"}, arguments()
	if !l.Produce {
		if source, err = g.launch(ctx, producer, filepath.Join(dir, "producer"), produces, ways); err != nil {
			return nil, err
		}
		defer stop(say, source)
		produces, ways = nil, arguments(source.P2P())
	}
	if g.node, err = g.launch(ctx, x, filepath.Join(dir, "node"), produces, ways); err != nil {
		return nil, err
	}
	defer stop(say, g.node)
	defer g.tasks.Wait()
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	return g.run(working, source)
}

// generator is the peers of a node.
type generator struct {
	chain *Chain
	load  Load
	node  *difftest.Node
	tasks sync.WaitGroup

	synced, sent, taken atomic.Int64
	counting            atomic.Bool
	relays              []*lightpeer.Peer

	mu        sync.Mutex
	failed    map[string]int
	known     map[uint32]bool // blocks that somebody has seen
	delivered int
}

// launch starts a node on the chain.
func (g *generator) launch(
	ctx context.Context, x difftest.Executable, dir string, producers, args []string,
) (*difftest.Node, error) {
	if !g.load.Genesis || len(producers) > 0 {
		if err := g.chain.Copy(dir); err != nil {
			return nil, err
		}
	}
	return start(ctx, x, g.chain, dir, producers, args...)
}

// run connects the peers, and counts.
func (g *generator) run(ctx context.Context, source *difftest.Node) (*Result, error) {
	level := g.node
	if source != nil {
		level = source
	}
	if err := await(ctx, "node with the producer's head", syncTime, func() (bool, error) {
		a, err := level.Info(ctx)
		if err != nil {
			return false, err
		}
		b, err := g.node.Info(ctx)
		return err == nil && b.HeadNum+2 > a.HeadNum && a.HeadNum > g.chain.Head+1, err
	}); err != nil {
		return nil, err
	}
	for i := range g.load.Peers {
		if err := g.connect(ctx, i); err != nil {
			return nil, fmt.Errorf("peer %d: %w", i, err)
		}
	}
	if source != nil {
		if err := g.probe(ctx, source); err != nil {
			return nil, err
		}
	}
	g.tasks.Go(func() { g.transfers(ctx) })
	return g.count(ctx)
}

// count waits for the load's time, and counts what peers got meanwhile.
func (g *generator) count(ctx context.Context) (*Result, error) {
	sent, taken, synced := g.sent.Load(), g.taken.Load(), g.synced.Load()
	g.counting.Store(true)
	if !sleep(ctx, g.load.Time) {
		return nil, ctx.Err()
	}
	r := &Result{Sent: g.sent.Load() - sent, Taken: g.taken.Load() - taken, Synced: g.synced.Load() - synced}
	g.counting.Store(false)
	const late = 10 * time.Second // what is under way may take; what isn't there then is lost
	_ = await(ctx, "delivery", late, func() (bool, error) { return g.missing() == 0, nil })
	r.Lost = g.missing()
	g.mu.Lock()
	defer g.mu.Unlock()
	r.Failed, r.Delivered = maps.Clone(g.failed), g.delivered
	return r, nil
}

// missing is how many blocks peers have not been sent. Of the first one some had it
// before counting began.
func (g *generator) missing() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	followers := g.load.Peers - g.load.Syncing - len(g.relays)
	return max(0, (len(g.known)-1)*followers-g.delivered)
}

// hello makes a peer that has all blocks.
func (g *generator) hello(ctx context.Context, n *difftest.Node) (*lightpeer.Peer, error) {
	info, err := n.Info(ctx)
	if err != nil {
		return nil, err
	}
	p, err := lightpeer.Dial(ctx, n.P2P(), g.chain.Genesis.ChainID())
	if err != nil {
		return nil, err
	}
	p.Hello.HeadNum, p.Hello.LIBNum = info.HeadNum, info.Irreversible
	if p.Hello.HeadID, err = types.ParseChecksum256(info.HeadID); err != nil {
		return nil, err
	}
	if p.Hello.LIBID, err = types.ParseChecksum256(info.LIBID); err != nil {
		return nil, err
	}
	return p, p.SendHandshake()
}

// connect adds a light peer.
func (g *generator) connect(ctx context.Context, i int) error {
	p, err := g.hello(ctx, g.node)
	if err != nil {
		return err
	}
	syncs := i < g.load.Syncing
	switch {
	case syncs:
	case !g.load.Produce && i < g.load.Syncing+g.load.Relaying:
		g.relays = append(g.relays, p) // nobody sends them what they pass on
	default:
		p.Seen = g.noteFrame
	}
	g.tasks.Go(func() {
		err := g.work(ctx, p, syncs)
		if ctx.Err() == nil {
			g.mu.Lock()
			g.failed[err.Error()]++
			g.mu.Unlock()
		}
	})
	return nil
}

// work is what a peer does until ctx ends or something fails.
func (g *generator) work(ctx context.Context, p *lightpeer.Peer, syncs bool) error {
	defer p.Close()
	for syncs {
		if err := p.Fetch(ctx, 1, g.chain.Head); err != nil {
			return err
		}
		g.synced.Add(1)
		if !sleep(ctx, time.Second) {
			return ctx.Err()
		}
	}
	return p.Follow(ctx)
}

// noteFrame notes what a follower was sent.
func (g *generator) noteFrame(t p2p.Type, frame []byte) {
	if t == p2p.TypeTransaction {
		g.taken.Add(1)
		return
	}
	num := p2p.BlockNumber(frame)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known[num] {
		g.delivered++
	} else if g.counting.Load() {
		g.known[num] = true
		if g.load.Produce {
			g.delivered++
		}
	}
}

// probe follows the producer: it sees blocks when the node does, and what it sees
// the relaying peers pass on.
func (g *generator) probe(ctx context.Context, source *difftest.Node) error {
	p, err := g.hello(ctx, source)
	if err != nil {
		return err
	}
	p.Seen = func(t p2p.Type, frame []byte) {
		if t == p2p.TypeBlock {
			g.mu.Lock()
			if g.counting.Load() {
				g.known[p2p.BlockNumber(frame)] = true
			}
			g.mu.Unlock()
		}
		raw := append(binary.LittleEndian.AppendUint32(nil, uint32(len(frame))), frame...)
		for _, r := range g.relays {
			_ = r.SendRaw(raw) // its own goroutine tells of its end
		}
	}
	g.tasks.Go(func() {
		defer p.Close()
		if err := p.Follow(ctx); ctx.Err() == nil {
			g.mu.Lock()
			g.failed["the probe: "+err.Error()]++
			g.mu.Unlock()
		}
	})
	return nil
}

// transfers sends transfers to the node as a peer, at the rate, until ctx ends.
func (g *generator) transfers(ctx context.Context) {
	if err := g.sendTransfers(ctx); err != nil && ctx.Err() == nil {
		g.mu.Lock()
		g.failed["transfers: "+err.Error()]++
		g.mu.Unlock()
	}
}

func (g *generator) sendTransfers(ctx context.Context) error {
	const refresh = 10 * time.Second // of the block that they refer to
	if g.load.Rate <= 0 {
		return nil
	}
	p, err := g.hello(ctx, g.node)
	if err != nil {
		return err
	}
	defer p.Close()
	ended := make(chan error, 1)
	g.tasks.Go(func() { ended <- p.Follow(ctx) })
	tick := time.NewTicker(time.Second / time.Duration(g.load.Rate))
	defer tick.Stop()
	var ref types.Checksum256
	for asked := (time.Time{}); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case <-tick.C:
		}
		if time.Since(asked) > refresh {
			info, err := g.node.Info(ctx)
			if err != nil {
				return err
			}
			if ref, err = types.ParseChecksum256(info.HeadID); err != nil {
				return err
			}
			asked = time.Now()
		}
		t, err := g.chain.Transfer(ref)
		if err != nil {
			return err
		}
		if err := p.Send(t); err != nil {
			return errors.Join(errors.New("sending"), err)
		}
		g.sent.Add(1)
	}
}
