package producer

import (
	"testing"
	"time"

	"tarn/antelope/types"
)

// Strangers choose names: what is kept of them is bounded, goes when it has decayed, and
// a large bill outlives any number of small ones.
func TestNamesThatStrangersChooseAreForgotten(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	const decay = time.Hour
	s, now := newSubjectiveBilling(decay), time.Unix(1_700_000_000, 0)
	debtor, payer := types.N("debtor"), types.N("payer")
	s.billFailure(debtor, 1_000_000, now)
	s.bill(types.Checksum256{1}, types.TimePointSec(now.Unix()+1), payer, 50)
	most := 0
	for i := range types.Name(2 * maxBilled) {
		s.billFailure(i<<8, 1, now)
		most = max(most, s.len())
	}
	if most > maxBilled || most < maxBilled-1 {
		t.Errorf("%d accounts were kept, not up to %d", most, maxBilled)
	}
	if owed := s.Subjective(debtor, now); owed != 1_000_000 {
		t.Errorf("the debtor owes %d", owed)
	}
	if owed := s.Subjective(payer, now); owed != 50 {
		t.Errorf("who waits for a block owes %d", owed)
	}
	for range maxBilled / swept { // blocks
		s.removeExpired(types.TimePointSec(now.Unix()-1).TimePoint(), now.Add(decay), never)
	}
	if left := s.len(); left > 1+maxBilled/100 { // that of payer, and what the hand has passed over
		t.Errorf("%d accounts are left when all has decayed", left)
	}
	if len(s.names) != len(s.accounts) {
		t.Errorf("%d names, %d accounts", len(s.names), len(s.accounts))
	}
}
