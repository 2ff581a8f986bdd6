package execute

import (
	"fmt"

	"tarn/antelope/authority"
	"tarn/antelope/deepmind"
	"tarn/antelope/exception"
	"tarn/antelope/resource"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
)

// books are a chain's accounts, permissions, resources and deferred transactions, and the
// one to whom changes of them are told. Without a tracer telling is a comparison with nil.
type books struct {
	state     *state.State
	resources *resource.Manager
	authority *authority.Manager
	tracer    deepmind.Tracer // nil for nobody
}

// metadata returns an account's metadata, which must exist.
func (b *books) metadata(n types.Name) (*state.AccountMetadata, error) {
	m, err := b.state.Metadata.Get(n)
	if err == nil && m == nil {
		err = unknownKey(n)
	}
	return m, err
}

func (b *books) editMetadata(n types.Name) (*state.AccountMetadata, error) {
	if _, err := b.metadata(n); err != nil {
		return nil, err
	}
	return b.state.Metadata.Edit(n)
}

func (b *books) account(n types.Name) (*state.Account, error) {
	a, err := b.state.Accounts.Get(n)
	if err == nil && a == nil {
		err = unknownKey(n)
	}
	return a, err
}

// checkLevel checks that the actor and the permission of a level exist.
func (b *books) checkLevel(l types.PermissionLevel, kind *exception.Kind, what string) error {
	account, err := b.state.Accounts.Get(l.Actor)
	if err != nil {
		return err
	}
	if account == nil {
		if kind == exception.Transaction {
			return exception.New(kind, what+"'s authorizing actor '${account}' does not exist", "account", l.Actor)
		}
		return exception.New(kind, what+"'s authorizing actor ${account} does not exist", "account", l.Actor)
	}
	p, err := b.authority.Find(l)
	if err == nil && p == nil {
		err = exception.New(kind, what+"'s authorizations include a non-existent permission: ${permission}",
			"permission", l)
	}
	return err
}

// tellResourceState tells what the block has used, and may use.
func (b *books) tellResourceState() error {
	d := b.tracer
	if d == nil {
		return nil
	}
	s, err := b.state.ResourceState.Get()
	if err == nil {
		d.UpdateResourceState(s)
	}
	return err
}

// setBlockParameters sets the limits of blocks, and tells if they are others.
func (b *books) setBlockParameters(cpu, net state.ElasticLimit) error {
	d := b.tracer
	if d == nil {
		return b.resources.SetBlockParameters(cpu, net)
	}
	now, err := b.state.ResourceConfig.Get()
	if err != nil {
		return err
	}
	was := *now
	if err := b.resources.SetBlockParameters(cpu, net); err != nil {
		return err
	}
	if now, err = b.state.ResourceConfig.Get(); err == nil && *now != was {
		d.UpdateResourceConfig(now)
	}
	return err
}

// initialiseAccount makes the resource rows of a new account.
func (b *books) initialiseAccount(d deepmind.Tracer, n types.Name) error {
	if err := b.resources.InitialiseAccount(n); err != nil || d == nil {
		return err
	}
	l, err := b.state.Limits.Get(n)
	if err != nil {
		return err
	}
	u, err := b.state.Usages.Get(n)
	if err == nil {
		d.NewAccountLimits(l, u)
	}
	return err
}

// chargeRAM changes what an account uses.
func (b *books) chargeRAM(d deepmind.Tracer, n types.Name, delta int64) error {
	if err := b.resources.AddPendingRAM(n, delta); err != nil || d == nil || delta == 0 {
		return err
	}
	used, err := b.resources.RAMUsage(n)
	if err == nil {
		d.RAMUsage(n, uint64(used), delta)
	}
	return err
}

// billUsage bills a transaction in a slot to accounts.
func (b *books) billUsage(
	d deepmind.Tracer, accounts []types.Name, cpuUS, netBytes uint64, slot types.BlockTimestamp,
) error {
	if d != nil {
		b.resources.Billed = d.UpdateAccountUsage
		defer func() { b.resources.Billed = nil }()
	}
	return b.resources.AddTransactionUsage(accounts, cpuUS, netBytes, uint32(slot))
}

