package difftest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

// Whether a network catches a validator that there is twice is chance, and takes minutes: in
// CI only simulated networks have cheaters.
var cheats = flag.Bool("difftest.cheats", false, "in a network of go-operas a validator runs twice, until it is caught")

// live is a network of go-operas at work.
type live struct {
	*Network
	work    *Work
	deeds   Deeds
	refused map[string]int
	used    map[*Account]int // and the node to which its transactions go
	price   map[*Account]int64
	rules   inter.Rules
}

// do has somebody do something. A sender's transactions go to one node, that of a validator
// who stays: others may get them too late.
func (l *live) do(ctx context.Context, d *Deed) error {
	home, ok := l.used[d.From]
	if !ok {
		home = l.work.IntN(l.work.Heavy())
		l.used[d.From] = home
	}
	u := l.rules.Upgrades
	if d.Type == types.DynamicFeeTxType && !u.London || d.Type == types.AccessListTxType && !u.Berlin {
		d.Type = types.LegacyTxType
	}
	if paid := l.price[d.From]; paid > 0 {
		d.Price, d.Tip = gwei(paid), gwei(paid)
	}
	tx, err := l.Do(ctx, home, d)
	if err != nil {
		l.refused[d.Kind]++
		return ctx.Err()
	}
	l.deeds.Add(d.Kind, tx)
	return nil
}

// settle waits until nodes have executed what was sent to them, though not for ever: where
// no emitter takes a transaction, as one of a type that is no longer allowed, its account
// does something else with the same nonce for a better price.
func (l *live) settle(ctx context.Context) error {
	end := time.Now().Add(12 * time.Second)
	for a, home := range l.used {
		for {
			var next hexutil.Uint64
			if err := l.Nodes[home].Call(ctx, &next, "eth_getTransactionCount", a.Address, "latest"); err != nil {
				return err
			}
			if uint64(next) >= a.nonce {
				a.nonce = uint64(next) // more than we hoped for any longer
				break
			}
			if time.Now().After(end) {
				a.nonce = uint64(next)
				l.price[a] = max(l.price[a], 5000) * 5 / 4
				break
			}
			time.Sleep(40 * time.Millisecond)
		}
	}
	// The latest are those of the epoch's record, which is not there for a moment when it begins.
	return l.Nodes[0].Call(ctx, &l.rules, "eth_getRules", "pending")
}

// drive is what happens to a network: work all the time, a validator that is away for a
// while, and later, if it is asked for, one that there is twice.
func (l *live) drive(ctx context.Context, deeds int) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	for _, d := range l.work.Start() {
		if err := l.do(ctx, d); err != nil {
			return err
		}
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	const batch = 12
	rounds, last := max(deeds/batch, 4), inter.ValidatorID(l.size)
	for round := range rounds {
		var err error
		switch alone := l.size == 1; {
		case alone:
		case round == rounds/4:
			err = l.Leave(last)
		case round == rounds/2:
			err = l.Return(ctx, last)
		case round == rounds*3/4 && *cheats:
			err = l.cheat(ctx, last)
		}
		for range batch {
			if err == nil {
				err = l.do(ctx, l.work.Next())
			}
		}
		if err = errors.Join(err, l.settle(ctx)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	if err := l.reform(ctx); err != nil {
		return err
	}
	// Something more, so that the last epoch has blocks.
	if err := l.do(ctx, l.work.deed("transfer", l.work.owner, l.work.accounts[len(l.work.accounts)-1].Address, 21_000,
		big.NewInt(1), nil)); err != nil {
		return err
	}
	return l.settle(ctx)
}

// reform has the rules change and an epoch sealed, whatever the work thought up before: a
// comparison in which neither happened would say nothing of them.
func (l *live) reform(ctx context.Context) error {
	const attempts = 5 // an account whose transaction nobody takes does the next with its nonce
	for range attempts {
		slack := uint64(l.rules.Economy.BlockMissedSlack) + 1
		change := l.work.updateRules("change rules", fmt.Sprintf(`{"Economy":{"BlockMissedSlack":%d}}`, slack))
		for _, d := range []*Deed{change, l.work.advance()} {
			if err := errors.Join(l.do(ctx, d), l.settle(ctx)); err != nil {
				return err
			}
		}
		if uint64(l.rules.Economy.BlockMissedSlack) == slack {
			return nil
		}
	}
	return errors.New("the rules do not change, or no epoch is sealed")
}

// cheat has a validator sign twice, until the others know. A node that hears of its twin's
// events before it tells its own keeps silent for the rest of the epoch, so there is another
// epoch for another attempt.
func (l *live) cheat(ctx context.Context, id inter.ValidatorID) error {
	if err := l.Twin(ctx, id); err != nil {
		return err
	}
	for range 10 {
		if err := l.Diverge(ctx); err != nil {
			return err
		}
		// Something for a block to be made of, and a block after it.
		for _, d := range []*Deed{l.work.transfer(), l.work.advance(), l.work.transfer()} {
			if err := errors.Join(l.do(ctx, d), l.settle(ctx)); err != nil {
				return err
			}
		}
		if cheated, err := l.Cheated(ctx, id); err != nil || cheated {
			return err
		}
	}
	return nil
}

// A network of go-operas makes blocks of random work, and we make the same of its events.
func TestAReplayedNetworkHasTheSameBlocks(t *testing.T) {
	p, ctx := peer(t)
	all := trials(t, func(r *trial) error { return liveTrial(ctx, t, p, r) })
	if all.Epochs == 0 || all.Rules == 0 || *cheats && *validators > 1 && all.Cheaters == 0 {
		t.Error("something was not driven")
	}
}

func liveTrial(ctx context.Context, t *testing.T, p *Peer, r *trial) error {
	w, err := NewWork(r.seed, *validators)
	if err != nil {
		return err
	}
	n, err := p.StartNetwork(ctx, filepath.Join(r.dir, "go-operas"), *validators)
	if err != nil {
		return err
	}
	defer n.Kill()
	l := &live{Network: n, work: w, deeds: Deeds{}, refused: map[string]int{}, used: map[*Account]int{},
		price: map[*Account]int64{}}
	if err := l.drive(ctx, *work); err != nil {
		return err
	}
	theirs, err := n.Record(ctx, 0)
	if err != nil {
		return err
	}
	c, err := replayRecord(t, filepath.Join(r.dir, "ours"), theirs, *validators)
	if err != nil {
		return err
	}
	if r.Statistics, err = Count(c.Chain, l.deeds, *validators); err != nil {
		return err
	}
	for kind, n := range l.refused {
		r.change(kind, func(f *Fate) { f.Refused += n })
	}
	if r.Events, err = countEvents(theirs.Events); err != nil {
		return err
	}
	return errors.Join(compare(c.Chain, theirs), c.Close())
}
