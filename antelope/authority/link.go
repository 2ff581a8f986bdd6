package authority

import (
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// The actions about permissions, which cannot be linked.
var (
	updateAuth  = types.N("updateauth")
	deleteAuth  = types.N("deleteauth")
	linkAuth    = types.N("linkauth")
	unlinkAuth  = types.N("unlinkauth")
	cancelDelay = types.N("canceldelay")
)

func unlinkable(action types.Name) bool {
	switch action {
	case updateAuth, deleteAuth, linkAuth, unlinkAuth, cancelDelay:
		return true
	}
	return false
}

// LookupLinked returns the permission that an account linked to a contract's
// action, or to the contract; false if to neither.
func (m *Manager) LookupLinked(account, contract, action types.Name) (types.Name, bool, error) {
	l, err := m.s.Links.Get(state.LinkKey{Account: account, Code: contract, Action: action})
	if err == nil && l == nil && action != 0 {
		l, err = m.s.Links.Get(state.LinkKey{Account: account, Code: contract})
	}
	if err != nil || l == nil {
		return 0, false, err
	}
	return l.Required, true, nil
}

// LookupMinimumPermission returns the least permission of an account that is
// enough for a contract's action; false if any permission is.
func (m *Manager) LookupMinimumPermission(account, contract, action types.Name) (types.Name, bool, error) {
	if contract == system && unlinkable(action) {
		return 0, false, exception.New(exception.UnlinkableMinPermissionAction,
			"cannot call lookup_minimum_permission on native actions"+
				" that are not allowed to be linked to minimum permissions")
	}
	name, found, err := m.LookupLinked(account, contract, action)
	switch {
	case err != nil:
		return 0, false, err
	case !found:
		return active, true, nil
	case name == anyone:
		return 0, false, nil
	}
	return name, true, nil
}

// Link returns a link, nil if there is none.
func (m *Manager) Link(k state.LinkKey) (*state.PermissionLink, error) { return m.s.Links.Get(k) }

// SetLink makes a link or changes the one that is there, and tells whether it is
// new, and so to be billed. It fails if nothing changes.
func (m *Manager) SetLink(k state.LinkKey, required types.Name) (created bool, err error) {
	l, err := m.s.Links.Get(k)
	if err != nil {
		return false, err
	}
	if l == nil {
		_, err = m.s.Links.Create(k, state.PermissionLink{Key: k, Required: required})
		return true, err
	}
	if l.Required == required {
		return false, exception.New(exception.ActionValidate,
			"Attempting to update required authority, but new requirement is same as old")
	}
	if l, err = m.s.Links.Edit(k); err != nil {
		return false, err
	}
	l.Required = required
	return false, nil
}

// RemoveLink deletes a link, which must exist.
func (m *Manager) RemoveLink(k state.LinkKey) error {
	l, err := m.s.Links.Get(k)
	if err != nil {
		return err
	}
	if l == nil {
		return exception.New(exception.ActionValidate, "Attempting to unlink authority, but no link found")
	}
	return m.s.Links.Remove(k)
}

// LinkTo returns the oldest link that requires an account's permission, nil if
// there is none.
func (m *Manager) LinkTo(l types.PermissionLevel) (*state.PermissionLink, error) {
	var oldest *state.PermissionLink
	from, to := state.LinkKey{Account: l.Actor}, state.LinkKey{Account: l.Actor + 1}
	err := m.s.Links.Scan(from, to, func(p *state.PermissionLink) (bool, error) {
		if p.Required == l.Permission && (oldest == nil || p.ID < oldest.ID) {
			oldest = p
		}
		return true, nil
	})
	return oldest, err
}
