// Package accountquery finds accounts by the keys and accounts that their permissions
// name (Leap: account_query_db.cpp).
//
// It keeps in memory which permissions to look at for a key or an account: 24 bytes
// for each pair of the two, whatever the chain's size, and nothing that the garbage
// collector follows. What it answers is read from a view, so that what it keeps may
// name too much: permissions that were changed since, or by blocks that were taken
// back. It must not name too little, which is why it forgets nothing; the next start
// makes it anew.
//
// It checks no authority.
package accountquery

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"tarn/antelope/consensus"
	"tarn/antelope/rpc"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// entry says that a permission names, or has named, what the hash is of: a key, or
// an account with any of its permissions.
type entry struct {
	hash        uint64
	owner, name types.Name
}

func (e entry) compare(o entry) int {
	return cmp.Or(cmp.Compare(e.hash, o.hash), cmp.Compare(e.owner, o.owner), cmp.Compare(e.name, o.name))
}

// maxRecent is how many entries are kept where adding one moves others.
const maxRecent = 1 << 12

// Index finds permissions. One goroutine, the chain's writer, keeps it up to date;
// any goroutine may ask.
type Index struct {
	seed maphash.Seed // nobody outside can make two keys look alike

	mu sync.RWMutex
	// Each is sorted, and at least twice as long as the next, so that there are few of
	// them and each entry is moved seldom. The last takes what is new.
	runs [][]entry

	producers []types.Name // of the schedule that was active last; the writer's
}

var _ rpc.Authorizers = (*Index)(nil)

