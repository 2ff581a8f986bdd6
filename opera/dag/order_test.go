package dag

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/opera/inter"
)

// acceptedEvents returns the events of a random graph that were accepted, and the options of
// its epoch. honest tells whether less than a third of the weight has forked.
func acceptedEvents(seed uint64) (events []Event, o Options, honest bool) {
	tr := judgeGraph(seed)
	for _, e := range tr.all {
		if tr.epoch.Has(e.ID) {
			events = append(events, e)
		}
	}
	o = tr.epoch.options
	var forked inter.Weight
	for _, i := range tr.epoch.forks {
		forked += tr.epoch.weights[i]
	}
	return events, o, forked+tr.epoch.quorum <= o.Validators.Total()
}

// shuffleEvents returns the events in a random order, parents first.
func shuffleEvents(events []Event, r *rand.Rand) []Event {
	waits := map[inter.EventID]int{}
	children := map[inter.EventID][]Event{}
	var ready, order []Event
	for _, e := range events {
		waits[e.ID] = len(e.Parents)
		for _, p := range e.Parents {
			children[p] = append(children[p], e)
		}
		if len(e.Parents) == 0 {
			ready = append(ready, e)
		}
	}
	for len(ready) > 0 {
		// Now and then one thread of the graph goes far ahead of the others.
		i := len(ready) - 1
		if r.IntN(3) == 0 {
			i = r.IntN(len(ready))
		}
		e := ready[i]
		ready = slices.Delete(ready, i, i+1)
		order = append(order, e)
		for _, c := range children[e.ID] {
			if waits[c.ID]--; waits[c.ID] == 0 {
				ready = append(ready, c)
			}
		}
	}
	return order
}

// decisions feeds events, and returns all decisions that follow, as text. If it does not
// drain after each event, it does so at the end.
func decisions(t *testing.T, o Options, events []Event, each bool) []string {
	t.Helper()
	e := epoch(t, o)
	var all []string
	take := func() {
		for _, d := range drain(t, e) {
			all = append(all, fmt.Sprint(*d))
		}
	}
	for i := range events {
		if err := e.Add(&events[i]); err != nil {
			t.Fatalf("event %d of %d: %v", i, len(events), err)
		}
		if each {
			take()
		}
	}
	take()
	return all
}

func TestEveryOrderOfTheEventsGivesTheSameDecisions(t *testing.T) {
	graphs, decided := 0, 0
	for seed := *seedFlag; graphs < *graphsFlag; seed++ {
		events, o, honest := acceptedEvents(seed)
		if !honest {
			continue
		}
		graphs++
		want := decisions(t, o, events, true)
		decided += len(want)
		r := rand.New(rand.NewPCG(seed, 1))
		for try := range 3 {
			got := decisions(t, o, shuffleEvents(events, r), try > 0)
			if !slices.Equal(got, want) {
				t.Fatalf("go test -run %s ./opera/dag -dag.graphs=1 -dag.seed=%d: in another order\n%v\nare decided, not\n%v",
					t.Name(), seed, got, want)
			}
		}
	}
	t.Logf("%d graphs from seed %d on, %d decisions", graphs, *seedFlag, decided)
}

func TestAStartIsSilentAboutDecisionsThatAreKnown(t *testing.T) {
	for seed := *seedFlag; seed < *seedFlag+50; seed++ {
		events, o, honest := acceptedEvents(seed)
		if !honest {
			continue
		}
		want := decisions(t, o, events, true)
		slices.SortFunc(events, func(a, b Event) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		for _, known := range []int{0, 1, len(want) / 2, len(want)} {
			o.Decided = inter.Frame(min(known, len(want)))
			got := decisions(t, o, events, true)
			if !slices.Equal(got, want[o.Decided:]) {
				t.Fatalf("seed %d: after %d known decisions\n%v\nare told, not\n%v",
					seed, o.Decided, got, want[o.Decided:])
			}
		}
	}
}
