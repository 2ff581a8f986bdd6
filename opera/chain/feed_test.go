package chain

import (
	"context"
	"testing"
	"testing/synctest"

	"tarn/store/engine"
)

// Who reads ahead waits while too many bytes are on their way, and no longer than the context
// goes on.
func TestReadingAheadIsBoundedByBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newByteBudget(10)
		defer context.AfterFunc(ctx, func() { r.give(0) })()
		taken := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for r.take(ctx, 6) {
				taken++
			}
		}()
		for _, want := range []int{2, 3} { // the last one may take more than is left
			synctest.Wait()
			if taken != want {
				t.Errorf("%d were taken, want %d", taken, want)
			}
			r.give(6)
		}
		synctest.Wait()
		cancel()
		<-ended
		if taken != 4 {
			t.Errorf("%d were taken before the end, want 4", taken)
		}
	})
}

// A transaction that comes again in another event is the one whose sender was found, and no
// more are remembered than the bound.
func TestRepeatedTransactionsAreRemembered(t *testing.T) {
	r := record(t)
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	v := c.Verifier()
	again := 0
	for _, raw := range r.events {
		first, err := v.Decode(append([]byte(nil), raw...))
		if err != nil {
			t.Fatal(err)
		}
		second, err := v.Decode(append([]byte(nil), raw...))
		if err != nil {
			t.Fatal(err)
		}
		for i, tx := range first.Txs {
			if second.Txs[i] != tx {
				t.Fatalf("transaction %v is another one the second time", tx.Hash())
			}
			again++
		}
		if first.ID() != second.ID() || second.PayloadHash != second.HashPayload() {
			t.Fatalf("event %v is another one the second time", first.ID())
		}
	}
	if again == 0 {
		t.Fatal("no event has a transaction")
	}
	all := len(v.sent.young)
	v.sent.bytes = sentBytes
	for _, raw := range r.events {
		p, err := v.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Txs) > 0 {
			break
		}
	}
	if len(v.sent.old) != all || len(v.sent.young) >= all {
		t.Errorf("%d are remembered of before and %d since, want %d of before", len(v.sent.old), len(v.sent.young), all)
	}
}
