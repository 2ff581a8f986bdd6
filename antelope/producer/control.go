package producer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/writer"
)

// Chain is the chain that p writes. What its package allows for any goroutine may
// be called; the rest is the writer's.
func (p *Producer) Chain() *chain.Chain { return p.chain }

// Producers are the producers of this node.
func (p *Producer) Producers() []types.Name { return slices.Clone(p.opt.Producers) }

// Signs tells whether this node has a provider for a key.
func (p *Producer) Signs(k types.PublicKey) bool { return p.opt.Signers[k] != nil }

// Subjective is the CPU that an account is billed by this node alone, in
// microseconds.
func (p *Producer) Subjective(account types.Name, now time.Time) int64 {
	return p.bills.Subjective(account, now)
}

// Greylisted tells whether only an account's own stake counts.
func (p *Producer) Greylisted(account types.Name) bool { return (*p.greylist.Load())[account] }

// Paused tells whether production is paused.
func (p *Producer) Paused() bool { return p.paused.Load() }

// Pause stops production from the next block on.
func (p *Producer) Pause() {
	p.log.plugin.Info("Producer paused.")
	p.paused.Store(true)
}

// Resume ends a pause.
func (p *Producer) Resume(ctx context.Context) error {
	p.paused.Store(false)
	return p.writer.Call(ctx, func() error {
		if p.producing {
			p.log.plugin.Info("Producer resumed.")
			return nil
		}
		if err := p.abort(); err != nil {
			return err
		}
		p.log.plugin.Info("Producer resumed. Scheduling production.")
		p.schedule()
		return nil
	})
}

// RuntimeOptions are the present ones.
func (p *Producer) RuntimeOptions(ctx context.Context) (control.RuntimeOptions, error) {
	return writer.Ask(ctx, p.writer, func() (control.RuntimeOptions, error) {
		policy := p.chain.Policy()
		o := control.RuntimeOptions{
			MaxTransactionTime: new(int32(p.maxTime.Load() / 1000)), MaxIrreversibleAge: new(int32(p.maxLIBAge / time.Second)),
			ProduceOffset: new(int32(round * (blockInterval.Milliseconds() - p.effort.Milliseconds()))),
			GreylistLimit: new(policy.Multiple()),
		}
		// nodeos has none until one is set that is not the default.
		if us := int32(policy.Leeway.Microseconds()); p.leewaySet || us != int32(Defaults().Leeway.Microseconds()) {
			o.Leeway = &us
		}
		if p.maxLIBAge < 0 {
			*o.MaxIrreversibleAge = -1
		}
		return o, nil
	})
}

// SetRuntimeOptions changes them.
func (p *Producer) SetRuntimeOptions(ctx context.Context, o control.RuntimeOptions) error {
	return p.writer.Call(ctx, func() error {
		if o.MaxTransactionTime != nil {
			p.maxTime.Store(int64(*o.MaxTransactionTime) * 1000)
		}
		if o.MaxIrreversibleAge != nil {
			p.maxLIBAge = time.Duration(*o.MaxIrreversibleAge) * time.Second
		}
		if o.ProduceOffset != nil {
			offset := time.Duration(*o.ProduceOffset) * time.Millisecond
			if offset < 0 || offset >= round*blockInterval {
				return exception.New(exception.PluginConfig, "produce-block-offset-ms %d must be [0 - %d)", *o.ProduceOffset, round*blockInterval.Milliseconds())
			}
			p.effort = blockEffort(offset)
		}
		if o.MaxIrreversibleAge != nil && !p.producing {
			if err := p.abort(); err != nil {
				return err
			}
			defer p.schedule()
		}
		if o.Leeway != nil {
			p.leewaySet = true
			p.decide(func(now *execute.Policy) { now.Leeway = time.Duration(*o.Leeway) * time.Microsecond })
		}
		if o.GreylistLimit != nil {
			if *o.GreylistLimit == 0 || *o.GreylistLimit > 1000 {
				return exception.New(exception.Misc, "Invalid limit (%d) passed into set_greylist_limit. Must be between 1 and 1000.", *o.GreylistLimit)
			}
			p.decide(func(now *execute.Policy) { now.GreylistLimit = *o.GreylistLimit })
		}
		return nil
	})
}

