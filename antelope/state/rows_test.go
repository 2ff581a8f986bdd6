package state_test

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"tarn/antelope/state"
	"tarn/antelope/types"
)

// The steps of the model about generated transactions, transactions, and the rows
// of contracts.

func sortValues[K comparable, V any](of map[K]V, less func(a, b V) int) []V {
	var all []V
	for _, v := range of {
		all = append(all, v)
	}
	slices.SortFunc(all, less)
	return all
}

func (m *model) generate() {
	k := state.DeferredKey{Sender: m.name(), SenderID: types.Uint128{Lo: m.rng.Uint64N(3), Hi: m.rng.Uint64N(2)}}
	want, exists := m.now.deferred[k]
	got, err := m.s.Deferred(k)
	m.must(err)
	m.same("a generated transaction is there", got != nil, exists)
	if exists {
		m.same("generated transaction", *got, want)
		byID, err := m.s.DeferredByTrxID(want.TrxID)
		m.must(err)
		m.same("generated transaction by its id", byID, got)
		m.must(m.s.RemoveDeferred(got))
		delete(m.now.deferred, k)
		gone, err := m.s.DeferredByTrxID(want.TrxID)
		m.must(err)
		m.same("removed transaction", gone, (*state.Deferred)(nil))
	}
	if !exists || m.rng.IntN(2) == 0 {
		d := state.Deferred{
			Sender: k.Sender, SenderID: k.SenderID, Payer: m.name(), Packed: []byte{byte(m.rng.Uint32())},
			DelayUntil: types.TimePoint(m.rng.IntN(5) - 2),
			Expiration: types.TimePoint(m.rng.IntN(5) - 2), Published: 3,
		}
		for i := range d.TrxID {
			d.TrxID[i] = byte(m.rng.Uint32())
		}
		m.must(m.s.CreateDeferred(&d))
		m.same("id of a generated transaction", d.ID, m.now.id(2))
		m.now.deferred[k] = d
	}
	m.deferredOrders()
}

func (m *model) deferredOrders() {
	byDelay := func(a, b state.Deferred) int {
		return cmp.Or(cmp.Compare(a.DelayUntil, b.DelayUntil), cmp.Compare(a.ID, b.ID))
	}
	byExpiration := func(a, b state.Deferred) int {
		return cmp.Or(cmp.Compare(a.Expiration, b.Expiration), cmp.Compare(a.ID, b.ID))
	}
	var all []state.Deferred
	collect := func(d *state.Deferred) (bool, error) {
		all = append(all, *d)
		return true, nil
	}
	m.must(m.s.DeferredByDelay(collect))
	m.same("by delay", all, sortValues(m.now.deferred, byDelay))
	all = nil
	m.must(m.s.DeferredByExpiration(collect))
	m.same("by expiration", all, sortValues(m.now.deferred, byExpiration))
}

func (m *model) transaction() {
	id := types.Checksum256{31: byte(m.rng.UintN(30))}
	if m.rng.IntN(6) == 0 {
		before, n := types.TimePointSec(m.rng.UintN(12)), 0
		for id, t := range m.now.transactions {
			if t.Expiration < before {
				delete(m.now.transactions, id)
				n++
			}
		}
		got, err := m.s.ForgetTransactions(before)
		m.must(err)
		m.same("forgotten transactions", got, n)
	}
	_, exists := m.now.transactions[id]
	has, err := m.s.HasTransaction(id)
	m.must(err)
	m.same("a transaction is there", has, exists)
	expiration := types.TimePointSec(m.rng.UintN(12))
	fresh, err := m.s.RecordTransaction(id, expiration)
	m.must(err)
	m.same("a transaction is new", fresh, !exists)
	if fresh {
		m.now.transactions[id] = state.Transaction{ID: m.now.id(3), Expiration: expiration, TrxID: id}
	}
}

func (m *model) table() state.TableKey {
	return state.TableKey{Code: 1, Scope: types.Name(m.rng.Uint64N(2)), Table: types.Name(m.rng.Uint64N(2))}
}

// primary returns a primary key: few, and the ends of the range among them.
func (m *model) primary() uint64 {
	return []uint64{0, 1, 2, 255, 256, math.MaxUint64 - 1, math.MaxUint64}[m.rng.IntN(7)]
}

