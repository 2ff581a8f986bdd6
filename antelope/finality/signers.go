package finality

import (
	"sync"
	weakref "weak"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// maxSignerSets is how many sets of finalizers are remembered: those of one block, each alone as it votes and
// together in a certificate, of networks with twice as many finalizers as any has.
const maxSignerSets = 64

// signerSets remembers the sums of the keys of finalizers who signed together: the same ones do block after
// block. All states that follow a state share its sets. Any goroutine may use it; nil remembers nothing.
type signerSets struct {
	mu   sync.Mutex
	sums map[signerSet]crypto.BLSKeySum
}

// signerSet are finalizers of a policy. It keeps no policy in memory: a block that nobody builds on may propose one
// of megabytes.
type signerSet struct {
	policy weakref.Pointer[types.FinalizerPolicy]
	bits   types.Checksum256
}

// sum is that of the keys whose bits are set; false as [crypto.SumBLSKeys] tells it.
func (s *signerSets) sum(p *types.FinalizerPolicy, bits *types.Bitset) (crypto.BLSKeySum, bool) {
	if s == nil {
		return crypto.SumBLSKeys(keysOf(p, bits))
	}
	set := signerSet{weakref.Make(p), bits.Digest()}
	if sum, ok := s.find(set); ok {
		return sum, true
	}
	sum, ok := crypto.SumBLSKeys(keysOf(p, bits))
	if ok {
		s.remember(set, sum)
	}
	return sum, ok
}

func (s *signerSets) find(set signerSet) (sum crypto.BLSKeySum, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum, ok = s.sums[set]
	return sum, ok
}

// remember forgets another set, any of them, if there are too many.
func (s *signerSets) remember(set signerSet, sum crypto.BLSKeySum) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums == nil {
		s.sums = make(map[signerSet]crypto.BLSKeySum, maxSignerSets)
	}
	for other := range s.sums {
		if len(s.sums) < maxSignerSets {
			break
		}
		delete(s.sums, other)
	}
	s.sums[set] = sum
}

// keysOf are the keys whose bits are set.
func keysOf(p *types.FinalizerPolicy, b *types.Bitset) []types.BLSPublicKey {
	keys := make([]types.BLSPublicKey, 0, b.Count())
	for i := range p.Finalizers {
		if b.Has(i) {
			keys = append(keys, p.Finalizers[i].Key)
		}
	}
	return keys
}
