package node

import (
	"fmt"
	"testing"

	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// Each certificate counts, by its strength, and whose votes it lacks; of many finalizers the rest are one.
func TestCertificatesAreCountedWithTheVotesThatTheyLack(t *testing.T) {
	m, _ := testMetrics()
	s := &finality.State{Finalizers: &types.FinalizerPolicy{}}
	for i := range maxFinalizers + 2 {
		s.Finalizers.Finalizers = append(s.Finalizers.Finalizers,
			types.Finalizer{Description: fmt.Sprintf("f%03d", i), Key: types.BLSPublicKey{byte(i >> 8), byte(i)}})
	}
	n := len(s.Finalizers.Finalizers)
	without := func(missing ...int) *types.Bitset {
		var has []int
		for i := range n {
			if len(missing) == 0 || i >= missing[0]+len(missing) || i < missing[0] {
				has = append(has, i)
			}
		}
		return types.NewBitset(n, has...)
	}
	m.certificates.count(s, &types.QuorumCertificate{Active: types.QCSignature{Strong: without()}})
	m.certificates.count(s, &types.QuorumCertificate{Active: types.QCSignature{Strong: without(1, 2)}})
	m.certificates.count(s,
		&types.QuorumCertificate{Active: types.QCSignature{Strong: without(2), Weak: types.NewBitset(n, 2)}})
	m.certificates.count(s, &types.QuorumCertificate{Active: types.QCSignature{Strong: without(1)}})
	families := scrape(t, m.append(nil))
	for _, c := range []struct {
		name, label string
		want        float64
	}{
		{"tarn_finality_certificates_total", "strong", 3}, {"tarn_finality_certificates_total", "weak", 1},
		{"tarn_finalizer_missed_votes_total", "f001", 2}, {"tarn_finalizer_missed_votes_total", "f002", 1},
		{"tarn_finality_savanna", "", 0},
	} {
		if got := value(families[c.name], c.label); got != c.want {
			t.Errorf("%s of %q is %v, want %v", c.name, c.label, got, c.want)
		}
	}
	if m.certificates.missingVotes() != 3 {
		t.Errorf("%d votes are missing", m.certificates.missingVotes())
	}
	m.certificates.count(s, &types.QuorumCertificate{Active: types.QCSignature{Strong: types.NewBitset(n)}})
	if got := len(m.certificates.missed); got != maxFinalizers+1 || m.certificates.missed[otherName] != 2 {
		t.Errorf("%d finalizers are told apart, %d missed by the others", got, m.certificates.missed[otherName])
	}
}
