package emitter

import (
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"tarn/internal/refimpl"
	"tarn/opera/dag"
	"tarn/opera/inter"
)

var judged = flag.Int("emitter.judged", 40,
	"random graphs, and ten times as many orders of validators, that the originals judge")

// TestLachesisBaseFindsEventsWorthAsMuch compares, for random graphs of events,
// what an event of validator 1 is worth, by both ways to say so; and orders of validators.
func TestLachesisBaseFindsEventsWorthAsMuch(t *testing.T) {
	originals := refimpl.Start(t, "../../refimpl/lachesis")
	var questions, ours []string
	for seed := range uint64(*judged) {
		q, a := judgedGraph(t, seed)
		questions, ours = append(questions, q...), append(ours, a...)
	}
	for i, got := range originals.Ask(questions) {
		if got != ours[i] {
			t.Fatalf("question %d: %s\nours:  %s\ntheirs: %s", i, questions[i], ours[i], got)
		}
	}
	t.Logf("%d answers are the same", len(ours))
}

// sketch is a graph of events without a chain.
type sketch struct {
	graph   *dag.Epoch
	state   *inter.EpochState
	lasts   map[inter.ValidatorID]inter.EventID
	headers map[inter.EventID]*inter.Event
}

func (s *sketch) Epoch() *inter.EpochState                        { return s.state }
func (s *sketch) LastEvents() map[inter.ValidatorID]inter.EventID { return s.lasts }
func (s *sketch) Header(id inter.EventID) *inter.Event            { return s.headers[id] }
func (s *sketch) RootsSeen(frame inter.Frame, events ...inter.EventID) int {
	return s.graph.RootsSeen(frame, events...)
}

// draw makes a random event of a validator, with its answers to come: its parents are the
// last events of some others.
func (s *sketch) draw(r *rand.Rand, numbers map[inter.EventID]int, by inter.ValidatorID) *dag.Event {
	e := &dag.Event{Creator: by, Seq: 1, CreationTime: inter.Timestamp(1000 + len(numbers))}
	if self, ok := s.lasts[by]; ok {
		e.Seq, e.Parents = s.headers[self].Seq+1, []inter.EventID{self}
	}
	for i := range s.state.Validators.Len() {
		other := s.state.Validators.At(i).ID
		if id, ok := s.lasts[other]; ok && other != by && r.IntN(3) == 0 {
			e.Parents = append(e.Parents, id)
		}
	}
	return e
}

// line is an event in the judge's words.
func line(verb string, e *dag.Event, numbers map[inter.EventID]int) string {
	text := fmt.Sprintf("%s %s %d %d %d %d %d", verb, hex.EncodeToString(e.ID[:]), e.Creator, e.Seq, e.Frame,
		e.CreationTime, e.MedianTime)
	for _, p := range e.Parents {
		text += fmt.Sprint(" ", numbers[p])
	}
	return text
}

// judgedGraph is the questions about a random graph, and our answers; the first one, which
// begins the graph, has none, and goes before the second.
func judgedGraph(t *testing.T, seed uint64) (questions, answers []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	begin := "graph 5 1000"
	var list []inter.Validator
	for id := range 1 + r.IntN(9) {
		list = append(list, inter.Validator{ID: inter.ValidatorID(id + 1), Weight: inter.Weight(1 + r.IntN(20))})
		begin += fmt.Sprintf(" %d:%d", id+1, list[id].Weight)
	}
	v, err := inter.NewValidators(list)
	if err != nil {
		t.Fatal(err)
	}
	g := dag.New(dag.Options{Number: 5, Validators: v, Start: 1000})
	s := &sketch{g, &inter.EpochState{Epoch: 5, Validators: v}, map[inter.ValidatorID]inter.EventID{},
		map[inter.EventID]*inter.Event{}}
	ask := func(question, answer string) {
		if begin != "" {
			question, begin = begin+"\n"+question, ""
		}
		questions, answers = append(questions, question), append(answers, answer)
	}
	p, way, numbers := newProgress(v), &roots{me: 1}, map[inter.EventID]int{}
	for n := range 60 {
		if n > 0 && s.lasts[1] != (inter.EventID{}) {
			e := s.draw(r, numbers, 1)
			own, err := g.Propose(e)
			if err != nil {
				t.Fatal(err)
			}
			ask(line("worth", e, numbers),
				fmt.Sprint("worth ", p.worth(own.Sight), " ", way.past(s), " ", way.sightings(s, e.Parents...)))
		}
		e := s.draw(r, numbers, list[r.IntN(len(list))].ID)
		copy(e.ID[:], []byte{0, 0, 0, 5, 0, 0, 0, byte(n + 1), byte(n)})
		own, err := g.Propose(e)
		if err != nil {
			t.Fatal(err)
		}
		e.Frame, e.MedianTime = own.Frame, own.MedianTime
		if err := g.Add(e); err != nil {
			t.Fatal(err)
		}
		for d, err := g.Next(); d != nil || err != nil; d, err = g.Next() {
			if err != nil {
				t.Fatal(err)
			}
		}
		ask(line("watch", e, numbers), "watch")
		numbers[e.ID] = n
		s.lasts[e.Creator], s.headers[e.ID] = e.ID, &inter.Event{Seq: e.Seq, Frame: e.Frame}
		index, _ := v.Index(e.Creator)
		p.hear(index, g.Sight(e.ID), e.Creator == 1)
	}
	weights := make([]inter.Weight, v.Len())
	text := ""
	for i := range weights {
		weights[i] = v.At(i).Weight
		text += fmt.Sprint(" ", weights[i])
	}
	for range 10 {
		var seed [32]byte
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		count, answer := 1+r.IntN(len(weights)), "order"
		for _, i := range permutation(count, weights, seed) {
			answer += fmt.Sprint(" ", i)
		}
		ask(fmt.Sprintf("order %d %x%s", count, seed, text), answer)
	}
	return questions, answers
}