// decide changes the policy, on the writer.
func (p *Producer) decide(change func(*execute.Policy)) {
	now := p.chain.Policy()
	change(&now)
	p.chain.SetPolicy(now)
}

// Greylist are the accounts that only their own stake counts of, ascending.
func (p *Producer) Greylist() []types.Name { return slices.Sorted(maps.Keys(*p.greylist.Load())) }

// AddGreylist and RemoveGreylist change it.
func (p *Producer) AddGreylist(ctx context.Context, accounts []types.Name) error {
	return p.changeGreylist(ctx, accounts, func(m map[types.Name]bool, n types.Name) { m[n] = true })
}

// RemoveGreylist takes accounts off the greylist.
func (p *Producer) RemoveGreylist(ctx context.Context, accounts []types.Name) error {
	return p.changeGreylist(ctx, accounts, func(m map[types.Name]bool, n types.Name) { delete(m, n) })
}

func (p *Producer) changeGreylist(ctx context.Context, accounts []types.Name, change func(map[types.Name]bool, types.Name)) error {
	if len(accounts) == 0 {
		return exception.New(exception.InvalidHTTPRequest, "At least one account is required")
	}
	return p.writer.Call(ctx, func() error {
		list := maps.Clone(*p.greylist.Load())
		for _, n := range accounts {
			change(list, n)
		}
		p.greylist.Store(&list)
		p.decide(func(now *execute.Policy) { now.Greylist = list })
		return nil
	})
}

// Lists are the white- and blacklists. The maps must not be changed.
func (p *Producer) Lists(ctx context.Context) (control.Lists, error) {
	return writer.Ask(ctx, p.writer, func() (control.Lists, error) { return p.chain.Policy().Lists, nil })
}

// SetLists replaces those lists that are not nil.
func (p *Producer) SetLists(ctx context.Context, l control.Lists) error {
	if l.ActorWhitelist == nil && l.ActorBlacklist == nil && l.ContractWhitelist == nil && l.ContractBlacklist == nil &&
		l.ActionBlacklist == nil && l.KeyBlacklist == nil {
		return exception.New(exception.InvalidHTTPRequest, "At least one of actor_whitelist, actor_blacklist, contract_whitelist, "+
			"contract_blacklist, action_blacklist, and key_blacklist is required")
	}
	return p.writer.Call(ctx, func() error {
		p.decide(func(now *execute.Policy) {
			replace(&now.Lists.ActorWhitelist, l.ActorWhitelist)
			replace(&now.Lists.ActorBlacklist, l.ActorBlacklist)
			replace(&now.Lists.ContractWhitelist, l.ContractWhitelist)
			replace(&now.Lists.ContractBlacklist, l.ContractBlacklist)
			replace(&now.Lists.ActionBlacklist, l.ActionBlacklist)
			replace(&now.Lists.KeyBlacklist, l.KeyBlacklist)
		})
		return nil
	})
}

func replace[K comparable](to *map[K]bool, from map[K]bool) {
	if from != nil {
		*to = maps.Clone(from)
	}
}

// ScheduledActivations are the protocol features that the next block that is
// produced here is going to activate.
func (p *Producer) ScheduledActivations(ctx context.Context) ([]types.Checksum256, error) {
	return writer.Ask(ctx, p.writer, func() ([]types.Checksum256, error) { return slices.Clone(p.features), nil })
}

