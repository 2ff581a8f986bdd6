package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/types"
	"tarn/store"
)

// Kind is a kind of secondary index.
type Kind uint8

// The kinds, in the order in which snapshots have them.
const (
	Index64 Kind = iota
	Index128
	Index256
	IndexDouble
	IndexLongDouble

	Kinds = 5 // how many kinds there are
)

// Size returns the length of a key in bytes.
func (k Kind) Size() int { return [Kinds]int{8, 16, 32, 8, 16}[k] }

func (k Kind) String() string {
	return [Kinds]string{"index64", "index128", "index256", "index_double", "index_long_double"}[k]
}

// SecondaryKey is a key of any kind, by its bits: little-endian 64-bit words, as
// on the wire. For Index256 these are two 128-bit integers.
type SecondaryKey struct {
	Words [4]uint64
}

// Append appends the key as snapshots have it.
func (k SecondaryKey) Append(b []byte, kind Kind) []byte {
	for i := range kind.Size() / 8 {
		b = binary.LittleEndian.AppendUint64(b, k.Words[i])
	}
	return b
}

func parseSecondary(b []byte, kind Kind) (k SecondaryKey) {
	for i := range kind.Size() / 8 {
		k.Words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return k
}

// sortable appends the key so that bytes sort as nodeos' index does. The two zeros
// of a floating-point kind are one key.
func (k SecondaryKey) sortable(b []byte, kind Kind) []byte {
	hi, lo := k.Words[1], k.Words[0]
	switch kind {
	case Index64:
		return binary.BigEndian.AppendUint64(b, lo)
	case Index128:
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, hi), lo)
	case Index256:
		for _, w := range [...]uint64{k.Words[1], k.Words[0], k.Words[3], k.Words[2]} {
			b = binary.BigEndian.AppendUint64(b, w)
		}
		return b
	case IndexDouble:
		if lo<<1 == 0 {
			lo = 0
		}
		if lo>>63 != 0 {
			lo = ^lo
		} else {
			lo |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(b, lo)
	default:
		if hi<<1 == 0 && lo == 0 {
			hi = 0
		}
		if hi>>63 != 0 {
			hi, lo = ^hi, ^lo
		} else {
			hi |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, hi), lo)
	}
}

// secondaryTables are the two orders of an index: by primary key, with the payer
// and the bits of the secondary key; by secondary key, with the same value.
type secondaryTables struct {
	byPrimary, bySecondary store.Table
}

// IndexRow is a row of a secondary index.
type IndexRow struct {
	Primary   uint64
	Payer     types.Name
	Secondary SecondaryKey
}

// slots of the walkers
func bySecondarySlot(kind Kind) int { return 1 + 2*int(kind) }
func byPrimarySlot(kind Kind) int   { return 2 + 2*int(kind) }

const secondaryKeyMax = 24 + 32 + 8

func secondaryKey(b []byte, kind Kind, t TableKey, s SecondaryKey, primary uint64) []byte {
	return binary.BigEndian.AppendUint64(s.sortable(tableKey(b, t), kind), primary)
}

func indexValue(b []byte, kind Kind, payer types.Name, s SecondaryKey) []byte {
	return s.Append(binary.LittleEndian.AppendUint64(b, uint64(payer)), kind)
}

func parseIndexValue(v []byte, kind Kind, r *IndexRow) error {
	if len(v) != 8+kind.Size() {
		return fmt.Errorf("row of %s of %d bytes: %w", kind, len(v), store.ErrCorrupt)
	}
	r.Payer = types.Name(binary.LittleEndian.Uint64(v))
	r.Secondary = parseSecondary(v[8:], kind)
	return nil
}

// indexAt returns the row of table t that the walker stands on, if any.
func indexAt(w *walker, ok bool, err error, kind Kind, t TableKey) (r IndexRow, found bool, _ error) {
	if err != nil || !ok {
		return r, false, err
	}
	k := w.c.Key()
	if parseTableKey(k) != t {
		return r, false, nil
	}
	r.Primary = binary.BigEndian.Uint64(k[len(k)-8:])
	err = parseIndexValue(w.c.Value(), kind, &r)
	return r, err == nil, errors.Join(err, w.c.Err())
}

