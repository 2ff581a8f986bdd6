package finality

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/types"
)

// Lists that share memory are what lists are that share none, whichever of them grows.
func TestListsThatGrowShareNothingThatShows(t *testing.T) {
	type pair struct {
		list, model []int
		free        *spareCapacity
	}
	r := rand.New(rand.NewPCG(1, 2))
	all := []pair{{}}
	for i := range 20_000 {
		p := all[r.IntN(len(all))]
		if r.IntN(3) > 0 { // mostly one that is new
			p = all[len(all)-1]
		}
		from := 0
		if r.IntN(4) == 0 && len(p.list) > 0 {
			from = r.IntN(len(p.list))
		}
		n := pair{model: append(slices.Clone(p.model[from:]), i)}
		n.list, n.free = extend(p.list[from:], i, p.free)
		all = append(all, n)
		if len(all) > 300 {
			all = slices.Delete(all, 0, 1)
		}
		if i%500 > 0 {
			continue
		}
		for _, p := range all {
			if !slices.Equal(p.list, p.model) {
				t.Fatalf("step %d: %v, want %v", i, p.list, p.model)
			}
		}
	}
}

func BenchmarkNextWhileNothingIsFinal(b *testing.B) {
	for b.Loop() {
		c := GenesisCore(1, 1)
		for num := uint32(2); num < 4000; num++ {
			c = c.Next(Ref{Time: 1}, c.Claim())
		}
	}
}

// While nothing becomes final, a producer's headers may all propose finalizers: their states keep one list, not
// one each.
func TestStatesKeepOneListOfProposals(t *testing.T) {
	policy := numberedPolicy(1, 2, 3)
	schedule := types.ProducerSchedule{Producers: make([]types.ProducerAuthority, 1)}
	s, err := Genesis(&types.BlockHeader{Timestamp: 1000, Previous: types.Checksum256{0, 0, 0, 9}}, &schedule,
		&types.FinalityExtension{Claim: types.QCClaim{Block: 10},
			Finalizers: DiffFinalizers(new(types.FinalizerPolicy), policy)},
		State{})
	if err != nil {
		t.Fatal(err)
	}
	lists := map[*Numbered]bool{}
	const count = 500
	for i := range uint32(count) {
		next := numberedPolicy(int(i%50)+1, 60, 70)
		next.Generation = i + 2
		h := &types.BlockHeader{Timestamp: s.Time() + 1, Previous: s.ID}
		s, err = s.Next(h,
			&types.FinalityExtension{Claim: s.Core.Claim(), Finalizers: DiffFinalizers(s.LastProposed(), next)}, nil)
		if err != nil {
			t.Fatalf("block %d: %v", i, err)
		}
		if n := len(s.Proposed); n == 0 || s.Proposed[n-1].Block != s.Num() ||
			s.Proposed[n-1].Policy.Generation != i+2 {
			t.Fatalf("block %d: %d proposals, the last is another", i, n)
		}
		lists[&s.Proposed[0]] = true
	}
	if len(s.Proposed) != count || len(lists) > 20 {
		t.Errorf("%d proposals in %d lists", len(s.Proposed), len(lists))
	}
}
