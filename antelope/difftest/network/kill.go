package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/types"
)

// Kills is how often a node is killed, with SIGKILL, in each of its occupations.
type Kills struct {
	Count int
	Most  time.Duration // that it lives
	Seed  uint64        // of all choices
}

// Kill kills a node again and again: while it fetches a chain from another node, and
// while it produces, makes snapshots and executes transfers that another node
// follows. It is started each time with the same command line, and must come to the
// right head by itself. Folders are made in dir; it says what it sees.
func Kill(ctx context.Context, c *Chain, x, other difftest.Executable, k Kills, dir string, say io.Writer) error {
	fmt.Fprintf(say, "kills of %s: seed %d\n", x.Name, k.Seed)
	o := &ordeal{chain: c, x: x, say: say, random: rand.New(rand.NewPCG(k.Seed, 4)), most: k.Most}
	for _, part := range []func(context.Context, difftest.Executable, int, string) error{o.syncing, o.producing} {
		if err := part(ctx, other, k.Count, dir); err != nil {
			return fmt.Errorf("seed %d, after %d kills: %w", k.Seed, o.kills, err)
		}
	}
	return nil
}

// ordeal is a node that is killed.
type ordeal struct {
	chain  *Chain
	x      difftest.Executable
	say    io.Writer
	random *rand.Rand
	most   time.Duration
	kills  int
}

// moment is how long the node lives next time, more often short than long.
func (o *ordeal) moment() time.Duration {
	return time.Duration(float64(o.most) * o.random.Float64() * o.random.Float64())
}

// syncing kills a node that fetches a chain. When it has come to the end it begins
// again, with nothing.
func (o *ordeal) syncing(ctx context.Context, other difftest.Executable, count int, dir string) error {
	source := filepath.Join(dir, "source")
	if err := o.chain.Copy(source); err != nil {
		return err
	}
	from, err := start(ctx, other, o.chain, source, nil, arguments()...)
	if err != nil {
		return err
	}
	defer stop(o.say, from)
	home := filepath.Join(dir, "follower")
	config := o.chain.config(home, nil, arguments(from.P2P())...)
	for range count {
		head, err := o.killOnce(ctx, config)
		if err != nil {
			return err
		}
		if head >= o.chain.Head {
			if err := os.RemoveAll(home); err != nil {
				return err
			}
		}
	}
	n, err := o.x.Start(ctx, config)
	if err != nil {
		return err
	}
	defer stop(o.say, n)
	limit, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	if err := n.AwaitHead(limit, o.chain.Head, false); err != nil {
		return err
	}
	s, err := compare(ctx, []string{other.Name, o.x.Name}, []*difftest.Node{from, n})
	if err != nil {
		return err
	}
	fmt.Fprintf(o.say, "%d kills during sync: the same at block %d, hash %s\n", o.kills, s.num(), s.hash)
	return nil
}

// killOnce starts the node and kills it a while later. It returns the last head
// that it told of.
func (o *ordeal) killOnce(ctx context.Context, config difftest.Config) (head uint32, err error) {
	n, err := o.x.Launch(ctx, config)
	if err != nil {
		return 0, err
	}
	life, cancel := context.WithTimeout(ctx, o.moment())
	defer cancel()
	for sleep(life, pollTime/2) {
		if i, err := n.Info(life); err == nil {
			head = max(head, i.HeadNum)
		}
		if n.Ended() {
			return 0, fmt.Errorf("the node ended by itself: %w", n.Await(ctx))
		}
	}
	n.Kill()
	o.kills++
	return head, ctx.Err()
}

// producing kills a node that produces, while another one follows it. What the
// other one has seen must never be unmade: with one producer it is irreversible.
func (o *ordeal) producing(ctx context.Context, other difftest.Executable, count int, dir string) error {
	home, before := filepath.Join(dir, "producer"), o.kills
	if err := o.chain.Copy(home); err != nil {
		return err
	}
	link, err := NewLink()
	if err != nil {
		return err
	}
	defer link.Close()
	follower, err := start(ctx, other, o.chain, filepath.Join(dir, "witness"), nil, arguments(link.Address())...)
	if err != nil {
		return err
	}
	defer stop(o.say, follower)
	config := o.chain.config(home, []string{"eosio"}, arguments()...)
	for range count {
		if err := o.life(ctx, config, link, follower); err != nil {
			return err
		}
	}
	n, err := o.x.Start(ctx, config)
	if err != nil {
		return err
	}
	defer stop(o.say, n)
	link.To(n.P2P())
	m := &mesh{chain: o.chain, names: []string{o.x.Name, other.Name}, nodes: []*difftest.Node{n, follower}}
	last, err := m.highest(ctx)
	if err != nil {
		return err
	}
	if err := m.awaitIrreversible(ctx, last+2); err != nil {
		return err
	}
	if _, _, err := n.Snapshot(ctx); err != nil {
		return fmt.Errorf("a snapshot after all: %w", err)
	}
	s, err := m.agree(ctx)
	if err != nil {
		return err
	}
	snapshots, err := o.snapshots(home)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.say, "%d kills during production: the same at block %d, hash %s; %d whole snapshots\n",
		o.kills-before, s.num(), s.hash, snapshots)
	return nil
}

// life starts the producer, gives it work, and kills it.
func (o *ordeal) life(ctx context.Context, config difftest.Config, link *Link, follower *difftest.Node) error {
	seen, err := follower.Info(ctx)
	if err != nil {
		return err
	}
	n, err := o.x.Start(ctx, config)
	if err != nil {
		return err
	}
	if err := o.has(ctx, n, seen); err != nil {
		n.Kill()
		return err
	}
	link.To(n.P2P())
	working, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	m := &mesh{chain: o.chain}
	random := rand.New(rand.NewPCG(o.random.Uint64(), 5))
	work.Go(func() { m.transfer(working, n, random) })
	sleep(ctx, o.moment())
	if o.random.IntN(2) == 0 {
		work.Go(func() { _, _, _ = n.Snapshot(working) }) // it is killed over it
		sleep(ctx, time.Duration(o.random.Int64N(int64(600*time.Millisecond))))
	}
	n.Kill()
	o.kills++
	cancel()
	work.Wait()
	return ctx.Err()
}

// has demands that a producer that comes back has the head of the node that follows
// it.
func (o *ordeal) has(ctx context.Context, n *difftest.Node, seen difftest.Info) error {
	var b struct {
		ID string `json:"id"`
	}
	err := n.Call(ctx, "/v1/chain/get_block_info", map[string]any{"block_num": seen.HeadNum}, &b)
	if err == nil && b.ID == seen.HeadID {
		return nil
	}
	return fmt.Errorf("%w: the follower is at block %d %s, the producer comes back with %q there (%v)",
		difftest.ErrDifferent, seen.HeadNum, seen.HeadID, b.ID, err)
}

// snapshots reads all that are there under their last names.
func (o *ordeal) snapshots(home string) (whole int, err error) {
	dir := filepath.Join(home, "snapshots")
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), "snapshot-") || !strings.HasSuffix(e.Name(), ".bin") {
			continue
		}
		id := strings.TrimSuffix(strings.TrimPrefix(e.Name(), "snapshot-"), ".bin")
		if _, err := types.ParseChecksum256(id); err != nil {
			continue
		}
		if _, err := difftest.ReadSnapshot(filepath.Join(dir, e.Name())); err != nil {
			return 0, errors.Join(fmt.Errorf("snapshot %s", e.Name()), err)
		}
		whole++
	}
	return whole, nil
}