func (m *model) contractRow() {
	k := state.RowKey{TableKey: m.table(), Primary: m.primary()}
	want, exists := m.now.rows[k]
	payer, value, found, err := m.s.Row(k)
	m.must(err)
	m.same("a row is there", found, exists)
	m.same("row", row{payer, string(value)}, want)
	if exists && m.rng.IntN(2) == 0 {
		m.must(m.s.DeleteRow(k))
		delete(m.now.rows, k)
	} else {
		want = row{m.name(), string(make([]byte, m.rng.IntN(3)*m.rng.IntN(3000)))}
		m.must(m.s.PutRow(k, want.payer, []byte(want.value)))
		m.now.rows[k] = want
	}
	m.walk(k)
}

// walk moves from k, which may or may not exist, in both directions.
func (m *model) walk(k state.RowKey) {
	var keys []uint64
	for o := range m.now.rows {
		if o.TableKey == k.TableKey {
			keys = append(keys, o.Primary)
		}
	}
	slices.Sort(keys)
	first := func(keep func(uint64) bool) (uint64, bool) {
		if i := slices.IndexFunc(keys, keep); i >= 0 {
			return keys[i], true
		}
		return 0, false
	}
	moves := []struct {
		name string
		run  func() (uint64, bool, error)
		want func() (uint64, bool)
	}{
		{"lower", func() (uint64, bool, error) { return m.s.LowerRow(k) }, func() (uint64, bool) {
			return first(func(p uint64) bool { return p >= k.Primary })
		}},
		{"next", func() (uint64, bool, error) { return m.s.NextRow(k) }, func() (uint64, bool) {
			return first(func(p uint64) bool { return p > k.Primary })
		}},
		{"previous", func() (uint64, bool, error) { return m.s.PreviousRow(k) }, func() (uint64, bool) {
			slices.Reverse(keys)
			defer slices.Reverse(keys)
			return first(func(p uint64) bool { return p < k.Primary })
		}},
		{"last", func() (uint64, bool, error) { return m.s.LastRow(k.TableKey) }, func() (uint64, bool) {
			if len(keys) == 0 {
				return 0, false
			}
			return keys[len(keys)-1], true
		}},
	}
	for range 3 {
		mv := moves[m.rng.IntN(len(moves))]
		got, found, err := mv.run()
		m.must(err)
		want, there := mv.want()
		m.same(mv.name+" row is there", found, there)
		if there {
			m.same(mv.name+" row", got, want)
			k.Primary = got
		}
	}
}

// secondary returns keys of a kind that are likely to be equal, or next to each
// other, or equal in the order and not in their bits.
func (m *model) secondary(kind state.Kind) (k state.SecondaryKey) {
	switch kind {
	case state.IndexDouble:
		v := []float64{0, math.Copysign(0, -1), 1, -1, 1.5, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64,
			-math.SmallestNonzeroFloat64, -1e300}
		k.Words[0] = math.Float64bits(v[m.rng.IntN(len(v))])
	case state.IndexLongDouble:
		v := [][2]uint64{{0, 0}, {0, 1 << 63}, {1, 0}, {1, 1 << 63}, {0, 0x3fff << 48}, {0, 0xbfff << 48},
			{1, 0xbfff << 48}, {0, 0x7fff << 48}, {0, 0xffff << 48}}
		w := v[m.rng.IntN(len(v))]
		k.Words[0], k.Words[1] = w[0], w[1]
	default:
		for i := range kind.Size() / 8 {
			k.Words[i] = m.rng.Uint64N(2) << (63 * m.rng.Uint64N(2))
		}
	}
	return k
}

