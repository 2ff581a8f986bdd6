package producer

import (
	"testing"
	"time"

	"tarn/antelope/exception"
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

// Who failed is remembered while the window lasts, and may be anybody: the chain may stand still, or windows be long.
// Those that failed most stay.
func TestNamesThatFailAreBounded(t *testing.T) {
	f, bad, failed := newFailures(3, 1000), types.N("bad"), exception.New(exception.TxNoAuths, "failed")
	for range 3 {
		f.add(bad, failed)
	}
	for i := range types.Name(maxBilled + 1000) {
		f.add(i<<8, failed)
	}
	if len(f.accounts) > maxBilled {
		t.Errorf("%d accounts are kept", len(f.accounts))
	}
	if !f.exceeded(bad) {
		t.Error("who failed too often may go on")
	}
	late := types.N("late")
	for range 3 {
		f.add(late, failed)
	}
	if !f.exceeded(late) {
		t.Error("who comes late may fail for ever")
	}
}