// IndexRow returns the index' row of a primary key.
func (c *contract) IndexRow(kind Kind, k RowKey) (r IndexRow, found bool, err error) {
	var buf [rowKeyLen]byte
	v, err := c.src.Get(c.t.secondary[kind].byPrimary, rowKey(buf[:0], k))
	if errors.Is(err, store.ErrNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r.Primary = k.Primary
	err = parseIndexValue(v, kind, &r)
	return r, err == nil, err
}

// The moves by primary key, in the order of byPrimary.

// LowerIndexRow returns the first row at or after k by primary key.
func (c *contract) LowerIndexRow(kind Kind, k RowKey) (r IndexRow, found bool, err error) {
	w, err := c.walker(byPrimarySlot(kind), c.t.secondary[kind].byPrimary)
	if err != nil {
		return r, false, err
	}
	ok, err := w.seek(rowKey(nil, k))
	return indexAt(w, ok, err, kind, k.TableKey)
}

// The moves by secondary key.

// LowerSecondary returns the first row at or after (s, primary) by secondary key.
func (c *contract) LowerSecondary(
	kind Kind, t TableKey, s SecondaryKey, primary uint64,
) (r IndexRow, found bool, err error) {
	w, err := c.walker(bySecondarySlot(kind), c.t.secondary[kind].bySecondary)
	if err != nil {
		return r, false, err
	}
	var buf [secondaryKeyMax]byte
	ok, err := w.seek(secondaryKey(buf[:0], kind, t, s, primary))
	return indexAt(w, ok, err, kind, t)
}

// NextSecondary returns the first row after (s, primary) by secondary key.
func (c *contract) NextSecondary(
	kind Kind, t TableKey, s SecondaryKey, primary uint64,
) (r IndexRow, found bool, err error) {
	w, err := c.walker(bySecondarySlot(kind), c.t.secondary[kind].bySecondary)
	if err != nil {
		return r, false, err
	}
	var buf [secondaryKeyMax]byte
	ok, err := w.after(secondaryKey(buf[:0], kind, t, s, primary))
	return indexAt(w, ok, err, kind, t)
}

// PreviousSecondary returns the last row before (s, primary) by secondary key.
func (c *contract) PreviousSecondary(
	kind Kind, t TableKey, s SecondaryKey, primary uint64,
) (r IndexRow, found bool, err error) {
	w, err := c.walker(bySecondarySlot(kind), c.t.secondary[kind].bySecondary)
	if err != nil {
		return r, false, err
	}
	var buf [secondaryKeyMax]byte
	ok, err := w.before(secondaryKey(buf[:0], kind, t, s, primary))
	return indexAt(w, ok, err, kind, t)
}

// LastSecondary returns the last row of a table by secondary key.
func (c *contract) LastSecondary(kind Kind, t TableKey) (r IndexRow, found bool, err error) {
	w, err := c.walker(bySecondarySlot(kind), c.t.secondary[kind].bySecondary)
	if err != nil {
		return r, false, err
	}
	ok, err := w.before(tableEnd(t))
	return indexAt(w, ok, err, kind, t)
}

// tableEnd is above every key of a table, and below those of the next.
func tableEnd(t TableKey) []byte {
	b := tableKey(make([]byte, 0, 24+41), t)
	for range 41 {
		b = append(b, 0xff)
	}
	return b
}

// PutIndexRow stores a row that does not exist.
func (s *State) PutIndexRow(kind Kind, t TableKey, r IndexRow) error {
	s.noted.indices[kind].noteCreation(RowKey{t, r.Primary})
	return s.putIndexRow(kind, t, r)
}

func (s *State) putIndexRow(kind Kind, t TableKey, r IndexRow) error {
	st := s.t.secondary[kind]
	s.buf = indexValue(s.buf[:0], kind, r.Payer, r.Secondary)
	n := len(s.buf)
	s.buf = rowKey(s.buf, RowKey{t, r.Primary})
	if err := s.store.Put(st.byPrimary, s.buf[n:], s.buf[:n]); err != nil {
		return err
	}
	s.buf = secondaryKey(s.buf[:n], kind, t, r.Secondary, r.Primary)
	return s.store.Put(st.bySecondary, s.buf[n:], s.buf[:n])
}

// UpdateIndexRow stores a row in place of old, which has the same primary key.
func (s *State) UpdateIndexRow(kind Kind, t TableKey, old, r IndexRow) error {
	s.noted.indices[kind].noteChange(RowKey{t, r.Primary}, old)
	var a, b [secondaryKeyMax]byte
	ka := secondaryKey(a[:0], kind, t, old.Secondary, old.Primary)
	kb := secondaryKey(b[:0], kind, t, r.Secondary, r.Primary)
	if string(ka) != string(kb) {
		if err := s.store.Delete(s.t.secondary[kind].bySecondary, ka); err != nil {
			return err
		}
	}
	return s.putIndexRow(kind, t, r)
}

// DeleteIndexRow deletes a row, which must exist.
func (s *State) DeleteIndexRow(kind Kind, t TableKey, r IndexRow) error {
	s.noted.indices[kind].noteRemoval(RowKey{t, r.Primary}, r)
	st := s.t.secondary[kind]
	s.buf = rowKey(s.buf[:0], RowKey{t, r.Primary})
	if err := s.store.Delete(st.byPrimary, s.buf); err != nil {
		return err
	}
	s.buf = secondaryKey(s.buf[:0], kind, t, r.Secondary, r.Primary)
	return s.store.Delete(st.bySecondary, s.buf)
}

// Equal tells whether two keys are one in their index.
func (k SecondaryKey) Equal(o SecondaryKey, kind Kind) bool {
	var a, b [32]byte
	return string(k.sortable(a[:0], kind)) == string(o.sortable(b[:0], kind))
}
