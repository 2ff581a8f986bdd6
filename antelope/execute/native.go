package execute

import (
	"strings"

	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// system is an action of the account eosio that the chain handles itself. It may do all
// that an action may.
type system struct{ *action }

// nativeActions are the actions of the system account that the chain handles
// itself, before the account's contract (Leap: eosio_contract.cpp).
var nativeActions = map[types.Name]func(system) error{
	types.N("newaccount"):  system.newAccount,
	nameSetcode:            system.setCode,
	types.N("setabi"):      system.setABI,
	types.N("updateauth"):  system.updateAuth,
	types.N("deleteauth"):  system.deleteAuth,
	types.N("linkauth"):    system.linkAuth,
	types.N("unlinkauth"):  system.unlinkAuth,
	types.N("canceldelay"): system.cancelDelay,
}

func (e *Executor) native(receiver, account, name types.Name) func(system) error {
	if receiver != nameEosio || account != nameEosio {
		return nil
	}
	return nativeActions[name]
}

func invalid(format string, values ...any) error {
	return exception.New(exception.ActionValidate, format, values...)
}

func (a system) refuseTransient(name string) error {
	if a.trx.kind == ReadOnly {
		return invalid(name + " not allowed in read-only transaction")
	}
	return nil
}

func (a system) newAccount() error {
	if err := a.refuseTransient("newaccount"); err != nil {
		return err
	}
	var create types.NewAccount
	if err := types.ReadAction(a.act.Data, &create); err != nil {
		return err
	}
	if err := a.createAccount(&create); err != nil {
		return note(err, "", "create", create)
	}
	return nil
}

func (a system) createAccount(create *types.NewAccount) error {
	if err := a.RequireAuth(create.Creator); err != nil {
		return err
	}
	if err := a.checkNewAccount(create); err != nil {
		return err
	}
	s, now := a.e.state, a.e.block.time()
	if _, err := s.Accounts.Create(create.Name,
		state.Account{Name: create.Name, Created: a.e.block.header.Timestamp}); err != nil {
		return err
	}
	if _, err := s.Metadata.Create(create.Name, state.AccountMetadata{Name: create.Name}); err != nil {
		return err
	}
	for _, auth := range []*types.Authority{&create.Owner, &create.Active} {
		if err := a.checkReferences(auth); err != nil {
			return err
		}
	}
	ram := int64(billableAccount) + authority.BillableSize(&create.Owner) + authority.BillableSize(&create.Active)
	d := a.deepMind()
	if _, err := a.e.createPermission(d, create.Name, nameOwner, 0, create.Owner, now); err != nil {
		return err
	}
	if _, err := a.e.createPermission(d, create.Name, nameActive, nameOwner, create.Active, now); err != nil {
		return err
	}
	if err := a.e.initialiseAccount(d, create.Name); err != nil {
		return err
	}
	if d != nil {
		d.RAMEvent(create.Name.String(), "account", "add", "newaccount")
	}
	return a.addRAM(create.Name, ram)
}

func (a system) checkNewAccount(create *types.NewAccount) error {
	if !create.Owner.Valid() {
		return invalid("Invalid owner authority")
	}
	if !create.Active.Valid() {
		return invalid("Invalid active authority")
	}
	name := create.Name.String()
	if create.Name == 0 {
		return invalid("account name cannot be empty")
	}
	if len(name) > 12 {
		return invalid("account names can only be 12 chars long")
	}
	creator, err := a.e.metadata(create.Creator)
	if err != nil {
		return err
	}
	if !creator.Privileged() && strings.HasPrefix(name, reservedName) {
		return invalid("only privileged accounts can have names that start with 'eosio.'")
	}
	existing, err := a.e.state.Accounts.Get(create.Name)
	if err == nil && existing != nil {
		err = exception.New(exception.AccountNameExists,
			"Cannot create account named ${name}, as that name is already taken", "name", create.Name)
	}
	return err
}

// checkReferences checks what an authority names, and this node's list of keys.
func (a system) checkReferences(auth *types.Authority) error {
	if err := a.e.authority.CheckReferences(auth); err != nil {
		return err
	}
	if !a.trx.enforceLists || !a.e.speculative() {
		return nil
	}
	for i := range auth.Keys {
		if err := checkKey(&a.e.policy.Lists, auth.Keys[i].Key); err != nil {
			return err
		}
	}
	return nil
}

func (a system) setCode() error {
	if err := a.refuseTransient("setcode"); err != nil {
		return err
	}
	var set types.SetCode
	if err := types.ReadAction(a.act.Data, &set); err != nil {
		return err
	}
	if err := a.RequireAuth(set.Account); err != nil {
		return err
	}
	if set.VMType != 0 {
		return exception.New(exception.InvalidContractVmType, "code should be 0")
	}
	if set.VMVersion != 0 {
		return exception.New(exception.InvalidContractVmVersion, "version should be 0")
	}
	key := state.CodeKey{VMType: set.VMType, VMVersion: set.VMVersion}
	if len(set.Code) > 0 {
		key.Hash = types.Hash(set.Code)
		if err := a.e.validateCode(set.Code); err != nil {
			return err
		}
	}
	account, err := a.e.metadata(set.Account)
	if err != nil {
		return err
	}
	old := state.CodeKey{Hash: account.CodeHash, VMType: account.VMType, VMVersion: account.VMVersion}
	if len(set.Code) == 0 && old.Hash.IsZero() {
		return exception.New(exception.SetExactCode, "contract is already cleared")
	}
	oldSize, err := a.dropCode(old, key)
	if err != nil {
		return err
	}
	if err := a.addCode(key, set.Code); err != nil {
		return err
	}
	if account, err = a.e.editMetadata(set.Account); err != nil {
		return err
	}
	account.CodeSequence++
	account.CodeHash, account.VMType, account.VMVersion = key.Hash, key.VMType, key.VMVersion
	account.LastCodeUpdate = a.e.block.time()
	if len(set.Code) > 0 {
		a.e.shared.cache.Warm(key.Hash, set.Code)
	}
	return a.billBlob(set.Account, "code", "setcode", oldSize*billableCode, int64(len(set.Code))*billableCode)
}

// dropCode takes an account's reference off its code, and the code away with the
// last one. It returns the code's length.
func (a system) dropCode(old, key state.CodeKey) (int64, error) {
	if old.Hash.IsZero() {
		return 0, nil
	}
	if old.Hash == key.Hash {
		return 0, exception.New(exception.SetExactCode, "contract is already running this version of code")
	}
	code, err := a.e.state.CodeBytes(old)
	if err != nil {
		return 0, err
	}
	size := int64(len(code))
	row, err := a.e.state.Codes.Edit(old)
	if err != nil {
		return 0, err
	}
	if row.RefCount > 1 {
		row.RefCount--
		return size, nil
	}
	if err := a.e.state.Codes.Remove(old); err != nil {
		return 0, err
	}
	return size, a.e.state.SetCodeBytes(old, nil)
}

func (a system) addCode(key state.CodeKey, code []byte) error {
	if len(code) == 0 {
		return nil
	}
	row, err := a.e.state.Codes.Get(key)
	if err != nil {
		return err
	}
	if row != nil {
		if row, err = a.e.state.Codes.Edit(key); err == nil {
			row.RefCount++
		}
		return err
	}
	_, err = a.e.state.Codes.Create(key, state.Code{Key: key, RefCount: 1, FirstBlockUsed: a.e.head.BlockNum + 1})
	if err != nil {
		return err
	}
	return a.e.state.SetCodeBytes(key, code)
}

// billBlob bills an account for code or ABI of another size.
func (a system) billBlob(account types.Name, family, unique string, before, after int64) error {
	if before == after {
		return nil
	}
	if d := a.deepMind(); d != nil {
		operation := "update"
		if before <= 0 {
			operation = "add"
		} else if after <= 0 {
			operation = "remove"
		}
		d.RAMEvent(account.String(), family, operation, unique)
	}
	return a.addRAM(account, after-before)
}

func (a system) setABI() error {
	if a.trx.kind == ReadOnly {
		return invalid("setabi ot allowed in read-only transaction") // as nodeos says it
	}
	var set types.SetABI
	if err := types.ReadAction(a.act.Data, &set); err != nil {
		return err
	}
	if err := a.RequireAuth(set.Account); err != nil {
		return err
	}
	old, err := a.e.state.ABI(set.Account)
	if err != nil {
		return err
	}
	before := int64(len(old))
	account, err := a.e.editMetadata(set.Account)
	if err != nil {
		return err
	}
	if err := a.e.state.SetABI(set.Account, set.ABI); err != nil {
		return err
	}
	account.ABISequence++
	return a.billBlob(set.Account, "abi", "setabi", before, int64(len(set.ABI)))
}

func (a system) updateAuth() error {
	if err := a.refuseTransient("updateauth"); err != nil {
		return err
	}
	var update types.UpdateAuth
	if err := types.ReadAction(a.act.Data, &update); err != nil {
		return err
	}
	if err := a.RequireAuth(update.Account); err != nil {
		return err
	}
	if err := a.checkUpdateAuth(&update); err != nil {
		return err
	}
	level := types.PermissionLevel{Actor: update.Account, Permission: update.Permission}
	permission, err := a.e.authority.Find(level)
	if err != nil {
		return err
	}
	if update.Permission != nameOwner {
		if _, err := a.e.authority.Get(types.PermissionLevel{Actor: update.Account,
			Permission: update.Parent}); err != nil {
			return err
		}
	}
	d, size := a.deepMind(), authority.BillableSize(&update.Authority)
	if permission == nil {
		p, err := a.e.createPermission(d, update.Account, update.Permission, update.Parent, update.Authority,
			a.e.block.time())
		if err != nil {
			return err
		}
		if d != nil {
			d.RAMEvent(idEvent(p.ID), "auth", "add", "updateauth_create")
		}
		return a.addRAM(update.Account, size)
	}
	if permission.Parent != update.Parent {
		return invalid("Changing parent authority is not currently supported")
	}
	before := authority.BillableSize(&permission.Authority)
	if err := a.e.modifyPermission(d, level, permission, update.Authority, a.e.block.time()); err != nil {
		return err
	}
	if d != nil {
		d.RAMEvent(idEvent(permission.ID), "auth", "update", "updateauth_update")
	}
	return a.addRAM(update.Account, size-before)
}

func (a system) checkUpdateAuth(u *types.UpdateAuth) error {
	switch {
	case u.Permission == 0:
		return invalid("Cannot create authority with empty name")
	case strings.HasPrefix(u.Permission.String(), reservedName):
		return invalid("Permission names that start with 'eosio.' are reserved")
	case u.Permission == u.Parent:
		return invalid("Cannot set an authority as its own parent")
	}
	if _, err := a.e.account(u.Account); err != nil {
		return err
	}
	switch {
	case !u.Authority.Valid():
		return invalid("Invalid authority: ${auth}", "auth", u.Authority)
	case u.Permission == nameActive && u.Parent != nameOwner:
		return invalid("Cannot change active authority's parent from owner")
	case u.Permission == nameOwner && u.Parent != 0:
		return invalid("Cannot change owner authority's parent")
	case u.Permission != nameOwner && u.Parent == 0:
		return invalid("Only owner permission can have empty parent")
	}
	if n := len(u.Authority.Waits); n > 0 {
		g, err := a.e.state.Global.Get()
		if err != nil {
			return err
		}
		if most := g.Configuration.MaxTransactionDelay; u.Authority.Waits[n-1].WaitSec > most {
			return invalid("Cannot set delay longer than max_transacton_delay, which is ${max_delay} seconds",
				"max_delay", most)
		}
	}
	return a.checkReferences(&u.Authority)
}

func (a system) deleteAuth() error {
	if err := a.refuseTransient("deleteauth"); err != nil {
		return err
	}
	var remove types.DeleteAuth
	if err := types.ReadAction(a.act.Data, &remove); err != nil {
		return err
	}
	if err := a.RequireAuth(remove.Account); err != nil {
		return err
	}
	if remove.Permission == nameActive {
		return invalid("Cannot delete active authority")
	}
	if remove.Permission == nameOwner {
		return invalid("Cannot delete owner authority")
	}
	level := types.PermissionLevel{Actor: remove.Account, Permission: remove.Permission}
	link, err := a.e.authority.LinkTo(level)
	if err != nil {
		return err
	}
	if link != nil {
		return invalid(
			"Cannot delete a linked authority. Unlink the authority first. This authority is linked to "+
				"${code}::${type}.", "code", link.Key.Code, "type", link.Key.Action)
	}
	permission, err := a.e.authority.Get(level)
	if err != nil {
		return err
	}
	d, size := a.deepMind(), authority.BillableSize(&permission.Authority)
	if d != nil {
		d.RAMEvent(idEvent(permission.ID), "auth", "remove", "deleteauth")
	}
	if err := a.e.removePermission(d, level, permission); err != nil {
		return err
	}
	return a.addRAM(remove.Account, -size)
}

func (a system) linkAuth() error {
	if err := a.refuseTransient("linkauth"); err != nil {
		return err
	}
	var link types.LinkAuth
	if err := types.ReadAction(a.act.Data, &link); err != nil {
		return err
	}
	if err := a.link(&link); err != nil {
		return note(err, "", "requirement", link)
	}
	return nil
}

func (a system) link(link *types.LinkAuth) error {
	if link.Requirement == 0 {
		return invalid("Required permission cannot be empty")
	}
	if err := a.RequireAuth(link.Account); err != nil {
		return err
	}
	for i, n := range []types.Name{link.Account, link.Code} {
		found, err := a.e.state.Accounts.Get(n)
		if err != nil {
			return err
		}
		if found == nil {
			return exception.New(exception.AccountQuery, "Failed to retrieve "+[2]string{"", "code for "}[i]+
				"account: ${account}", "account", n)
		}
	}
	if err := a.checkRequirement(link); err != nil {
		return err
	}
	key := state.LinkKey{Account: link.Account, Code: link.Code, Action: link.Action}
	created, err := a.e.authority.SetLink(key, link.Requirement)
	if err != nil || !created {
		return err
	}
	if d := a.deepMind(); d != nil {
		l, err := a.e.authority.Link(key)
		if err != nil {
			return err
		}
		d.RAMEvent(idEvent(l.ID), "auth_link", "add", "linkauth")
	}
	return a.addRAM(link.Account, authority.LinkRAM)
}

// checkRequirement checks that the permission to link exists: once, that of any
// account was enough.
func (a system) checkRequirement(link *types.LinkAuth) error {
	if link.Requirement == nameAny {
		return nil
	}
	var found bool
	var err error
	if a.e.active(feature.OnlyLinkToExistingPermission) {
		p, e := a.e.authority.Find(types.PermissionLevel{Actor: link.Account, Permission: link.Requirement})
		found, err = p != nil, e
	} else {
		found, err = a.e.authority.NameInUse(link.Requirement, link.Account)
	}
	if err == nil && !found {
		err = exception.New(exception.PermissionQuery, "Failed to retrieve permission: ${permission}",
			"permission", link.Requirement)
	}
	return err
}

func (a system) unlinkAuth() error {
	if err := a.refuseTransient("unlinkauth"); err != nil {
		return err
	}
	var unlink types.UnlinkAuth
	if err := types.ReadAction(a.act.Data, &unlink); err != nil {
		return err
	}
	if err := a.RequireAuth(unlink.Account); err != nil {
		return err
	}
	key := state.LinkKey{Account: unlink.Account, Code: unlink.Code, Action: unlink.Action}
	link, err := a.e.authority.Link(key)
	if err != nil {
		return err
	}
	if link == nil {
		return invalid("Attempting to unlink authority, but no link found")
	}
	if d := a.deepMind(); d != nil {
		d.RAMEvent(idEvent(link.ID), "auth_link", "remove", "unlinkauth")
	}
	if err := a.addRAM(unlink.Account, -authority.LinkRAM); err != nil {
		return err
	}
	return a.e.authority.RemoveLink(key)
}

func (a system) cancelDelay() error {
	if err := a.refuseTransient("canceldelay"); err != nil {
		return err
	}
	var cancel types.CancelDelay
	if err := types.ReadAction(a.act.Data, &cancel); err != nil {
		return err
	}
	if err := a.RequireAuth(cancel.CancelingAuth.Actor); err != nil {
		return err
	}
	_, err := a.sender.cancel(state.DeferredKey{SenderID: delayedID(cancel.TrxID)})
	return err
}

// validateCode checks a module by the rules that hold now.
func (e *Executor) validateCode(code []byte) error {
	g, err := e.state.Global.Get()
	if err != nil {
		return err
	}
	p, err := e.state.Protocol.Get()
	if err != nil {
		return err
	}
	return wasm.Validate(code, e.codeRules(&g.Wasm, p.Intrinsics))
}
