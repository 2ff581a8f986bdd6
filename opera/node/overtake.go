package node

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/opera/p2p"
	"tarn/opera/state"
	"tarn/opera/statesync"
)

// With --syncmode snap a node that is far behind overtakes its network: it takes records of blocks
// and epochs, downloads the state of the newest epoch, has its chain go over to that epoch, and is
// opened again there. Until the chain has promised to go over, a start begins with the old epoch and
// downloads anew; from then on each start goes over by itself.

const (
	// overtakeEvery is how often a node looks what it waits for.
	overtakeEvery = time.Second
	// newestAge is how old an epoch's beginning may be that is worth a download (go-opera,
	// snapsyncMaxStartAge): peers have forgotten older ones when it ends.
	newestAge = 6 * time.Hour
	// retryAfter is the time between two attempts at a state.
	retryAfter = 5 * time.Second
)

// overtaking is a node's way to a later epoch. Any goroutine may ask how far it is.
type overtaking struct {
	n      *Node
	peers  *p2p.Node
	states *statesync.Syncer
	now    func() time.Time

	said time.Time // what it waits for
	at   atomic.Pointer[stage]

	stop context.CancelFunc
	done chan struct{}
}

// stage is what a node does on its way to a later epoch.
type stage struct {
	epoch inter.Epoch // of the state; 0 while none is chosen
	in    *state.Incoming
	roots bool // the tries are made
}

// overtake begins, if the node is to. end ends it.
func overtake(n *Node, peers *p2p.Node, states *statesync.Syncer) *overtaking {
	ctx, cancel := context.WithCancel(n.ended)
	o := &overtaking{n: n, peers: peers, states: states, now: time.Now, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		if err := o.run(ctx); err != nil {
			n.stop(err)
		}
	}()
	return o
}

// end ends it; nothing that was downloaded is kept.
func (o *overtaking) end() error {
	if o != nil {
		o.stop()
		<-o.done
	}
	return nil
}

// run overtakes the network if the node is far behind it. Its error is why the node ends.
func (o *overtaking) run(ctx context.Context) error {
	for o.peers.Behind() && ctx.Err() == nil {
		record, err := o.choose()
		if err != nil {
			return err
		}
		pause := overtakeEvery
		if record != nil {
			pause = retryAfter
			err = o.goTo(ctx, record)
		}
		switch {
		case errors.Is(err, chain.ErrGoesOver):
			return nil
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, statesync.ErrNotServed), errors.Is(err, state.ErrOtherState):
			o.n.o.Log.Warn("No peer has this state any more; the node tries a later one",
				"epoch", record.Epoch, "err", err)
		default:
			return fmt.Errorf("overtake the network: %w", remedy(err))
		}
		wait(ctx, pause)
	}
	o.at.Store(nil)
	return nil
}

func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// choose returns the newest epoch of which validators' votes have decided what it began with, nil if it is
// the present one, or too old.
func (o *overtaking) choose() (*inter.EpochRecord, error) {
	o.at.Store(&stage{})
	v, err := o.n.chain.View()
	if err != nil {
		return nil, fmt.Errorf("choose an epoch to go to: %w", err)
	}
	defer v.Close()
	newest := o.n.chain.Frontier().Unfilled.Epoch - 1
	if newest <= v.Epoch().Epoch {
		o.waits("waits for records of epochs", "epoch", newest)
		return nil, nil
	}
	record, err := v.EpochRecord(newest)
	if err != nil || record == nil {
		return nil, err
	}
	if age := o.now().Sub(began(record)); age > newestAge {
		o.waits("waits for records of later epochs", "epoch", newest, "age", age.Round(time.Second))
		return nil, nil
	}
	return record, nil
}

// began is when an epoch did.
func began(r *inter.EpochRecord) time.Time {
	return time.Unix(0, int64(r.State.BlockState.LastBlock.Time))
}