// ScheduleActivations replaces them. Only features that need no preactivation can
// be scheduled.
func (p *Producer) ScheduleActivations(ctx context.Context, list []types.Checksum256) error {
	return p.writer.Call(ctx, func() error {
		seen := make(map[types.Checksum256]bool, len(list))
		for _, d := range list {
			if seen[d] {
				return exception.New(exception.InvalidProtocolFeaturesToActivate, "duplicate digests")
			}
			seen[d] = true
		}
		if err := p.checkActivations(list); err != nil {
			return err
		}
		for _, d := range list {
			f, err := p.chain.Features().Get(d)
			if err != nil {
				return err
			}
			if f.PreactivationRequired {
				return exception.New(exception.ProtocolFeature, "protocol feature requires preactivation: %s", d)
			}
		}
		p.features, p.signalled = slices.Clone(list), false
		return nil
	})
}

// checkActivations tells why features cannot be activated after the head.
func (p *Producer) checkActivations(list []types.Checksum256) error {
	h := p.chain.Head()
	return p.chain.Features().Check(h.Header.Timestamp.TimePoint(), h.Activated, list)
}

// Unapplied returns up to limit transactions that wait, from one on, nil for the
// first. An unknown one gives an empty page. When within has passed since the writer
// began there are no more than that far, but one at least; below 0 is no limit.
func (p *Producer) Unapplied(ctx context.Context, from *types.Checksum256, limit int, within time.Duration) (control.UnappliedPage, error) {
	return writer.Ask(ctx, p.writer, func() (control.UnappliedPage, error) { return p.unapplied(from, limit, within), nil })
}

func (p *Producer) unapplied(from *types.Checksum256, limit int, within time.Duration) control.UnappliedPage {
	begin := time.Now()
	page := control.UnappliedPage{Size: p.queue.len(), Incoming: p.queue.incoming()}
	found, over := from == nil, false
	for _, e := range p.queue.waiting(forked, aborted, incomingAPI, incomingP2P) {
		found = found || e.x.ID == *from
		if !found {
			continue
		}
		if len(page.Transactions) >= limit || over {
			page.More = new(e.x.ID)
			break
		}
		page.Transactions = append(page.Transactions, unapplied(e))
		over = within >= 0 && time.Since(begin) >= within
	}
	return page
}

func unapplied(e *entry) control.Unapplied {
	x := e.x
	u := control.Unapplied{
		ID: x.ID, Expiration: x.Trx.Expiration, Type: e.from.String(), FirstAuth: x.Trx.FirstAuthorizer(),
		Actions: len(x.Trx.Actions) + len(x.Trx.ContextFreeActions), Billed: uint32(x.Billed), Size: uint64(e.size),
	}
	switch x.Kind {
	case control.DryRun:
		u.Type = "dry_run"
	case control.ReadOnly:
		u.Type = "read_only"
	}
	if len(x.Trx.Actions) > 0 {
		u.FirstReceiver, u.FirstAction = x.Trx.Actions[0].Account, x.Trx.Actions[0].Name
	}
	return u
}

// IntegrityHash computes the hash of the newest block's state, on the caller's
// goroutine, from a view: blocks go on. It ends early with ctx's error.
func (p *Producer) IntegrityHash(ctx context.Context) (head, hash types.Checksum256, err error) {
	v, err := p.waitHeadView(ctx)
	if err != nil {
		return head, hash, err
	}
	h, err := viewHead(v)
	if err == nil {
		hash, err = snapshot.Hash(v, h, func(snapshot.Progress) error { return context.Cause(ctx) })
	}
	if err = errors.Join(err, v.Close()); err != nil {
		return head, hash, err
	}
	return h.ID, hash, nil
}

// waitHeadView is headView for any goroutine but the writer's.
func (p *Producer) waitHeadView(ctx context.Context) (*state.View, error) {
	var v *state.View
	// The second of the writer, who has the view, and the caller, who gives up, closes it.
	var settled atomic.Bool
	err := p.writer.Call(ctx, func() (err error) {
		if v, err = p.headView(); err == nil && settled.Swap(true) {
			err = v.Close()
		}
		return err
	})
	if err != nil {
		if settled.Swap(true) {
			err = errors.Join(err, v.Close())
		}
		return nil, err
	}
	return v, nil
}
