package execute

import (
	"cmp"
	"fmt"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Start is what a block is started with.
type Start struct {
	Time        types.BlockTimestamp
	Confirmed   uint16 // blocks before it that its producer confirms
	Activations []types.Checksum256
	Status      Status
	BlockID     *types.Checksum256 // of the block that is validated
	Block       *types.SignedBlock // that block

	// The rest is decided by the chain.
	Trusted bool // who signed the block need not be checked
	Joins   bool // it goes into the session of the block before
	Hash    bool // the action root is computed by a Hasher, if nobody watches
}

// Begin begins the block after the head (Leap: controller_impl::start_block). On an
// error there may be a pending block, which is the caller's to undo.
func (e *Executor) Begin(s Start) error {
	header, err := e.head.Next(s.Time, s.Confirmed)
	if err != nil {
		return err
	}
	if !s.Joins {
		if err := e.state.Begin(); err != nil {
			return fmt.Errorf("start block %d: %w", header.BlockNum, err)
		}
	}
	b := &Block{
		e: e, header: header, status: s.Status, producerBlockID: s.BlockID, activations: s.Activations,
		trusted: s.Trusted,
		digests: e.digests[:0], actions: e.leaves.emptyLeaves(),
	}
	e.block, e.activeAt = b, 0
	e.last = nil // its trace is with whoever pushed it
	if s.Block != nil {
		b.root = &s.Block.TransactionMRoot
		b.receipts = make([]types.TransactionReceipt, 0, len(s.Block.Transactions))
		b.claimed = &s.Block.BlockHeader
		b.hash = s.Hash && !e.watched
	}
	if s.Status == Ephemeral {
		b.kinds = b.leafKinds()
		return nil
	}
	return b.prepare()
}

// prepare does what is due before the first transaction.
func (b *Block) prepare() error {
	if err := b.activateFeatures(); err != nil {
		return err
	}
	if b.kinds = b.leafKinds(); b.hash {
		b.hasher = newHasher(b.kinds, b.claimed, b.e.hashed)
	}
	if err := b.promoteSchedule(); err != nil {
		return err
	}
	if err := b.onblock(); err != nil {
		return err
	}
	// Expired is what expires before the block's time, which may be half a second
	// beyond a full one.
	now := b.time()
	before := now.Sec()
	if now%1_000_000 != 0 {
		before++
	}
	if _, err := b.e.state.ForgetTransactions(before); err != nil {
		return err
	}
	return b.updateProducersAuthority()
}

// promoteSchedule makes a proposed schedule the pending one once its proposal is
// irreversible.
func (b *Block) promoteSchedule() error {
	if b.header.Proper() {
		return nil
	}
	g, err := b.e.state.Global.Get()
	if err != nil {
		return err
	}
	if g.ProposedScheduleBlock == nil || *g.ProposedScheduleBlock > b.header.Irreversible ||
		len(b.header.PrevPending.Schedule.Producers) > 0 {
		return nil
	}
	if g.ProposedSchedule.Version != b.header.ScheduleVersion+1 {
		return exception.New(exception.ProducerSchedule, "wrong producer schedule version specified")
	}
	schedule := g.ProposedSchedule
	b.schedule = &schedule
	if g, err = b.e.state.Global.Edit(); err != nil {
		return err
	}
	g.ProposedScheduleBlock, g.ProposedSchedule = nil, types.ProducerSchedule{}
	return nil
}

// onblock tells the system contract of the block before. Its failure is its own, unless it was interrupted: a block
// that is executed without it is another block.
func (b *Block) onblock() error {
	defer b.e.checking()()
	trx := b.e.implicit(types.Action{
		Account: nameEosio, Name: nameOnblock, Data: b.e.head.Header.BlockHeader.Append(nil),
		Authorization: []types.PermissionLevel{{Actor: nameEosio, Permission: nameActive}},
	})
	g, err := b.e.state.Global.Get()
	if err != nil {
		return err
	}
	raw := trx.Append(nil)
	x := &Candidate{Kind: Implicit, Trx: trx, Raw: raw, ID: types.Hash(raw)}
	trace, err := b.e.Push(x, Billing{Explicit: true, CPU: int64(g.Configuration.MinTransactionCPUUsage)})
	if err != nil {
		if exception.Of(err) == nil {
			return err
		}
		b.e.opt.Log.Warn(
			"on block transaction failed, but shouldn't impact block generation, system contract needs update",
			"error", err)
		return nil
	}
	if trace.Except != nil {
		if b.e.interruptCause() != nil {
			return trace.Except
		}
		b.e.opt.Log.Warn("onblock is rejecting", "block", b.e.head.BlockNum+1, "error", trace.Except)
	}
	return nil
}

// updateProducersAuthority lets the permissions of eosio.prods follow the active
// schedule.
func (b *Block) updateProducersAuthority() error {
	producers := b.header.ActiveSchedule.Producers
	n := uint32(len(producers))
	for _, p := range [...]struct {
		name     types.Name
		num, den uint32
	}{{nameActive, 2, 3}, {nameMajor, 1, 2}, {nameMinor, 1, 3}} {
		level := types.PermissionLevel{Actor: nameProds, Permission: p.name}
		permission, err := b.e.authority.Get(level)
		if err != nil {
			return err
		}
		threshold := n*p.num/p.den + 1
		if sameProducers(&permission.Authority, threshold, producers) {
			continue
		}
		a := types.Authority{Threshold: threshold}
		for i := range producers {
			a.Accounts = append(a.Accounts, types.PermissionLevelWeight{
				Permission: types.PermissionLevel{Actor: producers[i].Producer, Permission: nameActive}, Weight: 1,
			})
		}
		if err := b.e.setAuthority(level, a); err != nil {
			return err
		}
	}
	return nil
}

func sameProducers(a *types.Authority, threshold uint32, producers []types.ProducerAuthority) bool {
	if a.Threshold != threshold || len(a.Accounts) != len(producers) || len(a.Keys)+len(a.Waits) > 0 {
		return false
	}
	for i := range producers {
		w := a.Accounts[i]
		if w.Permission.Actor != producers[i].Producer || w.Permission.Permission != nameActive || w.Weight != 1 {
			return false
		}
	}
	return true
}

// activateFeatures activates what the pending block says, which must include all
// that was preactivated.
func (b *Block) activateFeatures() error {
	p, err := b.e.state.Protocol.Get()
	if err != nil {
		return err
	}
	if len(b.activations) == 0 {
		if len(p.Preactivated) == 0 {
			return nil
		}
		return notActivated()
	}
	waiting := slices.Clone(p.Preactivated)
	for i, digest := range b.activations {
		f, err := b.e.opt.Features.Get(digest)
		if err != nil {
			return err
		}
		if slices.Contains(b.activations[:i], digest) {
			return exception.New(exception.BlockValidate,
				"attempted duplicate activation within a single block: ${digest}", "digest", digest)
		}
		if n := slices.Index(waiting, digest); n >= 0 {
			waiting = slices.Delete(waiting, n, n+1)
		} else if f.PreactivationRequired {
			return exception.New(exception.ProtocolFeature,
				"attempted to activate protocol feature without prior required preactivation: ${digest}",
				"digest", digest)
		}
		if err := b.onActivation(f.Codename); err != nil {
			return err
		}
		if err := b.e.features.Activate(digest, b.header.BlockNum); err != nil {
			return err
		}
		if d := b.e.tracer; d != nil {
			d.ActivateFeature(f)
		}
		b.activated++
		b.e.activeAt = 0
	}
	if len(waiting) > 0 {
		return notActivated()
	}
	if p, err = b.e.state.Protocol.Edit(); err != nil {
		return err
	}
	p.Preactivated = nil
	list := slices.Clone(p.Activated)
	for _, digest := range b.activations {
		list = append(list, state.ActivatedFeature{Digest: digest, Block: b.header.BlockNum})
	}
	p.Activated = list
	return nil
}

func notActivated() error {
	return exception.New(exception.BlockValidate,
		"There are pre-activated protocol features that were not activated at the start of this block")
}

// onActivation changes the state as a feature's activation does (Leap:
// controller_impl::on_activation).
func (b *Block) onActivation(f feature.Codename) error {
	if names := f.Intrinsics(); len(names) > 0 {
		p, err := b.e.state.Protocol.Edit()
		if err != nil {
			return err
		}
		list := slices.Clone(p.Intrinsics)
		for _, n := range names {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
		slices.Sort(list)
		p.Intrinsics = list
	}
	switch f {
	case feature.WebAuthnKey:
		p, err := b.e.state.Protocol.Edit()
		if err != nil {
			return err
		}
		p.KeyTypes = 3
	case feature.ReplaceDeferred:
		return b.applyRAMCorrections()
	case feature.DisableDeferredTrxsStage2:
		return b.removeAllDeferred()
	}
	return nil
}

// applyRAMCorrections gives back what replaced deferred transactions were charged.
func (b *Block) applyRAMCorrections() error {
	var rows []state.RAMCorrection
	err := b.e.state.RAMCorrections.Scan(0, ^types.Name(0), func(r *state.RAMCorrection) (bool, error) {
		rows = append(rows, *r)
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b state.RAMCorrection) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range rows {
		used, err := b.e.resources.RAMUsage(r.Name)
		if err != nil {
			return err
		}
		delta := -int64(r.Correction)
		if r.Correction > uint64(used) {
			delta = -used
			b.e.opt.Log.Error("account was to be reduced by more RAM than it uses",
				"account", r.Name, "correction", r.Correction, "used", used)
		}
		if d := b.e.tracer; d != nil {
			d.RAMEvent(idEvent(r.ID), "deferred_trx", "correction", "deferred_trx_ram_correction")
		}
		if err := b.e.chargeRAM(b.e.tracer, r.Name, delta); err != nil {
			return err
		}
		if err := b.e.state.RAMCorrections.Remove(r.Name); err != nil {
			return err
		}
	}
	return nil
}

func (b *Block) removeAllDeferred() error {
	var all []*state.Deferred
	err := b.e.state.DeferredByDelay(func(d *state.Deferred) (bool, error) {
		all = append(all, d)
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *state.Deferred) int { return a.TrxID.Compare(b.TrxID) })
	for _, d := range all {
		if _, err := b.e.removeDeferred(d); err != nil {
			return err
		}
	}
	return nil
}
