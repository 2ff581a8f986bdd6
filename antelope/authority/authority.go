// Package authority decides whether a transaction's keys, permissions and delay are
// enough for what its actions declare, and keeps the permissions and links that say
// what is enough (Leap: authorization_manager.cpp, authority_checker.hpp).
//
// It recovers no keys, bills no RAM and validates no action but the five that are
// about permissions themselves. It never undoes: where a method that changes
// something fails, the session around it must be undone.
package authority

import (
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// The names with a meaning of their own (Leap: config.hpp).
var (
	system = types.N("eosio")
	owner  = types.N("owner")
	active = types.N("active")
	code   = types.N("eosio.code")
	anyone = types.N("eosio.any")
)

// What rows of this package are billed for, in bytes (Leap: permission_object.hpp,
// permission_link_object.hpp). The lists of an authority come on top.
const (
	PermissionRAM = 288
	LinkRAM       = 144
)

// BillableSize returns the RAM that a permission with this authority is billed for.
func BillableSize(a *types.Authority) int64 { return PermissionRAM + a.BillableSize() }

// Options are what a Manager asks of the chain.
type Options struct {
	// LinkRestrictionFixed tells whether FIX_LINKAUTH_RESTRICTION is active; nil
	// for never.
	LinkRestrictionFixed func() bool
}

// Manager reads and changes the permissions of a State. Like the State it is for
// one goroutine at a time.
type Manager struct {
	s *state.State
	o Options

	checker Checker // reused
	due     []due
}

// New returns a Manager of s.
func New(s *state.State, o Options) *Manager {
	m := &Manager{s: s, o: o}
	m.checker.find = m.authority
	return m
}

func keyOf(l types.PermissionLevel) state.PermissionKey {
	return state.PermissionKey{Owner: l.Actor, Name: l.Permission}
}

func levelOf(p *state.Permission) types.PermissionLevel {
	return types.PermissionLevel{Actor: p.Key.Owner, Permission: p.Key.Name}
}

// Find returns a permission, nil if there is none.
func (m *Manager) Find(l types.PermissionLevel) (*state.Permission, error) {
	if err := checkName(l); err != nil {
		return nil, err
	}
	return m.s.Permissions.Get(keyOf(l))
}

// checkName fails for what cannot name a permission.
func checkName(l types.PermissionLevel) error {
	if l.Actor == 0 || l.Permission == 0 {
		return exception.New(exception.InvalidPermission, "Invalid permission").
			With("Failed to retrieve permission: ${level}", "level", l)
	}
	return nil
}

// Get returns a permission, or a permission_query_exception if there is none.
func (m *Manager) Get(l types.PermissionLevel) (*state.Permission, error) {
	p, err := m.Find(l)
	if err == nil && p == nil {
		err = missing(l)
	}
	return p, err
}

func missing(l types.PermissionLevel) error {
	const key = "unknown key (boost::tuples::tuple<eosio::chain::name, eosio::chain::name, boost::tuples::null_type, " +
		"boost::tuples::null_type, " +
		"boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, " +
		"boost::tuples::null_type, boost::tuples::null_type>): ("
	return exception.Recast(exception.PermissionQuery, key+l.Actor.String()+" "+l.Permission.String()+")",
		"Failed to retrieve permission: ${level}", "level", l)
}

// authority is what the checker asks.
func (m *Manager) authority(l types.PermissionLevel) (*types.Authority, error) {
	p, err := m.Find(l)
	if err != nil || p == nil {
		return nil, err
	}
	return &p.Authority, nil
}

func (m *Manager) checkKeyTypes(a *types.Authority, doing string) error {
	if len(a.Keys) == 0 {
		return nil
	}
	p, err := m.s.Protocol.Get()
	if err != nil {
		return err
	}
	for i := range a.Keys {
		if uint32(a.Keys[i].Key.Type) >= p.KeyTypes {
			return exception.New(exception.UnactivatedKeyType, "Unactivated key type used when "+doing+" permission")
		}
	}
	return nil
}

// Reserve makes the first permission of a chain, which belongs to nobody.
func (m *Manager) Reserve() error {
	_, err := m.s.Permissions.Create(state.PermissionKey{}, state.Permission{})
	return err
}

// CreatePermission makes a permission, which must not exist. parent is a permission
// of the same owner, empty for none. It takes over the authority's lists.
func (m *Manager) CreatePermission(
	owner, name, parent types.Name, a types.Authority, created types.TimePoint,
) (*state.Permission, error) {
	if err := m.checkKeyTypes(&a, "creating"); err != nil {
		return nil, err
	}
	k := state.PermissionKey{Owner: owner, Name: name}
	return m.s.Permissions.Create(k, state.Permission{Key: k, Parent: parent, LastUpdated: created, LastUsed: created,
		Authority: a})
}

// ModifyPermission replaces a permission's authority, whose lists it takes over.
func (m *Manager) ModifyPermission(l types.PermissionLevel, a types.Authority, now types.TimePoint) error {
	if err := m.checkKeyTypes(&a, "modifying"); err != nil {
		return err
	}
	p, err := m.edit(l)
	if err != nil {
		return err
	}
	p.Authority, p.LastUpdated = a, now
	return nil
}

func (m *Manager) edit(l types.PermissionLevel) (*state.Permission, error) {
	if _, err := m.Get(l); err != nil {
		return nil, err
	}
	return m.s.Permissions.Edit(keyOf(l))
}

// RemovePermission deletes a permission, which must be nobody's parent.
func (m *Manager) RemovePermission(l types.PermissionLevel) error {
	if _, err := m.Get(l); err != nil {
		return err
	}
	children := false
	from, to := state.PermissionKey{Owner: l.Actor}, state.PermissionKey{Owner: l.Actor + 1}
	err := m.s.Permissions.Scan(from, to, func(p *state.Permission) (bool, error) {
		children = p.Parent == l.Permission
		return !children, nil
	})
	if err != nil {
		return err
	}
	if children {
		return exception.New(exception.ActionValidate,
			"Cannot remove a permission which has children. Remove the children first.")
	}
	return m.s.Permissions.Remove(keyOf(l))
}

// UpdateUsage records when a permission was used last.
func (m *Manager) UpdateUsage(l types.PermissionLevel, now types.TimePoint) error {
	if _, err := m.Get(l); err != nil {
		return err
	}
	p, err := m.s.Permissions.EditUnnoted(keyOf(l)) // permission_usage_object there
	if err != nil {
		return err
	}
	p.LastUsed = now
	return nil
}

// LastUsed returns when a permission was used last.
func (m *Manager) LastUsed(l types.PermissionLevel) (types.TimePoint, error) {
	p, err := m.Get(l)
	if err != nil {
		return 0, err
	}
	return p.LastUsed, nil
}

// Satisfies tells whether p is other or one of its ancestors.
func (m *Manager) Satisfies(p, other *state.Permission) (bool, error) {
	if p.Key == other.Key {
		return true, nil
	}
	if p.Key.Owner != other.Key.Owner {
		return false, nil
	}
	for name := other.Parent; name != 0; {
		if name == p.Key.Name {
			return true, nil
		}
		parent, err := m.Get(types.PermissionLevel{Actor: p.Key.Owner, Permission: name})
		if err != nil {
			return false, err
		}
		name = parent.Parent
	}
	return false, nil
}

// NameInUse tells whether any account has a permission of this name; own is the
// account that is looked at first. It may read all permissions.
func (m *Manager) NameInUse(name, own types.Name) (bool, error) {
	if p, err := m.s.Permissions.Get(state.PermissionKey{Owner: own, Name: name}); err != nil || p != nil {
		return p != nil, err
	}
	found := false
	to := state.PermissionKey{Owner: ^types.Name(0), Name: ^types.Name(0)}
	err := m.s.Permissions.Scan(state.PermissionKey{}, to, func(p *state.Permission) (bool, error) {
		found = p.Key.Name == name
		return !found, nil
	})
	return found, err
}
