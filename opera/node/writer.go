package node

import (
	"context"
	"errors"
	"fmt"

	"tarn/opera/chain"
	"tarn/writerloop"
)

// Do has the writer do some work, and waits for its error. It waits for its turn until the
// context or the node ends, and then for the work itself, which ends early only if it looks
// at its context. While the network demands a newer version, no work is done.
func (n *Node) Do(ctx context.Context, work func(*chain.Chain) error) error {
	err := n.writer.Call(ctx, func() error { return n.do(ctx, work) })
	if errors.Is(err, writerloop.ErrStopped) {
		return n.Cause()
	}
	return err
}

// gate is how peers' events reach the writer.
type gate struct{ *Node }

// Paused implements p2p.Writer: the network demands a newer version.
func (g gate) Paused() error { return g.version.unsupportedError() }

// write is the writer's goroutine. At its end nobody waits for it any more.
func (n *Node) write() {
	if err := n.writer.Run(n.ended); err != nil {
		n.stop(err)
	}
	n.writer.Close()
}

func (n *Node) do(ctx context.Context, work func(*chain.Chain) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := n.version.unsupportedError(); err != nil && !n.fleet.replicates() { // which executes nothing
		return err
	}
	n.effort.begin()
	err := work(n.chain)
	n.effort.end()
	broken := n.chain.Failed()
	if errors.Is(broken, chain.ErrGoesOver) {
		n.writer.Fail(broken)
		return errors.Join(err, broken)
	}
	if broken != nil {
		n.writer.Fail(fmt.Errorf("the chain cannot go on: %w", remedy(broken)))
		return errors.Join(err, broken)
	}
	return err
}
