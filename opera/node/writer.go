package node

import (
	"context"
	"errors"
	"fmt"

	"tarn/opera/chain"
)

// job is work for the writer.
type job struct {
	ctx  context.Context
	work func(*chain.Chain) error
	done chan error
}

// Do has the writer do some work, and waits for its error. It waits for its turn until the
// context or the node ends, and then for the work itself, which ends early only if it looks
// at its context. While the network demands a newer version, no work is done.
func (n *Node) Do(ctx context.Context, work func(*chain.Chain) error) error {
	j := job{ctx, work, make(chan error, 1)}
	select {
	case n.inbox <- j:
		return <-j.done
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.ended.Done():
		return n.Cause()
	}
}

// write is the writer's goroutine.
func (n *Node) write() {
	for {
		// A node that is to end takes no more work, even if there is some.
		select {
		case <-n.ended.Done():
			return
		default:
		}
		select {
		case j := <-n.inbox:
			j.done <- n.do(j)
		case <-n.ended.Done():
			return
		}
	}
}

func (n *Node) do(j job) error {
	if err := j.ctx.Err(); err != nil {
		return context.Cause(j.ctx)
	}
	if err := n.version.unsupported(); err != nil {
		return err
	}
	n.saver.work()
	err := j.work(n.chain)
	n.saver.rest()
	if broken := n.chain.Failed(); broken != nil {
		n.stop(fmt.Errorf("the chain cannot go on: %w", remedy(broken)))
		return errors.Join(err, broken)
	}
	return err
}
