package chain

import (
	"testing"

	"tarn/opera/inter"
	"tarn/store/engine"
)

// A chain of an exported genesis goes on to the same blocks as the one that it came from,
// at whatever epoch it was exported.
func TestAnExportedGenesisGoesOnAsItsChain(t *testing.T) {
	r := record(t)
	c := filledChain(t, r)
	v := viewOf(t, c)
	for to := inter.Epoch(2); to <= v.Epoch().Epoch; to++ {
		g, err := v.Genesis(GenesisOptions{To: to, Preimages: to%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		place := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
		if err := ApplyGenesis(Options{Store: place, History: place.history}, g); err != nil {
			t.Fatalf("a genesis of epoch %d: %v", to, err)
		}
		d := openChain(t, place)
		if fed := feed(t, d, r.events); fed.Events == 0 && to < v.Epoch().Epoch {
			t.Errorf("from epoch %d on %+v", to, fed)
		}
		compare(t, d, r)
		closeChain(t, d)
		if err := place.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.Genesis(GenesisOptions{From: 9, To: 3}); err == nil {
		t.Error("a genesis that ends before it begins")
	}
}
