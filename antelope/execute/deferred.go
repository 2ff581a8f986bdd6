package execute

import (
	"encoding/binary"

	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// SendDeferred implements intrinsic.Sender (Leap: apply_context::
// schedule_deferred_transaction).
func (s *sender) SendDeferred(id types.Uint128, payer types.Name, trx *types.Transaction, replace bool) error {
	if s.e.active(feature.DisableDeferredTrxsStage1) {
		return nil
	}
	if s.trx.kind == ReadOnly {
		return exception.New(exception.Transaction,
			"cannot schedule a deferred transaction from within a readonly transaction")
	}
	if len(trx.ContextFreeActions) > 0 {
		return exception.New(exception.CFAInsideGeneratedTx,
			"context free actions are not currently allowed in generated transactions")
	}
	lists := s.trx.enforceLists && s.e.speculative() && !s.e.policy.Lists.SenderBypass[s.receiver]
	if err := s.trx.checkAccounts(trx, lists); err != nil {
		return err
	}
	if err := s.stamp(id, trx); err != nil {
		return err
	}
	g, err := s.e.state.Global.Get()
	if err != nil {
		return err
	}
	window := int64(g.Configuration.DeferredTrxExpirationWindow)
	if err := s.trx.addNet(uint64(g.Configuration.BasePerTransactionNetUsage) + transactionIDNetUsage); err != nil {
		return err
	}
	if err := s.authorize(payer, trx); err != nil {
		return err
	}
	now := s.e.block.time()
	packed := trx.Append(nil)
	d := &state.Deferred{
		TrxID: types.Hash(packed), Sender: s.receiver, SenderID: id, Payer: payer,
		Published: now, DelayUntil: now.AddSeconds(int64(trx.DelaySec)),
		Expiration: now.AddSeconds(int64(trx.DelaySec) + window), Packed: packed,
	}
	if err := s.store(d, replace); err != nil {
		return err
	}
	if !s.e.active(feature.RAMRestrictions) && !s.e.ramBillingInNotifyAllowed() &&
		s.receiver != s.act.Account && s.receiver != payer && !s.privileged {
		return exception.New(exception.SubjectiveBlockProduction, "Cannot charge RAM to other accounts during notify.")
	}
	return s.addRAM(payer, billableDeferred+int64(len(packed)))
}

// stamp gives a deferred transaction what keeps its id unique, or what
// passes the checks of a signed one.
func (s *sender) stamp(id types.Uint128, trx *types.Transaction) error {
	if !s.e.active(feature.NoDuplicateDeferredID) {
		trx.Expiration = roundUp(s.e.block.time())
		trx.SetRefBlock(s.e.head.ID)
		return nil
	}
	given, err := trx.ExtractExtensions()
	if err != nil {
		return err
	}
	// Of one that was replaced before REPLACE_DEFERRED, s.trx.id is the id of another.
	switch own := (types.GenerationContext{SenderTrxID: s.trx.trx.ID(), SenderID: id, Sender: s.receiver}); {
	case given == nil:
		trx.Extensions = trx.Extensions.Insert(types.TransactionGenerationContext, own.Append(nil))
	case given.Sender != own.Sender:
		return illFormed("sender", own.Sender, given.Sender)
	case given.SenderID != own.SenderID:
		return illFormed("sender_id", own.SenderID, given.SenderID)
	case given.SenderTrxID != own.SenderTrxID:
		return illFormed("sender_trx_id", own.SenderTrxID, given.SenderTrxID)
	}
	trx.Expiration, trx.RefBlockNum, trx.RefBlockPrefix = 0, 0, 0
	return nil
}

func illFormed(field string, expected, actual exception.JSON) error {
	return exception.New(exception.IllFormedDeferredTransactionGenerationContext,
		"deferred transaction generaction context contains mismatching "+field, "expected", expected, "actual", actual)
}

func (s *sender) authorize(payer types.Name, trx *types.Transaction) error {
	if s.e.skipChecks() || s.privileged {
		return nil
	}
	if payer != s.receiver {
		switch {
		case !s.e.active(feature.RAMRestrictions):
			if err := s.RequireAuth(payer); err != nil {
				return err
			}
		case s.receiver != s.act.Account:
			return invalid("cannot bill RAM usage of deferred transactions to another account within notify context")
		case !s.HasAuth(payer):
			return invalid(
				"cannot bill RAM usage of deferred transaction to another account that has not authorized the "+
					"action: ${payer}", "payer", payer)
		}
	}
	toSelf := true
	for i := range trx.Actions {
		toSelf = toSelf && trx.Actions[i].Account == s.receiver
	}
	err := s.e.authority.CheckAuthorization(trx.Actions, &authority.Check{
		Provided:  []types.PermissionLevel{{Actor: s.receiver, Permission: nameCode}},
		Delay:     int64(trx.DelaySec) * 1_000_000,
		Checktime: s.trx.checktime,
	})
	return s.forgiveSelf(err, s.e.active(feature.RestrictActionToSelf) || !toSelf,
		"Authorization failure with sent deferred transaction consisting only of actions to self")
}

// store stores the transaction, in place of one with the same key if that
// is wanted.
func (s *sender) store(d *state.Deferred, replace bool) error {
	old, err := s.e.state.Deferred(state.DeferredKey{Sender: d.Sender, SenderID: d.SenderID})
	if err != nil {
		return err
	}
	m := s.deepMind()
	if old == nil {
		if m != nil {
			m.CreateDeferred("CREATE", d, nil)
		}
		if err := s.e.createDeferred(d); err != nil {
			return err
		}
		if m != nil {
			m.RAMEvent(idEvent(d.ID), "deferred_trx", "add", "deferred_trx_add")
		}
		return nil
	}
	if !replace {
		return exception.New(exception.DeferredTxDuplicate,
			"deferred transaction with the same sender_id and payer already exists")
	}
	fixed := s.e.active(feature.ReplaceDeferred)
	if !fixed && s.e.speculative() && !s.e.opt.NoMitigations {
		return exception.New(exception.SubjectiveBlockProduction,
			"Replacing a deferred transaction is temporarily disabled.")
	}
	if m != nil {
		m.RAMEvent(idEvent(old.ID), "deferred_trx", "cancel", "deferred_trx_cancel")
	}
	size := billableDeferred + int64(len(old.Packed))
	if fixed {
		err = s.addRAM(old.Payer, -size)
	} else {
		d.TrxID = old.TrxID
		err = s.e.addRAMCorrection(old.Payer, uint64(size))
	}
	if err != nil {
		return err
	}
	if m != nil {
		m.CancelDeferred("MODIFY_CANCEL", old)
	}
	if err := s.e.state.RemoveDeferred(old); err != nil {
		return err
	}
	if m != nil {
		m.CreateDeferred("MODIFY_CREATE", d, nil)
	}
	if err := s.e.createDeferred(d); err != nil {
		return err
	}
	if m != nil {
		m.RAMEvent(idEvent(d.ID), "deferred_trx", "update", "deferred_trx_add")
	}
	return nil
}

// CancelDeferred implements intrinsic.Sender.
func (s *sender) CancelDeferred(id types.Uint128) (bool, error) {
	return s.cancel(state.DeferredKey{Sender: s.receiver, SenderID: id})
}

func (s *sender) cancel(k state.DeferredKey) (bool, error) {
	if s.e.active(feature.DisableDeferredTrxsStage1) {
		return false, nil
	}
	if s.trx.kind == ReadOnly {
		return false, exception.New(exception.Transaction,
			"cannot cancel a deferred transaction from within a readonly transaction")
	}
	d, err := s.e.state.Deferred(k)
	if err != nil || d == nil {
		return false, err
	}
	if m := s.deepMind(); m != nil {
		m.CancelDeferred("CANCEL", d)
		m.RAMEvent(idEvent(d.ID), "deferred_trx", "cancel", "deferred_trx_cancel")
	}
	if err := s.addRAM(d.Payer, -billableDeferred-int64(len(d.Packed))); err != nil {
		return false, err
	}
	return true, s.e.state.RemoveDeferred(d)
}

// postpone stores a delayed transaction (Leap: transaction_context::
// schedule_transaction).
func (t *transaction) postpone() error {
	g, err := t.e.state.Global.Get()
	if err != nil {
		return err
	}
	cfg := &g.Configuration
	if t.trx.DelaySec == 0 {
		if err := t.addNet(uint64(cfg.BasePerTransactionNetUsage) + transactionIDNetUsage); err != nil {
			return err
		}
	}
	now := t.e.block.time()
	d := &state.Deferred{
		TrxID: t.id, Payer: t.trx.FirstAuthorizer(), SenderID: delayedID(t.id),
		Published: now, DelayUntil: now.AddSeconds(t.delay),
		Expiration: now.AddSeconds(t.delay + int64(cfg.DeferredTrxExpirationWindow)),
		Packed:     t.packed,
	}
	m := t.deepMind()
	if m != nil { // before: nodeos tells of rows that it then cannot insert
		m.CreateDeferred("PUSH_CREATE", d, t.signed)
	}
	if err := t.e.createDeferred(d); err != nil {
		return err
	}
	if m != nil {
		m.RAMEvent(idEvent(d.ID), "deferred_trx", "push", "deferred_trx_pushed")
	}
	delta := billableDeferred + int64(len(d.Packed))
	t.trace.AccountRAMDelta = &types.AccountDelta{Account: d.Payer, Delta: delta}
	return t.addRAM(d.Payer, delta)
}

// delayedID is the sender id of a delayed transaction, whose sender is nobody.
func delayedID(id types.Checksum256) types.Uint128 {
	return types.Uint128{Lo: binary.LittleEndian.Uint64(id[16:]), Hi: binary.LittleEndian.Uint64(id[24:])}
}
