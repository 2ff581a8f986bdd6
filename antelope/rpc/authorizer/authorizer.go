// Package authorizer finds accounts by the keys and accounts that their permissions
// name (Leap: account_query_db.cpp). It keeps an index of all permissions in memory,
// and keeps it up to date with the blocks.
//
// It reads permissions from views and checks no authority.
package authorizer

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"tarn/antelope/consensus"
	"tarn/antelope/rpc"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// permission is one of the index.
type permission struct {
	state.PermissionKey
	authority types.Authority
}

// share is what an account or a key weighs in a permission.
type share struct {
	in     *permission
	weight uint16
}

// touched is the accounts whose permissions a block changed.
type touched struct {
	block    uint32
	accounts []types.Name
}

// Index finds permissions. One goroutine, the chain's writer, keeps it up to date;
// any goroutine may ask.
type Index struct {
	mu          sync.RWMutex
	permissions map[types.Name][]*permission // by owner
	byAccount   map[types.Name]map[types.PermissionLevel][]share
	byKey       map[types.PublicKey][]share

	// Only the writer's.
	traces  map[types.Checksum256][]types.Name // accounts that transactions changed
	onblock []types.Name
	recent  []touched // blocks that may be taken back
}

var _ rpc.Authorizers = (*Index)(nil)

// New makes the index of a view's permissions. The reversible blocks up to the view's
// are those that can still be taken back; what they changed is not known, so that the
// index is to be made anew if one of them is.
func New(v *state.View) (*Index, error) {
	x := &Index{permissions: map[types.Name][]*permission{}, byAccount: map[types.Name]map[types.PermissionLevel][]share{},
		byKey: map[types.PublicKey][]share{}, traces: map[types.Checksum256][]types.Name{}}
	return x, x.fill(v)
}

