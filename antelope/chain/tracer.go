package chain

import (
	"errors"
	"strconv"

	"tarn/antelope/deepmind"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// What the tracer is told, where that is more than a call. Without a tracer all of
// it is a comparison with nil.

// tracer is told what no transaction that is only tried does; nil for nobody.
func (c *Chain) tracer() deepmind.Tracer { return c.hooks.tracer }

// deepMind is the same of what a transaction does.
func (t *transaction) deepMind() deepmind.Tracer {
	if t.kind.Transient() {
		return nil
	}
	return t.c.hooks.tracer
}

func (a *action) deepMind() deepmind.Tracer { return a.trx.deepMind() }

// applied tells who wants to know that a transaction was applied, or failed.
func (c *Chain) applied(trace *types.TransactionTrace, x *Candidate) {
	if d := c.tracer(); d != nil {
		if x != nil && isOnblock(trace) {
			d.Onblock(x.Trx, x.Packed)
		}
		d.AppliedTransaction(c.head.BlockNum+1, trace)
	}
	c.hooks.transaction(trace, x)
}

// keepTrace keeps what was executed for those who record the block.
func (c *Chain) keepTrace(x Transaction) {
	if c.hooks.records && x.Trace.Receipt != nil {
		c.pending.applied = append(c.pending.applied, x)
	}
}

// isOnblock tells whether a transaction looks like the chain's own at the begin of a
// block, which others may send too (Leap: trace.hpp, is_onblock).
func isOnblock(trace *types.TransactionTrace) bool {
	if len(trace.ActionTraces) == 0 {
		return false
	}
	act := &trace.ActionTraces[0].Action
	return act.Account == nameEosio && act.Name == nameOnblock && len(act.Authorization) == 1 &&
		act.Authorization[0] == types.PermissionLevel{Actor: nameEosio, Permission: nameActive}
}

// end tells that a transaction is over, whatever became of it.
func (t *transaction) end() {
	if d := t.deepMind(); d != nil {
		d.EndTransaction()
	}
}

// tellStart tells where the chain stands before it goes on.
func (c *Chain) tellStart() error {
	d := c.tracer()
	if d == nil {
		return nil
	}
	p, err := c.state.Protocol()
	if err != nil {
		return err
	}
	for _, a := range p.Activated {
		f, err := c.opt.Features.Get(a.Digest)
		if err != nil {
			return err
		}
		d.ActivateFeature(f)
	}
	g, err := c.state.Dynamic()
	if err != nil {
		return err
	}
	if err := c.store.Publish(); err != nil { // a view has the accounts in their order
		return err
	}
	v, err := c.state.View()
	if err != nil {
		return err
	}
	var failure error
	d.Startup(c.head.BlockNum, g.ActionSequence, func(yield func(types.Name, []byte) bool) {
		failure = v.Accounts.EachByID(func(a *state.Account) error {
			abi, err := c.state.ABI(a.Name)
			if err == nil && !yield(a.Name, abi) {
				err = errors.New("the tracer wants no more ABIs")
			}
			return err
		})
	})
	return errors.Join(failure, v.Close())
}

// parentID is the id of a permission's parent, which nodeos has in its rows.
func (c *Chain) parentID(owner, parent types.Name) (uint64, error) {
	if parent == 0 {
		return 0, nil
	}
	p, err := c.authority.Get(types.PermissionLevel{Actor: owner, Permission: parent})
	if err != nil {
		return 0, err
	}
	return p.ID, nil
}

func (c *Chain) createPermission(d deepmind.Tracer, owner, name, parent types.Name, a types.Authority, at types.TimePoint) (*state.Permission, error) {
	if d == nil {
		return c.authority.CreatePermission(owner, name, parent, a, at)
	}
	id, err := c.parentID(owner, parent)
	if err != nil {
		return nil, err
	}
	p, err := c.authority.CreatePermission(owner, name, parent, a, at)
	if err == nil {
		d.CreatePermission(p, id)
	}
	return p, err
}

// modifyPermission replaces the authority of p, which is at l.
func (c *Chain) modifyPermission(d deepmind.Tracer, l types.PermissionLevel, p *state.Permission, a types.Authority) error {
	if d == nil {
		return c.authority.ModifyPermission(l, a, c.pendingTime())
	}
	old := *p
	id, err := c.parentID(l.Actor, old.Parent)
	if err != nil {
		return err
	}
	if err := c.authority.ModifyPermission(l, a, c.pendingTime()); err != nil {
		return err
	}
	now, err := c.authority.Get(l)
	if err == nil {
		d.ModifyPermission(&old, now, id)
	}
	return err
}

// removePermission deletes p, which is at l.
func (c *Chain) removePermission(d deepmind.Tracer, l types.PermissionLevel, p *state.Permission) error {
	if d == nil {
		return c.authority.RemovePermission(l)
	}
	old := *p
	id, err := c.parentID(l.Actor, old.Parent)
	if err != nil {
		return err
	}
	if err := c.authority.RemovePermission(l); err != nil {
		return err
	}
	d.RemovePermission(&old, id)
	return nil
}

// Names of what RAM is charged for.

func idEvent(id uint64) string { return strconv.FormatUint(id, 10) }

func tableEvent(k state.TableKey) string {
	return k.Code.String() + ":" + k.Scope.String() + ":" + k.Table.String()
}

func rowEvent(k state.RowKey) string {
	return tableEvent(k.TableKey) + ":" + types.Name(k.Primary).String()
}
