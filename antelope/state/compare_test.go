package state_test

import (
	"cmp"

	"tarn/antelope/state"
	"tarn/antelope/types"
)

// compare looks at every key that steps use.
func (m *model) compare() {
	m.t.Helper()
	for owner := range types.Name(6) {
		for name := range types.Name(6) {
			k := state.PermissionKey{Owner: owner << 4, Name: name << 4}
			got, err := m.s.Permissions.Get(k)
			m.must(err)
			compareRow(m, "permission", got, m.now.permissions, k)
		}
		got, err := m.s.Usages.Get(owner << 4)
		m.must(err)
		compareRow(m, "usage", got, m.now.usages, owner<<4)
		abi, err := m.s.ABI(owner << 4)
		m.must(err)
		m.same("ABI", string(abi), m.now.abis[owner<<4])
		code, err := m.s.CodeBytes(state.CodeKey{VMType: byte(owner << 4)})
		m.must(err)
		m.same("code", string(code), m.now.codes[state.CodeKey{VMType: byte(owner << 4)}])
		id, err := m.s.BlockSummary(uint16(owner))
		m.must(err)
		m.same("block summary", id, m.now.summaries[uint16(owner)])
	}
	for b := range byte(30) {
		id := types.Checksum256{31: b}
		has, err := m.s.HasTransaction(id)
		m.must(err)
		_, want := m.now.transactions[id]
		m.same("a transaction is there", has, want)
	}
	d, err := m.s.Dynamic.Get()
	m.must(err)
	m.same("action sequence", d.ActionSequence, m.now.sequence)
	head, err := m.s.Head()
	m.must(err)
	m.same("head", string(head), m.now.head)
	m.deferredOrders()
}

func compareRow[K comparable, V any](m *model, what string, got *V, all map[K]V, k K) {
	m.t.Helper()
	want, exists := all[k]
	m.same(what+" is there", got != nil, exists)
	if exists {
		m.same(what, *got, want)
	}
}

// compareView publishes the head block, and compares all of it as readers see it.
func (m *model) compareView() {
	m.t.Helper()
	m.must(m.db.store.Publish())
	v, err := m.s.View()
	m.must(err)
	defer func() { m.must(v.Close()) }()

	m.same("revision", v.Revision(), m.db.store.Head())
	m.same("permissions", byID(m, v.Permissions), sortValues(m.now.permissions, func(a, b state.Permission) int {
		return cmp.Compare(a.ID, b.ID)
	}))
	m.same("usages", byID(m, v.Usages), sortValues(m.now.usages, func(a, b state.ResourceUsage) int {
		return cmp.Compare(a.ID, b.ID)
	}))
	transactions, err := v.TransactionsByID()
	m.must(err)
	m.same("transactions", transactions, sortValues(m.now.transactions, func(a, b state.Transaction) int {
		return cmp.Compare(a.ID, b.ID)
	}))
	var deferred []state.Deferred
	m.must(v.DeferredByID(func(d *state.Deferred) error {
		deferred = append(deferred, *d)
		return nil
	}))
	m.same("generated transactions", deferred, sortValues(m.now.deferred, func(a, b state.Deferred) int {
		return cmp.Compare(a.ID, b.ID)
	}))
	one, err := v.Singletons()
	m.must(err)
	m.same("action sequence", one.Dynamic.ActionSequence, m.now.sequence)
	head, err := v.Head()
	m.must(err)
	m.same("head", string(head), m.now.head)
	for k, want := range m.now.rows {
		payer, value, found, err := v.Row(k)
		m.must(err)
		m.same("a row is there", found, true)
		m.same("row", row{payer, string(value)}, want)
	}
	for kind, index := range m.now.indices {
		for k, want := range index {
			got, found, err := v.IndexRow(state.Kind(kind), k)
			m.must(err)
			m.same("an index row is there", found, true)
			m.same("index row", got, want)
		}
	}
	var got, want []state.Permission
	m.must(v.Permissions.Scan(state.PermissionKey{Owner: 32}, func(p *state.Permission) (bool, error) {
		got = append(got, *p)
		return true, nil
	}))
	for k, p := range m.now.permissions {
		if k.Owner >= 32 {
			want = append(want, p)
		}
	}
	inOrder := func(a, b state.Permission) int {
		return cmp.Or(cmp.Compare(a.Key.Owner, b.Key.Owner), cmp.Compare(a.Key.Name, b.Key.Name))
	}
	m.same("permissions in the order of keys", got, sortValues(byPosition(want), inOrder))
}

func byPosition[V any](list []V) map[int]V {
	all := map[int]V{}
	for i, v := range list {
		all[i] = v
	}
	return all
}

func byID[K comparable, V any](m *model, t state.Table[K, V]) (all []V) {
	m.t.Helper()
	m.must(t.EachByID(func(v *V) error {
		all = append(all, *v)
		return nil
	}))
	return all
}