// New makes the index of a view's permissions: it reads all of them.
func New(v *state.View) (*Index, error) {
	x := &Index{seed: maphash.MakeSeed()}
	var all []entry
	err := v.Permissions.Scan(state.PermissionKey{}, func(p *state.Permission) (bool, error) {
		all = x.appendEntries(all, p.Key, &p.Authority)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("index the permissions: %w", err)
	}
	slices.SortFunc(all, entry.compare)
	x.runs = [][]entry{slices.Compact(all), nil}
	return x, nil
}

// appendEntries appends what a permission is found by.
func (x *Index) appendEntries(list []entry, k state.PermissionKey, a *types.Authority) []entry {
	for i := range a.Accounts {
		list = append(list, entry{maphash.Comparable(x.seed, a.Accounts[i].Permission.Actor), k.Owner, k.Name})
	}
	for i := range a.Keys {
		list = append(list, entry{maphash.Comparable(x.seed, a.Keys[i].Key), k.Owner, k.Name})
	}
	return list
}

// Applied is called with each transaction that was executed, in a block or not.
func (x *Index) Applied(t *types.TransactionTrace) {
	if t.Receipt == nil || t.Receipt.Status != types.StatusExecuted && t.Receipt.Status != types.StatusSoftFail {
		return
	}
	var list []entry
	eosio := types.N("eosio")
	for i := range t.ActionTraces {
		if a := &t.ActionTraces[i]; a.Receiver == eosio && a.Action.Account == eosio {
			list = x.appendAction(list, &a.Action)
		}
	}
	x.add(list)
}

// appendAction appends the entries of the permissions that an action made or
// changed.
func (x *Index) appendAction(list []entry, a *types.Action) []entry {
	switch a.Name {
	case types.N("updateauth"):
		var d types.UpdateAuth
		if types.ReadAction(a.Data, &d) == nil {
			list = x.appendEntries(list, state.PermissionKey{Owner: d.Account, Name: d.Permission}, &d.Authority)
		}
	case types.N("newaccount"):
		var d types.NewAccount
		if types.ReadAction(a.Data, &d) == nil {
			list = x.appendEntries(list, state.PermissionKey{Owner: d.Name, Name: types.N("owner")}, &d.Owner)
			list = x.appendEntries(list, state.PermissionKey{Owner: d.Name, Name: types.N("active")}, &d.Active)
		}
	}
	return list
}

// Accepted is called with each block that became the head. A schedule that it made
// active changes permissions without an action.
func (x *Index) Accepted(b *consensus.BlockState) {
	active := b.ActiveSchedule.Producers
	if slices.EqualFunc(active, x.producers,
		func(p types.ProducerAuthority, n types.Name) bool { return p.Producer == n }) {
		return
	}
	x.producers = x.producers[:0]
	var list []entry
	for i := range active {
		x.producers = append(x.producers, active[i].Producer)
		hash := maphash.Comparable(x.seed, active[i].Producer)
		for _, name := range []string{"active", "prod.major", "prod.minor"} {
			list = append(list, entry{hash, types.N("eosio.prods"), types.N(name)})
		}
	}
	x.add(list)
}

// add adds the entries that are not there.
func (x *Index) add(list []entry) {
	if len(list) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range list {
		if !slices.ContainsFunc(x.runs, func(run []entry) bool {
			_, found := slices.BinarySearchFunc(run, e, entry.compare)
			return found
		}) {
			x.insert(e)
		}
	}
}

// insert adds an entry to the last run. One that is full is merged with those before
// it that are not much longer.
func (x *Index) insert(e entry) {
	last := len(x.runs) - 1
	at, _ := slices.BinarySearchFunc(x.runs[last], e, entry.compare)
	x.runs[last] = slices.Insert(x.runs[last], at, e)
	if len(x.runs[last]) < maxRecent {
		return
	}
	for last > 0 && len(x.runs[last-1]) < 2*len(x.runs[last]) {
		x.runs[last-1] = merge(x.runs[last-1], x.runs[last])
		last--
	}
	x.runs = append(x.runs[:last+1], nil)
}

func merge(a, b []entry) []entry {
	out := make([]entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].compare(b[0]) < 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// find returns the permissions that are to be looked at for a hash.
func (x *Index) find(hash uint64) (list []state.PermissionKey) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, run := range x.runs {
		i, _ := slices.BinarySearchFunc(run, hash, func(e entry, h uint64) int { return cmp.Compare(e.hash, h) })
		for ; i < len(run) && run[i].hash == hash; i++ {
			list = append(list, state.PermissionKey{Owner: run[i].owner, Name: run[i].name})
		}
	}
	return list
}

// Accounts returns the permissions that name accounts or keys in a view, in the order
// of what they name, then of weights and of their ids, as nodeos has them. The index
// must have been told of the view's block.
func (x *Index) Accounts(
	v *state.View, levels []types.PermissionLevel, keys []types.PublicKey,
) ([]rpc.Authorized, error) {
	levels, keys = slices.Clone(levels), slices.Clone(keys)
	slices.SortFunc(levels, types.PermissionLevel.Compare)
	slices.SortFunc(keys, types.PublicKey.Compare)
	var list []rpc.Authorized
	for _, l := range slices.Compact(levels) {
		found, err := x.byAccount(v, l)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	for _, k := range slices.Compact(keys) {
		found, err := x.byKey(v, k)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

func (x *Index) byAccount(v *state.View, l types.PermissionLevel) ([]rpc.Authorized, error) {
	return x.shares(v, maphash.Comparable(x.seed, l.Actor), func(list []rpc.Authorized,
		a *types.Authority) []rpc.Authorized {
		for i := range a.Accounts {
			if p := &a.Accounts[i].Permission; p.Actor == l.Actor &&
				(l.Permission == 0 || p.Permission == l.Permission) {
				list = append(list, rpc.Authorized{ByAccount: p, Weight: a.Accounts[i].Weight})
			}
		}
		return list
	})
}

func (x *Index) byKey(v *state.View, k types.PublicKey) ([]rpc.Authorized, error) {
	return x.shares(v, maphash.Comparable(x.seed, k), func(list []rpc.Authorized, a *types.Authority) []rpc.Authorized {
		for i := range a.Keys {
			if a.Keys[i].Key == k {
				list = append(list, rpc.Authorized{ByKey: &k, Weight: a.Keys[i].Weight})
			}
		}
		return list
	})
}

// shares returns, sorted, what find appends for the authorities of the permissions
// that a hash leads to.
func (x *Index) shares(
	v *state.View, hash uint64, find func([]rpc.Authorized, *types.Authority) []rpc.Authorized,
) ([]rpc.Authorized, error) {
	var permissions []*state.Permission
	for _, k := range x.find(hash) {
		p, err := v.Permissions.Get(k)
		if err != nil {
			return nil, fmt.Errorf("read the permission %s@%s: %w", k.Owner, k.Name, err)
		}
		if p != nil {
			permissions = append(permissions, p)
		}
	}
	slices.SortFunc(permissions, func(a, b *state.Permission) int { return cmp.Compare(a.ID, b.ID) })
	var list []rpc.Authorized
	for _, p := range permissions {
		first := len(list)
		list = find(list, &p.Authority)
		for i := first; i < len(list); i++ {
			list[i].Account, list[i].Permission, list[i].Threshold = p.Key.Owner, p.Key.Name, p.Authority.Threshold
		}
	}
	slices.SortStableFunc(list, func(a, b rpc.Authorized) int {
		if a.ByAccount != nil && *a.ByAccount != *b.ByAccount {
			return a.ByAccount.Compare(*b.ByAccount)
		}
		return cmp.Compare(a.Weight, b.Weight)
	})
	return list, nil
}
