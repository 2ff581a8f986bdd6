package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/state"
)

// maintenance are go-opera's commands about its databases. Scripts that call them go on:
// what they ask for is done, or is always done, which a line says.
func maintenance() []action {
	return []action{
		{"check", "Compare the state with its tries, code with its hashes, history with its checksums",
			(*invocation).check},
		{"check evm", "Does the same as `opera check`", (*invocation).check},
		{"db compact", "Say why there is nothing to compact", (*invocation).compact},
		{"db heal", "Open the chain as it is after a crash, make blocks again, save", (*invocation).heal},
		{"db transform", "Say why there is nothing to transform", (*invocation).transform},
		{"snapshot verify-state", "Check the whole state; ROOT must be the root of the last state: [ROOT]",
			(*invocation).verifyState},
		{"snapshot traverse-state", "Does the same as `opera snapshot verify-state`: [ROOT]",
			(*invocation).traverseState},
		{"snapshot traverse-rawstate", "Does the same as `opera snapshot verify-state`: [ROOT]",
			(*invocation).traverseState},
		{"snapshot prune-state", "Prunes nothing. Shows how much disk old states take, and which option keeps fewer: [ROOT]",
			(*invocation).pruneState},
	}
}

// check compares everything with everything.
func (l *invocation) check(ctx context.Context) error {
	if len(l.words) != 0 {
		return errors.New("This command doesn't require an argument.")
	}
	return l.existing(ctx, func(ctx context.Context, n *Node) error {
		p := nodeupkeep.NewProgress(l.log, "Checking", progressEvery)
		head, counted, err := l.compare(ctx, n)
		if err == nil {
			p.Done("EVM storage is verified", "last", head, "accounts", counted.Accounts, "slots", counted.Slots,
				"codes", counted.Codes, "nodes", counted.Nodes)
		}
		return err
	})
}

// compare compares everything of a chain, and returns its head and what was gone through.
func (l *invocation) compare(ctx context.Context, n *Node) (head uint64, counted state.Counted, err error) {
	wrong := 0
	var p *nodeupkeep.Progress
	var doing string
	progress := func(what string, done, total uint64) error {
		if what != doing {
			p, doing = nodeupkeep.NewProgress(l.log, "Checking "+what, progressEvery), what
		}
		if what == chain.Bytes {
			p.Bytes(done, total, "wrong", wrong)
		} else {
			p.Items(done, total, "done", done, "wrong", wrong)
		}
		return context.Cause(ctx)
	}
	err = n.Do(ctx, func(c *chain.Chain) (err error) {
		head = uint64(c.Head().Number)
		counted, err = c.Check(func(err error) {
			if wrong++; wrong <= reported {
				l.log.Error("The check found an error", "err", err)
			}
		}, progress)
		return err
	})
	if p != nil {
		p.End()
	}
	if err == nil && wrong > 0 {
		err = fmt.Errorf("the check found %d errors in %s", wrong, n.dir())
	}
	return head, counted, err
}

// reported is how many of the things that are wrong are named.
const reported = 100

// compact says why nothing is compacted.
func (l *invocation) compact(ctx context.Context) error {
	if err := l.arguments(0, 0); err != nil {
		return err
	}
	return l.existing(ctx, func(_ context.Context, n *Node) error {
		s := n.Store()
		l.log.Info(
			"There is nothing to compact: the page engine reuses free pages, and the LSM engines compact by "+
				"themselves; `tarn db "+
				"convert` makes a smaller copy",
			"engine", n.o.Engine.Kind, "bytes", s.Size, "used", s.Used)
		return nil
	})
}

// heal does what each start does: it opens at the last image, makes the blocks after it
// again, and saves.
func (l *invocation) heal(ctx context.Context) error {
	if err := l.arguments(0, 0); err != nil {
		return err
	}
	return l.existing(ctx, func(_ context.Context, n *Node) error {
		head := n.Chain().Head()
		l.log.Info("Recovery is complete, as at every start", "block", head.Number, "id", head.Atropos,
			"epoch", n.Chain().Epoch().Epoch, "again", n.made.Load())
		return nil
	})
}

// transform says why there is nothing to transform.
func (l *invocation) transform(ctx context.Context) error {
	if err := l.arguments(0, 0); err != nil {
		return err
	}
	return l.existing(ctx, func(_ context.Context, n *Node) error {
		l.log.Info(
			"No DB transformation is needed: there is one layout; `tarn db convert` moves a state to another engine",
			"engine", n.o.Engine.Kind)
		return nil
	})
}

func (l *invocation) verifyState(ctx context.Context) error { return l.last(ctx, "Verified the state") }

func (l *invocation) traverseState(ctx context.Context) error {
	return l.last(ctx, "State is complete")
}

// last checks everything, and that the root that was named, if any, is that of the last
// state.
func (l *invocation) last(ctx context.Context, done string) error {
	root, named, err := l.root()
	if err != nil {
		return err
	}
	return l.existing(ctx, func(ctx context.Context, n *Node) error {
		v, err := n.chain.View()
		if err != nil {
			return err
		}
		have, err := v.Root(v.Head().Number)
		if err = errors.Join(err, v.Close()); err != nil {
			return err
		}
		if named && root != have {
			return fmt.Errorf(
				"%v is not the root of the last state, which is %v: only the last one is checked whole, older ones "+
					"node by node when they are asked for", root, common.Hash(have))
		}
		p := nodeupkeep.NewProgress(l.log, "Checking", progressEvery)
		head, counted, err := l.compare(ctx, n)
		if err == nil {
			p.Done(done, "root", common.Hash(have).Hex(), "last", head, "accounts", counted.Accounts,
				"slots", counted.Slots, "codes", counted.Codes)
		}
		return err
	})
}

// root reads the root that a command may name.
func (l *invocation) root() (root common.Hash, named bool, err error) {
	if len(l.words) > 1 {
		return root, false, errors.New("too many arguments")
	}
	if len(l.words) == 0 {
		return root, false, nil
	}
	if err := root.UnmarshalText([]byte(l.words[0])); err != nil {
		return root, false, fmt.Errorf("the root %q: %w", l.words[0], err)
	}
	return root, true, nil
}

// pruneState says which old states there are.
func (l *invocation) pruneState(ctx context.Context) error {
	if _, _, err := l.root(); err != nil {
		return err
	}
	return l.existing(ctx, func(_ context.Context, n *Node) error {
		s := n.History().States
		l.log.Info(
			"There is nothing to prune: old states are in separate files. To keep fewer old states, start with "+
				"--gcmode full or --history.states N",
			"bytes", s.LogBytes+s.Index.RunBytes)
		return nil
	})
}