// waits says now and then what the node waits for.
func (o *overtaking) waits(what string, args ...any) {
	if now := o.now(); now.Sub(o.said) >= progressEvery {
		o.said = now
		o.n.o.Log.Info("Snap sync "+what, args...)
	}
}

// goTo downloads the state of an epoch's beginning, waits for the blocks before it, and has the chain go
// over.
func (o *overtaking) goTo(ctx context.Context, record *inter.EpochRecord) error {
	last := record.State.BlockState.LastBlock
	o.n.o.Log.Info("Downloading a state", "epoch", record.Epoch, "block", last.Number,
		"root", fmt.Sprintf("%x", record.State.BlockState.FinalizedStateRoot))
	to := &brought{n: o.n}
	since := o.now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go o.tell(ctx)
	o.at.Store(&stage{epoch: record.Epoch})
	if err := o.states.Sync(ctx, record.State.BlockState.FinalizedStateRoot, to); err != nil {
		return err
	}
	p := o.states.Progress()
	o.n.o.Log.Info("The state is downloaded", "epoch", record.Epoch, "accounts", p.Accounts, "slots", p.Slots,
		"codes", p.Codes,
		"mb", p.Bytes>>20, "seconds", int(o.now().Sub(since).Seconds()))
	for o.n.chain.Frontier().Unfilled.Block <= last.Number {
		o.waits("waits for records of blocks", "block", o.n.chain.Frontier().Unfilled.Block, "of", last.Number)
		wait(ctx, overtakeEvery/4)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	o.at.Store(&stage{epoch: record.Epoch, in: to.in, roots: true})
	return o.n.Do(ctx, func(c *chain.Chain) error { return c.GoOver(ctx, record.Epoch, to.in) })
}

// tell says now and then how far it is.
func (o *overtaking) tell(ctx context.Context) {
	for wait(ctx, progressEvery); ctx.Err() == nil; wait(ctx, progressEvery) {
		p := o.states.Progress()
		switch at := o.at.Load(); {
		case at == nil:
		case at.roots:
			o.n.o.Log.Info("Computing the root of the state",
				"epoch", at.epoch, "percent", fmt.Sprintf("%.1f", 100*at.in.Finished()))
		case p.Share < 1:
			o.n.o.Log.Info("Downloading a state", "epoch", at.epoch, "percent", fmt.Sprintf("%.1f", 100*p.Share),
				"accounts", p.Accounts, "slots", p.Slots, "codes", p.Codes, "mb", p.Bytes>>20)
		}
	}
}

// States tells eth_syncing how many parts of a state came, and of how many that seems to be.
func (o *overtaking) States() (pulled, known uint64) {
	if at := o.at.Load(); at == nil || at.epoch == 0 {
		return 0, 0
	}
	p := o.states.Progress()
	pulled = p.Accounts + p.Slots + p.Codes
	if share := uint64(p.Share * (1 << 20)); share > 0 {
		high, low := bits.Mul64(pulled, 1<<20)
		if high < share {
			known, _ = bits.Div64(high, low, share)
		}
	}
	return pulled, max(pulled, known)
}

// brought is where a download goes: beside the state of the node's chain.
type brought struct {
	n  *Node
	in *state.Incoming
}

var _ statesync.Target = (*brought)(nil)

// Begin implements statesync.Target.
func (b *brought) Begin(ctx context.Context) error {
	return b.n.Do(ctx, func(c *chain.Chain) (err error) {
		b.in, err = c.Incoming()
		return err
	})
}

// Bring implements statesync.Target.
func (b *brought) Bring(ctx context.Context, p *statesync.Part) error {
	return b.n.Do(ctx, func(*chain.Chain) error {
		for _, c := range p.Codes {
			if err := b.in.Code(c); err != nil {
				return err
			}
		}
		for _, s := range p.Slots {
			if err := b.in.Slot(p.Of, s); err != nil {
				return err
			}
		}
		for i := range p.Accounts {
			if err := b.in.Account(p.Accounts[i].Hash, &p.Accounts[i].Account); err != nil {
				return err
			}
		}
		return nil
	})
}
