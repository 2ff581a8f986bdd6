package producer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/writerloop"
)

// Operator is what a node's operator asks of its producer, and tells it. Any goroutine may
// use it; what it does is done on the writer, between transactions.
type Operator struct{ p *Producer }

// Operator is whom the operator speaks with.
func (p *Producer) Operator() *Operator { return &Operator{p} }

// Paused tells whether production is paused, by the operator or because votes are missing.
func (op *Operator) Paused() bool {
	own, others := op.p.votes.silent(time.Now())
	return op.p.paused.Load() || own != missed{} || others != missed{}
}

// Pause stops production from the next block on.
func (op *Operator) Pause() {
	op.p.log.plugin.Info("Producer paused.")
	op.p.paused.Store(true)
}

// PauseAtBlock has no block applied or made after that one, until Resume. The head must be below it
// (Spring: producer_plugin_impl::pause_at_block).
func (op *Operator) PauseAtBlock(ctx context.Context, num uint32) error {
	return op.p.writer.Call(ctx, func() error {
		if head := op.p.chain.Head().BlockNum; num <= head {
			return exception.New(exception.InvalidPauseAtBlock, "Pause at block ${bn} <= chain head ${h}",
				"bn", num, "h", head)
		}
		op.p.log.plugin.Info(fmt.Sprintf("Set pause at block #%d", num))
		op.p.chain.PauseAt(num)
		return nil
	})
}

// Resume ends all pauses. What is missing is waited for anew.
func (op *Operator) Resume(ctx context.Context) error {
	op.p.paused.Store(false)
	op.p.chain.PauseAt(0)
	op.p.votes.forget()
	return op.p.writer.Call(ctx, func() error {
		if op.p.producing {
			op.p.log.plugin.Info("Producer resumed.")
			return nil
		}
		if err := op.p.abort(); err != nil {
			return err
		}
		op.p.log.plugin.Info("Producer resumed. Scheduling production.")
		defer op.p.schedule()
		return op.p.catchUp()
	})
}

// RuntimeOptions are the present ones.
func (op *Operator) RuntimeOptions(ctx context.Context) (admintypes.RuntimeOptions, error) {
	return writerloop.Ask(ctx, op.p.writer, func() (admintypes.RuntimeOptions, error) {
		policy := op.p.chain.Policy()
		o := admintypes.RuntimeOptions{
			MaxTransactionTime: new(int32(op.p.maxTime.Load() / 1000)),
			MaxIrreversibleAge: new(int32(op.p.maxLIBAge / time.Second)),
			ProduceOffset:      new(int32(round * (blockInterval.Milliseconds() - op.p.effort.Milliseconds()))),
			GreylistLimit:      new(policy.Multiple()),
		}
		// nodeos has none until one is set that is not the default.
		if us := int32(policy.Leeway.Microseconds()); op.p.leewaySet || us != int32(Defaults().Leeway.Microseconds()) {
			o.Leeway = &us
		}
		if op.p.maxLIBAge < 0 {
			*o.MaxIrreversibleAge = -1
		}
		return o, nil
	})
}

// SetRuntimeOptions changes them.
func (op *Operator) SetRuntimeOptions(ctx context.Context, o admintypes.RuntimeOptions) error {
	return op.p.writer.Call(ctx, func() error {
		if o.MaxTransactionTime != nil {
			op.p.maxTime.Store(int64(*o.MaxTransactionTime) * 1000)
		}
		if o.MaxIrreversibleAge != nil {
			op.p.maxLIBAge = time.Duration(*o.MaxIrreversibleAge) * time.Second
		}
		if o.ProduceOffset != nil {
			offset := time.Duration(*o.ProduceOffset) * time.Millisecond
			if offset < 0 || offset >= round*blockInterval {
				return exception.New(exception.PluginConfig, "produce-block-offset-ms ${p} must be [0 - ${max})",
					"p", *o.ProduceOffset, "max", round*blockInterval.Milliseconds())
			}
			op.p.effort = blockEffort(offset)
		}
		if o.MaxIrreversibleAge != nil && !op.p.producing {
			if err := op.p.abort(); err != nil {
				return err
			}
			defer op.p.schedule()
		}
		if o.Leeway != nil {
			op.p.leewaySet = true
			op.p.decide(func(now *execute.Policy) { now.Leeway = time.Duration(*o.Leeway) * time.Microsecond })
		}
		if o.GreylistLimit != nil {
			if *o.GreylistLimit == 0 || *o.GreylistLimit > 1000 {
				return exception.New(exception.Misc,
					"Invalid limit (${limit}) passed into set_greylist_limit. Must be between 1 and ${max}.",
					"limit", *o.GreylistLimit, "max", 1000)
			}
			op.p.decide(func(now *execute.Policy) { now.GreylistLimit = *o.GreylistLimit })
		}
		return nil
	})
}

