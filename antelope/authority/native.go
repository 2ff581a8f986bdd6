package authority

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// checkNative checks the declared permission of an action that is about
// permissions. For canceldelay it returns the delay of the transaction that is to
// be canceled, in us.
func (m *Manager) checkNative(a *types.Action) (delay int64, err error) {
	switch a.Name {
	case updateAuth:
		var v types.UpdateAuth
		if err = types.ReadAction(a.Data, &v); err == nil {
			err = m.checkUpdateAuth(&v, a.Authorization)
		}
	case deleteAuth:
		var v types.DeleteAuth
		if err = types.ReadAction(a.Data, &v); err == nil {
			err = m.checkDeleteAuth(&v, a.Authorization)
		}
	case linkAuth:
		var v types.LinkAuth
		if err = types.ReadAction(a.Data, &v); err == nil {
			err = m.checkLinkAuth(&v, a.Authorization)
		}
	case unlinkAuth:
		var v types.UnlinkAuth
		if err = types.ReadAction(a.Data, &v); err == nil {
			err = m.checkUnlinkAuth(&v, a.Authorization)
		}
	case cancelDelay:
		var v types.CancelDelay
		if err = types.ReadAction(a.Data, &v); err == nil {
			delay, err = m.checkCancelDelay(&v, a.Authorization)
		}
	}
	return delay, err
}

// only returns the one authorization that such an action has.
func only(auths []types.PermissionLevel, action string) (types.PermissionLevel, error) {
	if len(auths) != 1 {
		return types.PermissionLevel{}, exception.New(exception.IrrelevantAuth,
			action+" action should only have one declared authorization")
	}
	return auths[0], nil
}

// ofOwner returns it if its actor is the owner of what is changed.
func ofOwner(auths []types.PermissionLevel, owner types.Name, action, changed string) (types.PermissionLevel, error) {
	auth, err := only(auths, action)
	if err == nil && auth.Actor != owner {
		err = exception.New(exception.IrrelevantAuth, "the owner of the "+changed+
			" needs to be the actor of the declared authorization")
	}
	return auth, err
}

// enough fails unless the declared permission is least or an ancestor of it.
func (m *Manager) enough(declared, least types.PermissionLevel, action, which string) error {
	p, err := m.Get(declared)
	if err != nil {
		return err
	}
	o, err := m.Get(least)
	if err != nil {
		return err
	}
	ok, err := m.Satisfies(p, o)
	if err == nil && !ok {
		err = exception.New(exception.IrrelevantAuth, action+" action declares irrelevant authority '${auth}'; "+which,
			"auth", declared, "min", least)
	}
	return err
}

const minimum = "minimum authority is ${min}"

func (m *Manager) checkUpdateAuth(v *types.UpdateAuth, auths []types.PermissionLevel) error {
	auth, err := ofOwner(auths, v.Account, "updateauth", "affected permission")
	if err != nil {
		return err
	}
	least := types.PermissionLevel{Actor: v.Account, Permission: v.Permission}
	p, err := m.Find(least)
	if err != nil {
		return err
	}
	if p == nil { // it is to be made
		least.Permission = v.Parent
		if _, err := m.Get(least); err != nil {
			return err
		}
	}
	return m.enough(auth, least, "updateauth", minimum)
}

func (m *Manager) checkDeleteAuth(v *types.DeleteAuth, auths []types.PermissionLevel) error {
	auth, err := ofOwner(auths, v.Account, "deleteauth", "permission to delete")
	if err != nil {
		return err
	}
	least := types.PermissionLevel{Actor: v.Account, Permission: v.Permission}
	if _, err := m.Get(least); err != nil {
		return err
	}
	return m.enough(auth, least, "updateauth", minimum) // sic
}

func (m *Manager) checkLinkAuth(v *types.LinkAuth, auths []types.PermissionLevel) error {
	auth, err := ofOwner(auths, v.Account, "link", "linked permission")
	if err != nil {
		return err
	}
	restricted := v.Code == system || m.o.LinkRestrictionFixed == nil || !m.o.LinkRestrictionFixed()
	if restricted && unlinkable(v.Action) {
		return exception.New(exception.ActionValidate,
			"Cannot link eosio::"+v.Action.String()+" to a minimum permission")
	}
	name, required, err := m.LookupMinimumPermission(v.Account, v.Code, v.Action)
	if err != nil || !required {
		return err
	}
	return m.enough(auth, types.PermissionLevel{Actor: v.Account, Permission: name}, "link", minimum)
}

func (m *Manager) checkUnlinkAuth(v *types.UnlinkAuth, auths []types.PermissionLevel) error {
	auth, err := ofOwner(auths, v.Account, "unlink", "linked permission")
	if err != nil {
		return err
	}
	name, found, err := m.LookupLinked(v.Account, v.Code, v.Action)
	if err != nil {
		return err
	}
	if !found {
		return exception.New(exception.Transaction,
			"cannot unlink non-existent permission link of account '${account}' for actions matching "+
				"'${code}::${action}'", "account", v.Account, "code", v.Code, "action", v.Action)
	}
	if name == anyone {
		return nil
	}
	return m.enough(auth, types.PermissionLevel{Actor: v.Account, Permission: name}, "unlink", minimum)
}

func (m *Manager) checkCancelDelay(v *types.CancelDelay, auths []types.PermissionLevel) (int64, error) {
	auth, err := only(auths, "canceldelay")
	if err != nil {
		return 0, err
	}
	if err := m.enough(auth, v.CancelingAuth, "canceldelay", "specified authority to satisfy is ${min}"); err != nil {
		return 0, err
	}
	d, err := m.s.DeferredByTrxID(v.TrxID)
	if err != nil {
		return 0, err
	}
	if d == nil || d.Sender != 0 {
		return 0, exception.New(exception.TxNotFound,
			"cannot cancel trx_id=${tid}, there is no deferred transaction with that transaction id", "tid", v.TrxID)
	}
	var t types.Transaction
	if err := types.ReadAction(d.Packed, &t); err != nil {
		return 0, err
	}
	for i := range t.Actions {
		for _, l := range t.Actions[i].Authorization {
			if l == v.CancelingAuth {
				return int64(d.DelayUntil - d.Published), nil
			}
		}
	}
	return 0, exception.New(exception.ActionValidate,
		"canceling_auth in canceldelay action was not found as authorization in the original delayed transaction")
}

// CheckReferences fails unless the accounts and permissions that an authority names
// exist. The virtual permission eosio.code does not, but may be named.
func (m *Manager) CheckReferences(a *types.Authority) error {
	for i := range a.Accounts {
		l := a.Accounts[i].Permission
		acct, err := m.s.Accounts.Get(l.Actor)
		if err != nil {
			return err
		}
		if acct == nil {
			return exception.New(exception.ActionValidate, "account '${account}' does not exist", "account", l.Actor)
		}
		if l.Permission == owner || l.Permission == active || l.Permission == code {
			continue // every account has them
		}
		p, err := m.Find(l)
		if err != nil {
			return err
		}
		if p == nil {
			return exception.New(exception.ActionValidate, "permission '${perm}' does not exist", "perm", l)
		}
	}
	return nil
}
