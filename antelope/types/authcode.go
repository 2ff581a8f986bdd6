package types

import (
	"cmp"
	"slices"

	"tarn/antelope/serial"
)

// Append appends sixteen bytes.
func (p PermissionLevel) Append(b []byte) []byte { return p.Permission.Append(p.Actor.Append(b)) }

// Read reads sixteen bytes.
func (p *PermissionLevel) Read(r *serial.Reader) {
	p.Actor.Read(r)
	p.Permission.Read(r)
}

// Compare orders by actor, then permission.
func (p PermissionLevel) Compare(o PermissionLevel) int {
	return cmp.Or(cmp.Compare(p.Actor, o.Actor), cmp.Compare(p.Permission, o.Permission))
}

// String returns "{actor,permission}" as texts of nodeos show it.
func (p PermissionLevel) String() string {
	return `{"actor":"` + p.Actor.String() + `","permission":"` + p.Permission.String() + `"}`
}

// Append appends the key and the weight.
func (w KeyWeight) Append(b []byte) []byte { return serial.AppendUint16(w.Key.Append(b), w.Weight) }

// Read reads the key and the weight.
func (w *KeyWeight) Read(r *serial.Reader) {
	w.Key.Read(r)
	w.Weight = r.Uint16()
}

// Append appends 18 bytes.
func (w PermissionLevelWeight) Append(b []byte) []byte {
	return serial.AppendUint16(w.Permission.Append(b), w.Weight)
}

// Read reads 18 bytes.
func (w *PermissionLevelWeight) Read(r *serial.Reader) {
	w.Permission.Read(r)
	w.Weight = r.Uint16()
}

// Append appends six bytes.
func (w WaitWeight) Append(b []byte) []byte {
	return serial.AppendUint16(serial.AppendUint32(b, w.WaitSec), w.Weight)
}

// Read reads six bytes.
func (w *WaitWeight) Read(r *serial.Reader) {
	w.WaitSec = r.Uint32()
	w.Weight = r.Uint16()
}

// minKeyWeight is the length of the shortest key with its weight.
const minKeyWeight = 34 + 2

func appendKeyWeights(b []byte, keys []KeyWeight) []byte {
	b = serial.AppendCount(b, len(keys))
	for i := range keys {
		b = keys[i].Append(b)
	}
	return b
}

func readKeyWeights(r *serial.Reader) []KeyWeight {
	n := r.Count(minKeyWeight)
	if n == 0 {
		return nil
	}
	keys := make([]KeyWeight, n)
	for i := range keys {
		keys[i].Read(r)
	}
	return keys
}

// Append appends the threshold and the three lists.
func (a Authority) Append(b []byte) []byte {
	b = serial.AppendUint32(b, a.Threshold)
	b = appendKeyWeights(b, a.Keys)
	b = serial.AppendCount(b, len(a.Accounts))
	for _, w := range a.Accounts {
		b = w.Append(b)
	}
	b = serial.AppendCount(b, len(a.Waits))
	for _, w := range a.Waits {
		b = w.Append(b)
	}
	return b
}

// Read reads the threshold and the three lists, which need not be valid.
func (a *Authority) Read(r *serial.Reader) {
	*a = Authority{Threshold: r.Uint32(), Keys: readKeyWeights(r)}
	if n := r.Count(18); n > 0 {
		a.Accounts = make([]PermissionLevelWeight, n)
		for i := range a.Accounts {
			a.Accounts[i].Read(r)
		}
	}
	if n := r.Count(6); n > 0 {
		a.Waits = make([]WaitWeight, n)
		for i := range a.Waits {
			a.Waits[i].Read(r)
		}
	}
}

// maxAuthorityEntries keeps the sum of the weights within 32 bits.
const maxAuthorityEntries = 1 << 16

// Valid tells whether keys, permissions and waits are in strictly ascending order,
// there is no wait of zero, and all together they can reach the threshold, which
// is not 0 (Leap: authority.hpp, validate).
func (a Authority) Valid() bool {
	if len(a.Keys)+len(a.Accounts)+len(a.Waits) > maxAuthorityEntries || a.Threshold == 0 {
		return false
	}
	var total uint32
	for i, w := range a.Keys {
		if i > 0 && a.Keys[i-1].Key.Compare(w.Key) >= 0 {
			return false
		}
		total += uint32(w.Weight)
	}
	for i, w := range a.Accounts {
		if i > 0 && a.Accounts[i-1].Permission.Compare(w.Permission) >= 0 {
			return false
		}
		total += uint32(w.Weight)
	}
	for i, w := range a.Waits {
		if w.WaitSec == 0 || i > 0 && a.Waits[i-1].WaitSec >= w.WaitSec {
			return false
		}
		total += uint32(w.Weight)
	}
	return total >= a.Threshold
}

// BillableSize returns the RAM that the lists are billed for, in bytes, without
// the fixed part of a permission (Leap: shared_authority::get_billable_size).
func (a Authority) BillableSize() int64 {
	// Sizes per entry are rounded up to the billable alignment of 16: 24 to 32 for
	// a permission, 8 to 16 for a key (its encoding comes on top), 16 for a wait.
	size := 32*int64(len(a.Accounts)) + 16*int64(len(a.Waits))
	for _, w := range a.Keys {
		size += 16 + int64(w.Key.storedSize())
	}
	return size
}

// Equal tells whether two authorities are the same, in the same order.
func (a Authority) Equal(o Authority) bool {
	return a.Threshold == o.Threshold && slices.Equal(a.Keys, o.Keys) &&
		slices.Equal(a.Accounts, o.Accounts) && slices.Equal(a.Waits, o.Waits)
}

// Sort brings the lists in the order that [Authority.Valid] demands.
func (a *Authority) Sort() {
	slices.SortFunc(a.Keys, func(v, w KeyWeight) int {
		return cmp.Or(v.Key.Compare(w.Key), cmp.Compare(v.Weight, w.Weight))
	})
	slices.SortFunc(a.Accounts, func(v, w PermissionLevelWeight) int {
		return cmp.Or(v.Permission.Compare(w.Permission), cmp.Compare(v.Weight, w.Weight))
	})
	slices.SortFunc(a.Waits, func(v, w WaitWeight) int {
		return cmp.Or(cmp.Compare(v.WaitSec, w.WaitSec), cmp.Compare(v.Weight, w.Weight))
	})
}

// KeyAuthority returns the authority that one key satisfies.
func KeyAuthority(k PublicKey) Authority {
	return Authority{Threshold: 1, Keys: []KeyWeight{{Key: k, Weight: 1}}}
}