// Greylist are the accounts that only their own stake counts of, ascending.
func (op *Operator) Greylist() []types.Name {
	return slices.Sorted(maps.Keys(op.p.chain.Policy().Greylist))
}

// AddGreylist and RemoveGreylist change it.
func (op *Operator) AddGreylist(ctx context.Context, accounts []types.Name) error {
	return op.changeGreylist(ctx, accounts, func(m map[types.Name]bool, n types.Name) { m[n] = true })
}

// RemoveGreylist takes accounts off the greylist.
func (op *Operator) RemoveGreylist(ctx context.Context, accounts []types.Name) error {
	return op.changeGreylist(ctx, accounts, func(m map[types.Name]bool, n types.Name) { delete(m, n) })
}

func (op *Operator) changeGreylist(
	ctx context.Context, accounts []types.Name, change func(map[types.Name]bool, types.Name),
) error {
	if len(accounts) == 0 {
		return exception.New(exception.InvalidHTTPRequest, "At least one account is required")
	}
	return op.p.writer.Call(ctx, func() error {
		list := maps.Clone(op.p.chain.Policy().Greylist)
		for _, n := range accounts {
			change(list, n)
		}
		op.p.decide(func(now *execute.Policy) { now.Greylist = list })
		return nil
	})
}

// Lists are the white- and blacklists. The maps must not be changed.
func (op *Operator) Lists(ctx context.Context) (execute.Lists, error) {
	return writerloop.Ask(ctx, op.p.writer, func() (execute.Lists, error) { return op.p.chain.Policy().Lists, nil })
}