// compareSecondary is the order of nodeos, written from what it means.
func compareSecondary(kind state.Kind, a, b state.SecondaryKey) int {
	switch kind {
	case state.IndexDouble:
		return cmp.Compare(math.Float64frombits(a.Words[0]), math.Float64frombits(b.Words[0]))
	case state.IndexLongDouble:
		return compareQuad(a, b)
	}
	w := [][]int{{0}, {1, 0}, {1, 0, 3, 2}}[kind]
	for _, i := range w {
		if c := cmp.Compare(a.Words[i], b.Words[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compareQuad compares sign and magnitude, of numbers that are not NaN.
func compareQuad(a, b state.SecondaryKey) int {
	magnitude := func(k state.SecondaryKey) types.Uint128 {
		return types.Uint128{Lo: k.Words[0], Hi: k.Words[1] &^ (1 << 63)}
	}
	signed := func(k state.SecondaryKey) int {
		if magnitude(k).IsZero() {
			return 0
		}
		return 1 - 2*int(bits.RotateLeft64(k.Words[1], 1)&1)
	}
	if c := cmp.Compare(signed(a), signed(b)); c != 0 {
		return c
	}
	return signed(a) * magnitude(a).Compare(magnitude(b))
}

func (m *model) indexRow() {
	kind := state.Kind(m.rng.IntN(5))
	k := state.RowKey{TableKey: m.table(), Primary: m.primary()}
	index := m.now.indices[kind]
	want, exists := index[k]
	got, found, err := m.s.IndexRow(kind, k)
	m.must(err)
	m.same("an index row is there", found, exists)
	m.same("index row", got, want)
	r := state.IndexRow{Primary: k.Primary, Payer: m.name(), Secondary: m.secondary(kind)}
	switch {
	case !exists:
		m.must(m.s.PutIndexRow(kind, k.TableKey, r))
		index[k] = r
	case m.rng.IntN(2) == 0:
		m.must(m.s.DeleteIndexRow(kind, k.TableKey, want))
		delete(index, k)
	default:
		m.must(m.s.UpdateIndexRow(kind, k.TableKey, want, r))
		index[k] = r
	}
	m.walkSecondary(kind, k)
	m.walkPrimary(kind, k)
}

func (m *model) ofTable(kind state.Kind, t state.TableKey, less func(a, b state.IndexRow) int) []state.IndexRow {
	rows := map[uint64]state.IndexRow{}
	for k, r := range m.now.indices[kind] {
		if k.TableKey == t {
			rows[k.Primary] = r
		}
	}
	return sortValues(rows, less)
}

func (m *model) walkSecondary(kind state.Kind, k state.RowKey) {
	order := func(a, b state.IndexRow) int {
		return cmp.Or(compareSecondary(kind, a.Secondary, b.Secondary), cmp.Compare(a.Primary, b.Primary))
	}
	all := m.ofTable(kind, k.TableKey, order)
	at := state.IndexRow{Primary: m.primary(), Secondary: m.secondary(kind)}
	if len(all) > 0 && m.rng.IntN(2) == 0 {
		at = all[m.rng.IntN(len(all))]
	}
	t, s, p := k.TableKey, at.Secondary, at.Primary
	for range 3 {
		switch m.rng.IntN(4) {
		case 0:
			got, found, err := m.s.LowerSecondary(kind, t, s, p)
			m.checkFound("lower", got, found, err, all, func(r state.IndexRow) bool { return order(r, at) >= 0 })
		case 1:
			got, found, err := m.s.NextSecondary(kind, t, s, p)
			m.checkFound("next", got, found, err, all, func(r state.IndexRow) bool { return order(r, at) > 0 })
		case 2:
			got, found, err := m.s.PreviousSecondary(kind, t, s, p)
			m.checkFound("previous", got, found, err, backwards(all),
				func(r state.IndexRow) bool { return order(r, at) < 0 })
		case 3:
			got, found, err := m.s.LastSecondary(kind, t)
			m.checkFound("last", got, found, err, backwards(all), func(state.IndexRow) bool { return true })
		}
	}
}

func (m *model) walkPrimary(kind state.Kind, k state.RowKey) {
	all := m.ofTable(kind, k.TableKey, func(a, b state.IndexRow) int { return cmp.Compare(a.Primary, b.Primary) })
	got, found, err := m.s.LowerIndexRow(kind, k)
	m.checkFound("lower", got, found, err, all, func(r state.IndexRow) bool { return r.Primary >= k.Primary })
}

func backwards(rows []state.IndexRow) []state.IndexRow {
	rows = slices.Clone(rows)
	slices.Reverse(rows)
	return rows
}

// checkFound compares with the first of rows that is wanted.
func (m *model) checkFound(
	move string, got state.IndexRow, found bool, err error, rows []state.IndexRow, wanted func(state.IndexRow) bool,
) {
	m.t.Helper()
	m.must(err)
	i := slices.IndexFunc(rows, wanted)
	m.same(move+" index row is there", found, i >= 0)
	if found {
		m.same(move+" index row", got, rows[i])
	}
}