// parentID is the id of a permission's parent, which nodeos has in its rows.
func (b *books) parentID(owner, parent types.Name) (uint64, error) {
	if parent == 0 {
		return 0, nil
	}
	p, err := b.authority.Get(types.PermissionLevel{Actor: owner, Permission: parent})
	if err != nil {
		return 0, err
	}
	return p.ID, nil
}

func (b *books) createPermission(
	d deepmind.Tracer, owner, name, parent types.Name, a types.Authority, at types.TimePoint,
) (*state.Permission, error) {
	if d == nil {
		return b.authority.CreatePermission(owner, name, parent, a, at)
	}
	id, err := b.parentID(owner, parent)
	if err != nil {
		return nil, err
	}
	p, err := b.authority.CreatePermission(owner, name, parent, a, at)
	if err == nil {
		d.CreatePermission(p, id)
	}
	return p, err
}

// modifyPermission replaces the authority of p, which is at l, at a time.
func (b *books) modifyPermission(
	d deepmind.Tracer, l types.PermissionLevel, p *state.Permission, a types.Authority, at types.TimePoint,
) error {
	if d == nil {
		return b.authority.ModifyPermission(l, a, at)
	}
	old := *p
	id, err := b.parentID(l.Actor, old.Parent)
	if err != nil {
		return err
	}
	if err := b.authority.ModifyPermission(l, a, at); err != nil {
		return err
	}
	now, err := b.authority.Get(l)
	if err == nil {
		d.ModifyPermission(&old, now, id)
	}
	return err
}

// removePermission deletes p, which is at l.
func (b *books) removePermission(d deepmind.Tracer, l types.PermissionLevel, p *state.Permission) error {
	if d == nil {
		return b.authority.RemovePermission(l)
	}
	old := *p
	id, err := b.parentID(l.Actor, old.Parent)
	if err != nil {
		return err
	}
	if err := b.authority.RemovePermission(l); err != nil {
		return err
	}
	d.RemovePermission(&old, id)
	return nil
}

// setAuthority changes a permission without noting when.
func (b *books) setAuthority(l types.PermissionLevel, a types.Authority) error {
	p, err := b.state.Permissions.Edit(permissionKey(l))
	if err == nil {
		p.Authority = a
	}
	return err
}

// createDeferred adds a deferred transaction. Its id must be new, as its sender's key
// must: before NO_DUPLICATE_DEFERRED_ID two senders could make the same one (Leap:
// generated_transaction_object.hpp).
func (b *books) createDeferred(d *state.Deferred) error {
	other, err := b.state.DeferredByTrxID(d.TrxID)
	if err == nil && other != nil {
		err = notUnique()
	}
	if err != nil {
		return err
	}
	return b.state.CreateDeferred(d)
}

// addRAMCorrection notes bytes that an account was charged too much, to be given
// back when REPLACE_DEFERRED is activated.
func (b *books) addRAMCorrection(n types.Name, bytes uint64) error {
	row, err := b.state.RAMCorrections.Get(n)
	if err != nil {
		return err
	}
	if row == nil {
		row, err = b.state.RAMCorrections.Create(n, state.RAMCorrection{Name: n})
	} else {
		row, err = b.state.RAMCorrections.Edit(n)
	}
	if err != nil {
		return err
	}
	row.Correction += bytes
	if d := b.tracer; d != nil {
		d.RAMCorrection(row, bytes)
	}
	return nil
}

// removeDeferred takes a deferred transaction out of the state and refunds its
// payer; it returns the change of RAM.
func (b *books) removeDeferred(d *state.Deferred) (int64, error) {
	m := b.tracer
	if m != nil {
		m.RAMEvent(idEvent(d.ID), "deferred_trx", "remove", "deferred_trx_removed")
	}
	delta := -(billableDeferred + int64(len(d.Packed)))
	if err := b.chargeRAM(m, d.Payer, delta); err != nil {
		return 0, err
	}
	return delta, b.state.RemoveDeferred(d)
}

// unknownKey is what chainbase throws for a missing row.
func unknownKey(n types.Name) error {
	return exception.Standard(exception.OutOfRange, "unknown key (eosio::chain::name): %s", n)
}

func missingRow(k state.RowKey) error {
	return fmt.Errorf("row %s %s %s %d of an iterator is missing: %w",
		k.Code, k.Scope, k.Table, k.Primary, store.ErrCorrupt)
}