func (x *Index) fill(v *state.View) error {
	err := v.Permissions.Walk(state.PermissionKey{}, false, func(p *state.Permission) (bool, error) {
		x.add(p)
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("index the permissions: %w", err)
	}
	return nil
}

func (x *Index) add(s *state.Permission) {
	p := &permission{s.Key, s.Authority}
	x.permissions[p.Owner] = append(x.permissions[p.Owner], p)
	for _, a := range p.authority.Accounts {
		levels := x.byAccount[a.Permission.Actor]
		if levels == nil {
			levels = map[types.PermissionLevel][]share{}
			x.byAccount[a.Permission.Actor] = levels
		}
		levels[a.Permission] = append(levels[a.Permission], share{p, a.Weight})
	}
	for _, k := range p.authority.Keys {
		x.byKey[k.Key] = append(x.byKey[k.Key], share{p, k.Weight})
	}
}

// remove takes an account's permissions out.
func (x *Index) remove(owner types.Name) {
	without := func(list []share, p *permission) []share {
		return slices.DeleteFunc(list, func(s share) bool { return s.in == p })
	}
	for _, p := range x.permissions[owner] {
		for _, a := range p.authority.Accounts {
			levels := x.byAccount[a.Permission.Actor]
			if levels[a.Permission] = without(levels[a.Permission], p); len(levels[a.Permission]) == 0 {
				delete(levels, a.Permission)
			}
			if len(levels) == 0 {
				delete(x.byAccount, a.Permission.Actor)
			}
		}
		for _, k := range p.authority.Keys {
			if x.byKey[k.Key] = without(x.byKey[k.Key], p); len(x.byKey[k.Key]) == 0 {
				delete(x.byKey, k.Key)
			}
		}
	}
	delete(x.permissions, owner)
}

// Applied is called with each transaction that was executed.
func (x *Index) Applied(t *types.TransactionTrace) {
	if t.Receipt == nil || t.Receipt.Status != types.StatusExecuted && t.Receipt.Status != types.StatusSoftFail {
		return
	}
	changed := changes(t)
	if len(changed) == 0 {
		return
	}
	if a := &t.ActionTraces[0].Action; a.Account == types.N("eosio") && a.Name == types.N("onblock") {
		x.onblock = append(x.onblock, changed...)
		return
	}
	id := t.ID
	if t.FailedDeferred != nil {
		id = t.FailedDeferred.ID
	}
	x.traces[id] = changed
}

// changes returns the accounts whose permissions a transaction made, changed or
// deleted.
func changes(t *types.TransactionTrace) (list []types.Name) {
	eosio := types.N("eosio")
	for i := range t.ActionTraces {
		a := &t.ActionTraces[i]
		if a.Receiver != eosio || a.Action.Account != eosio {
			continue
		}
		switch a.Action.Name {
		case types.N("updateauth"):
			var d types.UpdateAuth
			if types.ReadAction(a.Action.Data, &d) == nil {
				list = append(list, d.Account)
			}
		case types.N("deleteauth"):
			var d types.DeleteAuth
			if types.ReadAction(a.Action.Data, &d) == nil {
				list = append(list, d.Account)
			}
		case types.N("newaccount"):
			var d types.NewAccount
			if types.ReadAction(a.Action.Data, &d) == nil {
				list = append(list, d.Name)
			}
		}
	}
	return list
}

// Accepted is called with each block that became the head, with a view of it and the
// number of the last irreversible block. What blocks changed that it replaces is read
// anew as well.
func (x *Index) Accepted(b *consensus.BlockState, v *state.View, irreversible uint32) error {
	own := touched{block: b.BlockNum, accounts: x.onblock}
	for i := range b.Block.Transactions {
		r := &b.Block.Transactions[i]
		id := r.ID
		if r.Packed != nil {
			raw, err := r.Packed.RawTransaction()
			if err != nil {
				return fmt.Errorf("index the permissions of block %d: %w", b.BlockNum, err)
			}
			id = types.Hash(raw)
		}
		own.accounts = append(own.accounts, x.traces[id]...)
	}
	x.onblock = nil
	clear(x.traces)
	again := own.accounts
	x.recent = slices.DeleteFunc(x.recent, func(r touched) bool {
		if r.block >= b.BlockNum {
			again = append(again, r.accounts...)
			return true
		}
		return r.block <= irreversible
	})
	if len(own.accounts) > 0 {
		x.recent = append(x.recent, own)
	}
	return x.read(v, again)
}

// read replaces what is known of accounts by what the view has.
func (x *Index) read(v *state.View, accounts []types.Name) error {
	if len(accounts) == 0 {
		return nil
	}
	accounts = slices.Clone(accounts)
	slices.Sort(accounts)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, n := range slices.Compact(accounts) {
		x.remove(n)
		err := v.Permissions.Walk(state.PermissionKey{Owner: n}, false, func(p *state.Permission) (bool, error) {
			if p.Key.Owner != n {
				return false, nil
			}
			x.add(p)
			return true, nil
		})
		if err != nil {
			return fmt.Errorf("index the permissions of %s: %w", n, err)
		}
	}
	return nil
}

// Accounts returns the permissions that name accounts or keys, in the order of what
// they name, then of weights and of their own names.
func (x *Index) Accounts(levels []types.PermissionLevel, keys []types.PublicKey) []rpc.Authorized {
	levels, keys = slices.Clone(levels), slices.Clone(keys)
	slices.SortFunc(levels, types.PermissionLevel.Compare)
	slices.SortFunc(keys, types.PublicKey.Compare)
	x.mu.RLock()
	defer x.mu.RUnlock()
	var list []rpc.Authorized
	for _, l := range slices.Compact(levels) {
		named := []types.PermissionLevel{l}
		if l.Permission == 0 { // all of the account's
			named = named[:0]
			for level := range x.byAccount[l.Actor] {
				named = append(named, level)
			}
			slices.SortFunc(named, types.PermissionLevel.Compare)
		}
		for _, level := range named {
			list = appendShares(list, x.byAccount[l.Actor][level], rpc.Authorized{ByAccount: &level})
		}
	}
	for _, k := range slices.Compact(keys) {
		list = appendShares(list, x.byKey[k], rpc.Authorized{ByKey: &k})
	}
	return list
}

func appendShares(list []rpc.Authorized, shares []share, by rpc.Authorized) []rpc.Authorized {
	first := len(list)
	for _, s := range shares {
		by.Account, by.Permission, by.Weight, by.Threshold = s.in.Owner, s.in.Name, s.weight, s.in.authority.Threshold
		list = append(list, by)
	}
	slices.SortFunc(list[first:], func(a, b rpc.Authorized) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Permission, b.Permission))
	})
	return list
}
