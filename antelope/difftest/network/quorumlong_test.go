package network

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tarn/antelope/types"
)

var quorumFlag = flag.Duration("network.quorum", 0,
	"how long nodes of both programs finalize a chain under kills, cut links and changes; 0 for not at all")

// storm is a chain that both programs finalize while a seed chooses what happens to them.
type storm struct {
	t      *testing.T
	q      *Quorum
	random *rand.Rand
}

// some are members in a random order, two at least. A chain with one producer, of Spring, that starts again can stand
// still for ever, by rules of Spring. Either the producer waits for votes that nobody sends again
// (production_pause_vote_tracker.hpp), or it goes on from the head that it had, and never applies the others' better
// blocks, which it does only while it does not produce (producer_plugin.cpp, start_block).
func (s *storm) some() []*Member {
	list := slices.Clone(s.q.Members())
	s.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:2+s.random.IntN(len(list)-1)]
}

// Finalizers of each member, and the most of a policy.
const (
	finalizersEach = 6
	finalizersMost = 21
)

// finalizers are some of all members', in a random order.
func (s *storm) finalizers() (list []types.Finalizer) {
	for _, m := range s.q.Members() {
		list = append(list, m.Finalizers()...)
	}
	s.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:1+s.random.IntN(finalizersMost)]
}

// away is how long a disturbance lasts.
func (s *storm) away() time.Duration {
	return time.Duration(1+s.random.IntN(12)) * time.Second
}

// next lets something happen, and tells what.
func (s *storm) next() string {
	t, q := s.t, s.q
	t.Helper()
	m, d := q.Members()[1+s.random.IntN(len(q.Members())-1)], s.away() // the first is whom is asked for all
	switch s.random.IntN(4) {
	case 0:
		interrupt(t, m)
		sleep(t.Context(), d)
		must(t, q.Again(t.Context(), m))
		return fmt.Sprintf("%s was away for %v", m.Name, d)
	case 1:
		c := []Condition{{Cut: true}, {Stall: true}, {Delay: 300 * time.Millisecond}}[s.random.IntN(3)]
		m.link.Set(c)
		sleep(t.Context(), d)
		m.link.Set(Condition{})
		return fmt.Sprintf("the way to %s is %+v for %v", m.Name, c, d)
	case 2:
		list := s.finalizers()
		must(t, q.Finalizers(t.Context(), len(list)*2/3+1, list...))
		return fmt.Sprintf("%d finalizers", len(list))
	}
	list := s.some()
	must(t, q.Schedule(t.Context(), list...))
	return fmt.Sprintf("%d producers", len(list))
}

// Whatever happens to nodes and links, and whoever is a finalizer or a producer, all nodes come to the
// same blocks, states and answers, and blocks become irreversible.
func TestBothFinaliseThroughAStorm(t *testing.T) {
	ours, theirs := spring(t)
	if *quorumFlag == 0 {
		t.Skip("takes as long as -network.quorum says")
	}
	number := seed()
	t.Logf("seed %d", number)
	both := func(p Place) Place { p.Produces, p.Finalizes, p.Records = true, finalizersEach, true; return p }
	q := newQuorum(t, both(Place{Program: theirs}), both(Place{Program: ours}), both(Place{Program: theirs}),
		both(Place{Program: ours}))
	s := &storm{t, q, rand.New(rand.NewPCG(number, 5))}
	change(t, q)
	must(t, q.Schedule(t.Context(), q.Members()...))
	halt := traffic(t, q)
	from := uint32(1)
	for end := time.Now().Add(*quorumFlag); time.Now().Before(end) && !t.Failed(); {
		for range 3 {
			t.Log(s.next())
			finalise(t, q)
		}
		from = agree(t, q, from)
	}
	t.Log(halt(), "transactions were taken")
	i, err := q.Members()[0].Info(t.Context())
	must(t, err)
	sameHistories(t, q, 2, i.Irreversible)
}