// SetLists replaces those lists that are not nil.
func (op *Operator) SetLists(ctx context.Context, l execute.Lists) error {
	if l.ActorWhitelist == nil && l.ActorBlacklist == nil && l.ContractWhitelist == nil && l.ContractBlacklist == nil &&
		l.ActionBlacklist == nil && l.KeyBlacklist == nil {
		return exception.New(exception.InvalidHTTPRequest,
			"At least one of actor_whitelist, actor_blacklist, contract_whitelist, "+
				"contract_blacklist, action_blacklist, and key_blacklist is required")
	}
	return op.p.writer.Call(ctx, func() error {
		op.p.decide(func(now *execute.Policy) {
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
func (op *Operator) ScheduledActivations(ctx context.Context) ([]types.Checksum256, error) {
	return writerloop.Ask(ctx, op.p.writer, func() ([]types.Checksum256, error) { return slices.Clone(op.p.features), nil })
}

// ScheduleActivations replaces them. Only features that need no preactivation can
// be scheduled.
func (op *Operator) ScheduleActivations(ctx context.Context, list []types.Checksum256) error {
	return op.p.writer.Call(ctx, func() error {
		seen := make(map[types.Checksum256]bool, len(list))
		for _, d := range list {
			if seen[d] {
				return exception.New(exception.InvalidProtocolFeaturesToActivate, "duplicate digests")
			}
			seen[d] = true
		}
		if err := op.p.checkActivations(list); err != nil {
			return err
		}
		for _, d := range list {
			f, err := op.p.chain.Features().Get(d)
			if err != nil {
				return err
			}
			if f.PreactivationRequired {
				return exception.New(exception.ProtocolFeature, "protocol feature requires preactivation: ${digest}",
					"digest", d)
			}
		}
		op.p.features, op.p.signalled = slices.Clone(list), false
		return nil
	})
}

// Unapplied returns up to limit transactions that wait, from one on, nil for the
// first. An unknown one gives an empty page. When within has passed since the writer
// began there are no more than that far, but one at least; below 0 is no limit.
func (op *Operator) Unapplied(
	ctx context.Context, from *types.Checksum256, limit int, within time.Duration,
) (admintypes.UnappliedPage, error) {
	return writerloop.Ask(ctx, op.p.writer, func() (admintypes.UnappliedPage, error) {
		return op.p.queue.page(from, limit, within), nil
	})
}

// IntegrityHash computes the hash of the newest block's state, on the caller's
// goroutine, from a view: blocks go on. It ends early with ctx's error.
func (op *Operator) IntegrityHash(ctx context.Context) (head, hash types.Checksum256, err error) {
	v, err := op.waitHeadView(ctx)
	if err != nil {
		return head, hash, err
	}
	h, err := viewHead(v)
	if err == nil {
		hash, err = snapshot.Hash(v, h, snapshot.Options{Report: func(snapshot.Progress) error {
			return context.Cause(ctx)
		}})
	}
	if err = errors.Join(err, v.Close()); err != nil {
		return head, hash, err
	}
	return h.ID, hash, nil
}

// waitHeadView is headView for any goroutine but the writer's.
func (op *Operator) waitHeadView(ctx context.Context) (*state.View, error) {
	var v *state.View
	// The second of the writer, who has the view, and the caller, who gives up, closes it.
	var settled atomic.Bool
	err := op.p.writer.Call(ctx, func() (err error) {
		if v, err = op.p.headView(); err == nil && settled.Swap(true) {
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

// CreateSnapshot makes a snapshot of the head's state, and waits until that block
// is irreversible. Blocks go on meanwhile.
func (op *Operator) CreateSnapshot(ctx context.Context) (admintypes.Snapshot, error) {
	var result admintypes.Snapshot
	done := make(chan error, 1)
	err := op.p.writer.Call(ctx, func() error {
		err := op.p.snapshot.create(nil, func(s admintypes.Snapshot, err error) {
			result = s
			done <- err
		})
		if err == nil {
			op.sayWaiting()
		}
		return err
	})
	if err == nil {
		err = op.p.writer.Await(ctx, done)
	}
	if err != nil {
		return admintypes.Snapshot{}, err
	}
	return result, nil
}

// sayWaiting says that a snapshot of the head waits for a block that this node does not make or take.
func (op *Operator) sayWaiting() {
	head, makes := op.p.chain.Head(), len(op.p.opt.Producers) > 0
	if e := op.p.snapshot.pending[head.ID]; e == nil || e.decided || !op.p.chain.Paused() && !(makes && op.Paused()) {
		return
	}
	op.p.log.plugin.Info(fmt.Sprintf("The snapshot of block #%d waits until that block is irreversible. The node is "+
		"paused, so it makes no blocks that would make it so: /v1/producer/resume goes on", head.BlockNum))
}

// ScheduleSnapshot adds a request. Its ID is chosen; End 0 is for ever (Leap:
// schedule_snapshot). Without a Start it is the block after the head.
func (op *Operator) ScheduleSnapshot(
	ctx context.Context, spacing uint32, start, end *uint32, description string,
) (admintypes.SnapshotRequest, error) {
	return writerloop.Ask(ctx, op.p.writer, func() (admintypes.SnapshotRequest, error) {
		r := admintypes.SnapshotRequest{Spacing: spacing, Start: op.p.chain.Head().BlockNum + 1, End: math.MaxUint32,
			Description: description}
		if start != nil {
			r.Start = *start
		}
		if end != nil && *end != 0 {
			r.End = *end
		}
		err := op.p.snapshot.schedule(&r)
		return r, err
	})
}

// UnscheduleSnapshot removes a request.
func (op *Operator) UnscheduleSnapshot(ctx context.Context, id uint32) (admintypes.SnapshotRequest, error) {
	return writerloop.Ask(ctx, op.p.writer, func() (admintypes.SnapshotRequest, error) {
		s := op.p.snapshot
		for i, x := range s.requests {
			if x.ID == id {
				s.requests = append(s.requests[:i:i], s.requests[i+1:]...)
				s.save()
				return x.SnapshotRequest, nil
			}
		}
		return admintypes.SnapshotRequest{}, exception.New(exception.SnapshotRequestNotFound, "Snapshot request not found")
	})
}

// SnapshotRequests are the requests that there are.
func (op *Operator) SnapshotRequests(ctx context.Context) ([]admintypes.SnapshotSchedule, error) {
	return writerloop.Ask(ctx, op.p.writer, func() ([]admintypes.SnapshotSchedule, error) {
		var list []admintypes.SnapshotSchedule
		for _, x := range op.p.snapshot.requests {
			list = append(list,
				admintypes.SnapshotSchedule{SnapshotRequest: x.SnapshotRequest, Pending: slices.Clone(x.Pending)})
		}
		return list, nil
	})
}
