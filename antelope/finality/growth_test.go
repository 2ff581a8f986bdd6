package finality

import (
	"math/rand/v2"
	"slices"
	"testing"
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
