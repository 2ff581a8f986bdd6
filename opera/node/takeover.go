package node

import (
	"context"
	"errors"
	"fmt"

	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/gooperadir"
	"tarn/opera/inter"
	"tarn/store/engine"
)

// importFolder makes a chain of the data folder of a go-opera that has ended, and ends.
func (l *invocation) importFolder(ctx context.Context) error {
	if err := l.arguments(1, 1); err != nil {
		return err
	}
	if l.Run.Genesis != "" || l.Run.Fakenet.Validators != 0 {
		return errors.New("import datadir takes the folder as an argument, without --genesis and --fakenet")
	}
	from := &Beginning{Folder: l.words[0]}
	return l.withNode(ctx, func(o *Options) { o.Genesis = from }, func(_ context.Context, n *Node) error {
		head := n.Chain().Head()
		l.log.Info("The chain is ready", "block", head.Number, "id", head.Atropos, "epoch", n.Chain().Epoch().Epoch,
			"dir", n.dir())
		return nil
	})
}

// takeOver makes the chain of the folder that the genesis names. The state carries a mark
// until it is durable.
func (n *Node) takeOver(ctx context.Context) error {
	from, err := gooperadir.Open(gooperadir.Options{Dir: n.o.Genesis.Folder})
	if err != nil {
		return err
	}
	if err := known(from); err != nil {
		return errors.Join(err, from.Close())
	}
	t := chain.Takeover{From: from, States: n.o.History.States}
	for {
		err = n.take(ctx, t)
		var pruned *chain.PrunedError
		if !errors.As(err, &pruned) || pruned.StatesFrom <= t.StatesFrom {
			return errors.Join(err, from.Close())
		}
		n.o.Log.Warn("The folder does not have all old states; beginning again without the older ones",
			"from", pruned.StatesFrom, "missing", err)
		t.StatesFrom = pruned.StatesFrom
	}
}

// known refuses a folder whose go-opera has stopped because the network demands a newer version: the rules
// after it are not known here either.
func known(from *gooperadir.Folder) error {
	demanded, err := from.Demanded()
	if err == nil {
		err = unsupportedError(demanded)
	}
	if err != nil {
		return fmt.Errorf("take over %s: %w", from.Path(), err)
	}
	return nil
}

// take tries to take a folder over.
func (n *Node) take(ctx context.Context, t chain.Takeover) error {
	if err := n.newStore(
		"the data folder of a go-opera is being taken over; do it again: tarn opera import datadir DIR\n"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n.o.Log.Info("Taking over the folder of a go-opera", "from", t.From.Path(), "databases", t.From,
		"engine", n.o.Engine.Kind)
	all := nodeupkeep.NewProgress(n.o.Log, "", progressEvery)
	defer all.End()
	var part *nodeupkeep.Progress
	var doing string
	t.Progress = func(what string, done, total uint64) {
		if part == nil || doing != what {
			doing, part = what, nodeupkeep.NewProgress(n.o.Log, "Taking over "+what, progressEvery)
		}
		if part.Items(done, total, "done", done, "of", total) {
			if left, err := nodeupkeep.Free(n.dir()); err == nil && left < n.o.MinFree {
				cancel(fmt.Errorf("low disk space: %d MB are free on the disk of %s, less than the %d of "+
					"--datadir.minfreedisk", left>>20, n.o.Dir, n.o.MinFree>>20))
			}
		}
	}
	o := chain.Options{Store: n.store, History: n.history, Warn: func(err error) { n.o.Log.Warn(err.Error()) }}
	err := chain.TakeOver(ctx, o, t)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	closed := n.store.Close()
	n.store = nil
	if err != nil {
		return errors.Join(fmt.Errorf("take over %s: %w", t.From.Path(), remedy(err)), closed)
	}
	if closed == nil {
		closed = engine.MarkFinished(n.stateDir())
	}
	if closed != nil {
		return closed
	}
	var epoch inter.Epoch
	var block inter.BlockNumber
	if h, err := t.From.Head(); err == nil {
		epoch, block = h.Epoch.Epoch, h.Block.LastBlock.Number
	}
	all.Done("Took over the folder of a go-opera", "block", block, "epoch", epoch)
	return nil
}
