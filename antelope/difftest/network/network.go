// Package network lets nodes of different makes work together and judges the
// outcome: a real nodeos and ours, as processes on loopback, joined by [Link]s that
// can be cut, held up and slowed down.
//
// Four things are tried: [Sync] of a long chain from one node to the next,
// [Partition]s between producers, a node with hundreds of light peers ([Load]), and
// nodes that are killed at any time ([Kill]). What has to come out is the same head
// and the same integrity hash everywhere; [Load] counts CPU time and delays.
//
// It is a test tool. It owns the processes that it starts, and ends them. It knows
// no rules of the chain, and never looks into a node: all that it learns is told by
// the nodes' HTTP API and the peer-to-peer protocol.
package network

import (
	"context"
	"fmt"
	"io"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/difftest"
	"tarn/antelope/types"
	"tarn/procusage"
)

// arguments are what all nodes of a network get, besides those of [difftest.Config].
// Peers that are lost are looked for every second, and hundreds may connect.
func arguments(peers ...string) []string {
	list := []string{"--plugin", "eosio::net_plugin", "--max-clients", "400", "--p2p-max-nodes-per-host", "400",
		"--connection-cleanup-period", "1", "--read-only-read-window-time-us", "500000"}
	for _, p := range peers {
		list = append(list, "--p2p-peer-address", p)
	}
	return list
}

// start starts a node in a folder, on the chain's genesis, or on what the folder
// holds already.
func start(
	ctx context.Context, x difftest.Executable, c *Chain, dir string, producers []string, extra ...string,
) (*difftest.Node, error) {
	return x.Start(ctx, c.config(dir, producers, extra...))
}

// config is how a node of the chain is started, at first and again.
func (c *Chain) config(dir string, producers []string, extra ...string) difftest.Config {
	o := difftest.Config{Dir: dir, Genesis: &c.Genesis, Producers: map[types.Name]crypto.PrivateKey{}, Extra: extra}
	for _, p := range producers {
		o.Producers[types.N(p)] = c.Key
	}
	return o
}

// processorTime is what a process has used, of all its threads, in user and kernel
// mode. It is exact to 10 ms.
func processorTime(pid int) (time.Duration, error) {
	p, err := procusage.Read(pid)
	return p.CPU(), err
}

// state is what has to be the same everywhere.
type state struct{ head, hash string }

// stateOf asks a node.
func stateOf(ctx context.Context, n *difftest.Node) (s state, err error) {
	s.head, s.hash, err = n.IntegrityHash(ctx)
	return s, err
}

// num is the head's number.
func (s state) num() uint32 {
	id, _ := types.ParseChecksum256(s.head) // a node has made it
	return types.BlockNum(id)
}

// compare demands the same head of all nodes, and the same state; only when the
// states of one head differ the error is [difftest.ErrDifferent].
func compare(ctx context.Context, names []string, nodes []*difftest.Node) (first state, err error) {
	for i, n := range nodes {
		s, err := stateOf(ctx, n)
		if err != nil {
			return s, fmt.Errorf("%s: %w", names[i], err)
		}
		switch {
		case i == 0:
			first = s
		case s.head != first.head:
			return s, fmt.Errorf("%s is at block %d %s, %s at %d %s", names[0], first.num(), first.head, names[i],
				s.num(), s.head)
		case s.hash != first.hash:
			return s, fmt.Errorf("%w: %s has the hash %s at block %d, %s has %s",
				difftest.ErrDifferent, names[0], first.hash, s.num(), names[i], s.hash)
		}
	}
	return first, nil
}

// pollTime is how long the tools wait between two questions.
const pollTime = 50 * time.Millisecond

// await asks until the answer is yes, or an error, or the time is over.
func await(ctx context.Context, what string, limit time.Duration, done func() (bool, error)) error {
	for end := time.Now().Add(limit); ; {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("no %s in %v", what, limit)
		}
		if !sleep(ctx, pollTime) {
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}

// sleep waits, or returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// stop ends nodes. One that does not end by itself is killed, and one that had ended
// before is a fault: both are said.
func stop(say io.Writer, nodes ...*difftest.Node) {
	for _, n := range nodes {
		if n.Ended() {
			fmt.Fprintln(say, "ended by itself:", n.Dir(), n.LogEnd())
			continue
		}
		if err := n.Stop(); err != nil {
			fmt.Fprintln(say, err)
		}
	}
}
