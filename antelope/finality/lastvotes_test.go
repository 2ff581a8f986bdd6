package finality

import (
	"slices"
	"testing"

	"tarn/antelope/types"
)

// The newest votes are known of each finalizer that a certificate has one of, by the policy that counts,
// after it left the policies too, as long as there are not too many; and so is who has none in a certificate.
func TestTheNewestVotesAreKnown(t *testing.T) {
	key := func(n byte) types.BLSPublicKey { return types.BLSPublicKey{n} }
	policy := func(generation uint32, keys ...byte) *types.FinalizerPolicy {
		p := &types.FinalizerPolicy{Generation: generation}
		for _, k := range keys {
			p.Finalizers = append(p.Finalizers, types.Finalizer{Description: string('a' + rune(k)), Key: key(k)})
		}
		return p
	}
	state := func(num byte, pending *types.FinalizerPolicy) *State {
		s := &State{ID: types.Checksum256{3: num}, Finalizers: policy(1, 0, 1, 2)}
		s.Header.Timestamp = types.BlockTimestamp(num)
		if pending != nil {
			s.Pending = &Numbered{1, pending}
		}
		return s
	}
	var gone []string
	for _, f := range Missing(state(6, policy(2, 3, 2, 4)), &types.QuorumCertificate{
		Active:  types.QCSignature{Strong: types.NewBitset(3, 0)},
		Pending: &types.QCSignature{Strong: types.NewBitset(3), Weak: types.NewBitset(3, 2)}}) {
		gone = append(gone, f.Description)
	}
	if !slices.Equal(gone, []string{"b", "c", "d"}) {
		t.Errorf("the votes of %s are missing", gone)
	}
	var l LastVotes
	l.Add(state(5, nil), &types.QuorumCertificate{Active: types.QCSignature{Strong: types.NewBitset(3, 0, 1),
		Weak: types.NewBitset(3, 2)}})
	l.Add(state(6, policy(2, 2, 3)), &types.QuorumCertificate{
		Active:  types.QCSignature{Strong: types.NewBitset(3, 0, 2)},
		Pending: &types.QCSignature{Strong: types.NewBitset(2, 0), Weak: types.NewBitset(2, 1)}})
	for k, want := range []LastVote{
		{"a", key(0), true, 1, types.Checksum256{3: 6}, 6},
		{"b", key(1), true, 1, types.Checksum256{3: 5}, 5},
		{"c", key(2), true, 1, types.Checksum256{3: 6}, 6}, // in both policies
		{"d", key(3), false, 2, types.Checksum256{3: 6}, 6},
	} {
		if is, ok := l.Of(key(byte(k))); !ok || is != want {
			t.Errorf("finalizer %d: %+v, want %+v", k, is, want)
		}
	}
	l.Keep(4, policy(2, 2, 3))
	for k := range byte(4) { // one that comes back has its vote
		if _, ok := l.Of(key(k)); !ok {
			t.Errorf("finalizer %d is forgotten too soon", k)
		}
	}
	l.Keep(3, policy(2, 2, 3))
	for k := range byte(5) {
		if _, ok := l.Of(key(k)); ok != (k == 2 || k == 3) {
			t.Errorf("finalizer %d is known: %v", k, ok)
		}
	}
}
