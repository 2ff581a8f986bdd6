package execute

import (
	"encoding/binary"

	"tarn/antelope/authority"
	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// RequireAuth implements intrinsic.Authorizer.
func (a *action) RequireAuth(account types.Name) error {
	if a.HasAuth(account) {
		return nil
	}
	return exception.New(exception.MissingAuth, "missing authority of %s", account)
}

// RequireAuth2 implements intrinsic.Authorizer.
func (a *action) RequireAuth2(account, permission types.Name) error {
	for _, l := range a.act.Authorization {
		if l.Actor == account && l.Permission == permission {
			return nil
		}
	}
	return exception.New(exception.MissingAuth, "missing authority of %s/%s", account, permission)
}

// HasAuth implements intrinsic.Authorizer.
func (a *action) HasAuth(account types.Name) bool {
	for i := range a.act.Authorization {
		if a.act.Authorization[i].Actor == account {
			return true
		}
	}
	return false
}

// RequireRecipient implements intrinsic.Authorizer.
func (a *action) RequireRecipient(account types.Name) error {
	a.env.Charge(uint64(len(a.notified)))
	for i := range a.notified {
		if a.notified[i].receiver == account {
			return nil
		}
	}
	ordinal, err := a.schedule(*a.act, account, false, 0)
	if err != nil {
		return err
	}
	a.notified = append(a.notified, notification{account, ordinal})
	if d := a.deepMind(); d != nil {
		d.RequireRecipient()
	}
	return nil
}

// SendInline implements intrinsic.Sender (Leap: apply_context::execute_inline).
func (a *action) SendInline(act types.Action) error {
	if err := a.checkInlineAccount(act.Account); err != nil {
		return err
	}
	noBypass := a.e.active(feature.RestrictActionToSelf)
	toSelf := act.Account == a.receiver
	inherit := !noBypass && toSelf && a.receiver == a.act.Account && a.e.speculative()
	lists := a.trx.enforceLists && a.e.speculative()
	var inherited []types.PermissionLevel
	var actors []types.Name
	for _, level := range act.Authorization {
		if err := a.e.checkLevel(level, exception.ActionValidate, "inline action"); err != nil {
			return err
		}
		if lists {
			actors = putName(actors, level.Actor)
		}
		if inherit && a.RequireAuth2(level.Actor, level.Permission) == nil {
			inherited = putLevel(inherited, level)
		}
	}
	if lists {
		if err := checkActors(&a.e.policy.Lists, actors); err != nil {
			return err
		}
	}
	if !a.e.skipChecks() && !a.privileged && a.trx.kind != control.ReadOnly {
		err := a.e.authority.CheckAuthorization([]types.Action{act}, &authority.Check{
			Provided:  []types.PermissionLevel{{Actor: a.receiver, Permission: nameCode}},
			Delay:     int64(a.e.block.time() - a.trx.published),
			Satisfied: inherited, Checktime: a.trx.checktime, Tolerant: a.trx.kind == control.DryRun,
		})
		if err := a.forgiveSelf(err, noBypass || !toSelf, "Authorization failure with inline action sent to self"); err != nil {
			return err
		}
	}
	ordinal, err := a.schedule(act, act.Account, false, act.Size())
	if err != nil {
		return err
	}
	a.inline = append(a.inline, ordinal)
	if d := a.deepMind(); d != nil {
		d.SendInline()
	}
	return nil
}

// forgiveSelf lets a contract send itself what its authority does not cover, as it
// was before RESTRICT_ACTION_TO_SELF; a producer does not.
func (a *action) forgiveSelf(err error, strict bool, message string) error {
	switch {
	case err == nil || strict || exception.Of(err) == nil:
		return err
	case a.e.speculative():
		return exception.Wrap(exception.SubjectiveBlockProduction, err, "%s", message)
	}
	return nil
}

func putLevel(list []types.PermissionLevel, l types.PermissionLevel) []types.PermissionLevel {
	i := len(list)
	for i > 0 && list[i-1].Compare(l) >= 0 {
		i--
	}
	if i < len(list) && list[i] == l {
		return list
	}
	list = append(list, types.PermissionLevel{})
	copy(list[i+1:], list[i:])
	list[i] = l
	return list
}

func (a *action) checkInlineAccount(n types.Name) error {
	account, err := a.e.state.Accounts.Get(n)
	if err == nil && account == nil {
		err = invalid("inline action's code account %s does not exist", n)
	}
	return err
}

// SendContextFreeInline implements intrinsic.Sender.
func (a *action) SendContextFreeInline(act types.Action) error {
	if err := a.checkInlineAccount(act.Account); err != nil {
		return err
	}
	if len(act.Authorization) > 0 {
		return invalid("context-free actions cannot have authorizations")
	}
	ordinal, err := a.schedule(act, act.Account, true, act.Size())
	if err != nil {
		return err
	}
	a.cfaInline = append(a.cfaInline, ordinal)
	if d := a.deepMind(); d != nil {
		d.SendContextFreeInline()
	}
	return nil
}

// delayedID is the sender id of a delayed transaction, whose sender is nobody.
func delayedID(id types.Checksum256) types.Uint128 {
	return types.Uint128{Lo: binary.LittleEndian.Uint64(id[16:]), Hi: binary.LittleEndian.Uint64(id[24:])}
}

// postpone stores a delayed transaction (Leap: transaction_context::
// schedule_transaction).
func (t *transaction) postpone() error {
	g, err := t.e.state.Global()
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

// SendDeferred implements intrinsic.Sender (Leap: apply_context::
// schedule_deferred_transaction).
func (a *action) SendDeferred(id types.Uint128, payer types.Name, trx *types.Transaction, replace bool) error {
	if a.e.active(feature.DisableDeferredTrxsStage1) {
		return nil
	}
	if a.trx.kind == control.ReadOnly {
		return exception.New(exception.Transaction, "cannot schedule a deferred transaction from within a readonly transaction")
	}
	if len(trx.ContextFreeActions) > 0 {
		return exception.New(exception.CFAInsideGeneratedTx, "context free actions are not currently allowed in generated transactions")
	}
	lists := a.trx.enforceLists && a.e.speculative() && !a.e.policy.Lists.SenderBypass[a.receiver]
	if err := a.trx.checkAccounts(trx, lists); err != nil {
		return err
	}
	if err := a.stampDeferred(id, trx); err != nil {
		return err
	}
	g, err := a.e.state.Global()
	if err != nil {
		return err
	}
	window := int64(g.Configuration.DeferredTrxExpirationWindow)
	if err := a.trx.addNet(uint64(g.Configuration.BasePerTransactionNetUsage) + transactionIDNetUsage); err != nil {
		return err
	}
	if err := a.authorizeDeferred(payer, trx); err != nil {
		return err
	}
	now := a.e.block.time()
	packed := trx.Append(nil)
	d := &state.Deferred{
		TrxID: types.Hash(packed), Sender: a.receiver, SenderID: id, Payer: payer,
		Published: now, DelayUntil: now.AddSeconds(int64(trx.DelaySec)),
		Expiration: now.AddSeconds(int64(trx.DelaySec) + window), Packed: packed,
	}
	if err := a.storeDeferred(d, replace); err != nil {
		return err
	}
	if !a.e.active(feature.RAMRestrictions) && !a.e.ramBillingInNotifyAllowed() &&
		a.receiver != a.act.Account && a.receiver != payer && !a.privileged {
		return exception.New(exception.SubjectiveBlockProduction, "Cannot charge RAM to other accounts during notify.")
	}
	return a.addRAM(payer, billableDeferred+int64(len(packed)))
}

// stampDeferred gives a deferred transaction what keeps its id unique, or what
// passes the checks of a signed one.
func (a *action) stampDeferred(id types.Uint128, trx *types.Transaction) error {
	if !a.e.active(feature.NoDuplicateDeferredID) {
		trx.Expiration = roundUp(a.e.block.time())
		trx.SetRefBlock(a.e.head.ID)
		return nil
	}
	given, err := trx.ExtractExtensions()
	if err != nil {
		return err
	}
	// Of one that was replaced before REPLACE_DEFERRED, a.trx.id is the id of another.
	switch own := (types.GenerationContext{SenderTrxID: a.trx.trx.ID(), SenderID: id, Sender: a.receiver}); {
	case given == nil:
		trx.Extensions = trx.Extensions.Insert(types.TransactionGenerationContext, own.Append(nil))
	case given.Sender != own.Sender:
		return illFormed("sender")
	case given.SenderID != own.SenderID:
		return illFormed("sender_id")
	case given.SenderTrxID != own.SenderTrxID:
		return illFormed("sender_trx_id")
	}
	trx.Expiration, trx.RefBlockNum, trx.RefBlockPrefix = 0, 0, 0
	return nil
}

func illFormed(field string) error {
	return exception.New(exception.IllFormedDeferredTransactionGenerationContext, "deferred transaction generaction context contains mismatching %s", field)
}

func (a *action) authorizeDeferred(payer types.Name, trx *types.Transaction) error {
	if a.e.skipChecks() || a.privileged {
		return nil
	}
	if payer != a.receiver {
		switch {
		case !a.e.active(feature.RAMRestrictions):
			if err := a.RequireAuth(payer); err != nil {
				return err
			}
		case a.receiver != a.act.Account:
			return invalid("cannot bill RAM usage of deferred transactions to another account within notify context")
		case !a.HasAuth(payer):
			return invalid("cannot bill RAM usage of deferred transaction to another account that has not authorized the action: %s", payer)
		}
	}
	toSelf := true
	for i := range trx.Actions {
		toSelf = toSelf && trx.Actions[i].Account == a.receiver
	}
	err := a.e.authority.CheckAuthorization(trx.Actions, &authority.Check{
		Provided:  []types.PermissionLevel{{Actor: a.receiver, Permission: nameCode}},
		Delay:     int64(trx.DelaySec) * 1_000_000,
		Checktime: a.trx.checktime,
	})
	return a.forgiveSelf(err, a.e.active(feature.RestrictActionToSelf) || !toSelf,
		"Authorization failure with sent deferred transaction consisting only of actions to self")
}

// storeDeferred stores the transaction, in place of one with the same key if that
// is wanted.
func (a *action) storeDeferred(d *state.Deferred, replace bool) error {
	old, err := a.e.state.Deferred(state.DeferredKey{Sender: d.Sender, SenderID: d.SenderID})
	if err != nil {
		return err
	}
	m := a.deepMind()
	if old == nil {
		if m != nil {
			m.CreateDeferred("CREATE", d, nil)
		}
		if err := a.e.createDeferred(d); err != nil {
			return err
		}
		if m != nil {
			m.RAMEvent(idEvent(d.ID), "deferred_trx", "add", "deferred_trx_add")
		}
		return nil
	}
	if !replace {
		return exception.New(exception.DeferredTxDuplicate, "deferred transaction with the same sender_id and payer already exists")
	}
	fixed := a.e.active(feature.ReplaceDeferred)
	if !fixed && a.e.speculative() && !a.e.opt.NoMitigations {
		return exception.New(exception.SubjectiveBlockProduction, "Replacing a deferred transaction is temporarily disabled.")
	}
	if m != nil {
		m.RAMEvent(idEvent(old.ID), "deferred_trx", "cancel", "deferred_trx_cancel")
	}
	size := billableDeferred + int64(len(old.Packed))
	if fixed {
		err = a.addRAM(old.Payer, -size)
	} else {
		d.TrxID = old.TrxID
		err = a.e.addRAMCorrection(old.Payer, uint64(size))
	}
	if err != nil {
		return err
	}
	if m != nil {
		m.CancelDeferred("MODIFY_CANCEL", old)
	}
	if err := a.e.state.RemoveDeferred(old); err != nil {
		return err
	}
	if m != nil {
		m.CreateDeferred("MODIFY_CREATE", d, nil)
	}
	if err := a.e.createDeferred(d); err != nil {
		return err
	}
	if m != nil {
		m.RAMEvent(idEvent(d.ID), "deferred_trx", "update", "deferred_trx_add")
	}
	return nil
}

// CancelDeferred implements intrinsic.Sender.
func (a *action) CancelDeferred(id types.Uint128) (bool, error) {
	return a.cancelDeferred(state.DeferredKey{Sender: a.receiver, SenderID: id})
}

func (a *action) cancelDeferred(k state.DeferredKey) (bool, error) {
	if a.e.active(feature.DisableDeferredTrxsStage1) {
		return false, nil
	}
	if a.trx.kind == control.ReadOnly {
		return false, exception.New(exception.Transaction, "cannot cancel a deferred transaction from within a readonly transaction")
	}
	d, err := a.e.state.Deferred(k)
	if err != nil || d == nil {
		return false, err
	}
	if m := a.deepMind(); m != nil {
		m.CancelDeferred("CANCEL", d)
		m.RAMEvent(idEvent(d.ID), "deferred_trx", "cancel", "deferred_trx_cancel")
	}
	if err := a.addRAM(d.Payer, -billableDeferred-int64(len(d.Packed))); err != nil {
		return false, err
	}
	return true, a.e.state.RemoveDeferred(d)
}

// SetReturnValue implements intrinsic.Sender.
func (a *action) SetReturnValue(value []byte) { a.returnValue = append(a.returnValue[:0], value...) }

// SenderOf implements intrinsic.Sender.
func (a *action) SenderOf() types.Name {
	if creator := a.trace().CreatorOrdinal; creator > 0 {
		return a.trx.trace.ActionTraces[creator-1].Receiver
	}
	return 0
}

// authorize checks the signatures of a transaction from outside.
func (t *transaction) authorize(keys []types.PublicKey) error {
	return t.e.authority.CheckAuthorization(t.trx.Actions, &authority.Check{
		Keys: keys, Delay: t.delay * 1_000_000, Checktime: t.checktime, Tolerant: t.kind == control.DryRun,
	})
}
