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

// findAtOnce is how many permissions are found while the writer may have to wait.
const findAtOnce = 1 << 10

// find returns some of the permissions that are to be looked at for a hash: those after one, in order.
func (x *Index) find(after entry) (list []entry) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, run := range x.runs {
		i, there := slices.BinarySearchFunc(run, after, entry.compare)
		if there {
			i++
		}
		for most := i + findAtOnce; i < min(len(run), most) && run[i].hash == after.hash; i++ {
			list = append(list, run[i])
		}
	}
	slices.SortFunc(list, entry.compare)
	return list[:min(len(list), findAtOnce)]
}

// found is what an answer has, with the id of the permission.
type found struct {
	id uint64
	rpc.Authorized
}

// search is one question.
type search struct {
	x    *Index
	v    *state.View
	more func(matches int) error
}

// Accounts returns the permissions that name accounts or keys in a view, in the order
// of what they name, then of weights and of their ids, as nodeos has them. The index
// must have been told of the view's block.
//
// It tells more of each permission that it has read, with how much it adds to the answer; an error of more ends it.
func (x *Index) Accounts(
	v *state.View, levels []types.PermissionLevel, keys []types.PublicKey, more func(matches int) error,
) ([]rpc.Authorized, error) {
	levels, keys = slices.Clone(levels), slices.Clone(keys)
	slices.SortFunc(levels, types.PermissionLevel.Compare)
	slices.SortFunc(keys, types.PublicKey.Compare)
	s := search{x, v, more}
	list, err := s.byAccounts(nil, slices.Compact(levels))
	for _, k := range slices.Compact(keys) {
		if err == nil {
			list, err = s.byKey(list, k)
		}
	}
	return list, err
}

// byAccounts reads the permissions that name an account once, however many of its own are asked for.
func (s *search) byAccounts(list []rpc.Authorized, levels []types.PermissionLevel) ([]rpc.Authorized, error) {
	for len(levels) > 0 {
		actor, some := levels[0].Actor, 1
		for some < len(levels) && levels[some].Actor == actor {
			some++
		}
		asked := levels[:some]
		levels = levels[some:]
		matches, err := s.shares(maphash.Comparable(s.x.seed, actor), func(list []found, a *types.Authority) []found {
			for i := range a.Accounts {
				p := a.Accounts[i].Permission // of its own: the authority may be large
				if p.Actor == actor && asks(asked, p) {
					list = append(list, found{Authorized: rpc.Authorized{ByAccount: &p, Weight: a.Accounts[i].Weight}})
				}
			}
			return list
		})
		if err != nil {
			return nil, err
		}
		for _, l := range asked {
			i := 0
			if l.Permission != 0 {
				i, _ = slices.BinarySearchFunc(matches, l,
					func(f found, l types.PermissionLevel) int { return f.ByAccount.Compare(l) })
			}
			for ; i < len(matches) && (l.Permission == 0 || *matches[i].ByAccount == l); i++ {
				list = append(list, matches[i].Authorized)
			}
		}
	}
	return list, nil
}

// asks tells whether sorted levels of an actor have one of its permissions, or all.
func asks(levels []types.PermissionLevel, p types.PermissionLevel) bool {
	if levels[0].Permission == 0 {
		return true
	}
	_, ok := slices.BinarySearchFunc(levels, p, types.PermissionLevel.Compare)
	return ok
}

func (s *search) byKey(list []rpc.Authorized, k types.PublicKey) ([]rpc.Authorized, error) {
	matches, err := s.shares(maphash.Comparable(s.x.seed, k), func(list []found, a *types.Authority) []found {
		for i := range a.Keys {
			if a.Keys[i].Key == k {
				list = append(list, found{Authorized: rpc.Authorized{ByKey: &k, Weight: a.Keys[i].Weight}})
			}
		}
		return list
	})
	for i := range matches {
		list = append(list, matches[i].Authorized)
	}
	return list, err
}

// shares returns, sorted, what find appends for the authorities of the permissions
// that a hash leads to.
func (s *search) shares(hash uint64, find func([]found, *types.Authority) []found) (list []found, err error) {
	after := entry{hash: hash}
	for some := s.x.find(after); len(some) > 0; some = s.x.find(after) {
		for _, after = range some {
			p, err := s.v.Permissions.Get(state.PermissionKey{Owner: after.owner, Name: after.name})
			if err != nil {
				return nil, fmt.Errorf("read the permission %s@%s: %w", after.owner, after.name, err)
			}
			first := len(list)
			if p != nil {
				list = find(list, &p.Authority)
			}
			for i := first; i < len(list); i++ {
				m := &list[i]
				m.id, m.Account, m.Permission, m.Threshold = p.ID, p.Key.Owner, p.Key.Name, p.Authority.Threshold
			}
			if err := s.more(len(list) - first); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(list, func(a, b found) int {
		if a.ByAccount != nil && *a.ByAccount != *b.ByAccount {
			return a.ByAccount.Compare(*b.ByAccount)
		}
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.id, b.id))
	})
	return list, nil
}
