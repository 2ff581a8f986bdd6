package dag

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"tarn/opera/inter"
)

var (
	benchEvents     = flag.Int("dag.events", 0, "events that TestFigures measures with, if any")
	benchValidators = flag.Int("dag.validators", 100, "validators of them")
	benchForks      = flag.Int("dag.forks", 0, "forks of one event, at half of them")
)

// TestFigures measures this package and lachesis-base with the same events, in one run:
// what a received event costs, and here also the memory that it takes.
func TestFigures(t *testing.T) {
	if *benchEvents == 0 {
		t.Skip("set -dag.events to measure: go test ./opera/dag -run Figures -v -dag.events=100000")
	}
	program := lachesisBase(t)
	n := *benchValidators
	tr, o := benchGraph(*benchEvents, n)
	before := heap()
	e := epoch(t, o)
	begin := time.Now()
	decided := 0
	for i := range tr.all {
		if err := e.Add(&tr.all[i]); err != nil {
			t.Fatal(err)
		}
		decided += len(drain(t, e))
	}
	took := time.Since(begin)
	bytes := heap() - before
	t.Logf("%d events of %d validators, %d frames decided: %.2f µs and %d bytes an event",
		e.Len(), n, decided, float64(took.Microseconds())/float64(e.Len()), bytes/uint64(e.Len()))
	answers := ask(t, program, strings.NewReader(strings.Join(tr.lines, "\n")+"\nbench\n"))
	var seconds float64
	var theirs int
	answers.Scan()
	if _, err := fmt.Sscanf(answers.Text(), "bench %g %d", &seconds, &theirs); err != nil {
		t.Fatalf("%q: %v", answers.Text(), err)
	}
	t.Logf("lachesis-base: %.2f µs an event, %.0f times as much", seconds*1e6/float64(e.Len()), seconds/took.Seconds())
	if theirs != decided {
		t.Errorf("it decided %d frames", theirs)
	}
	runtime.KeepAlive(e)
}

// load adds an event as an own one, and says so.
func (tr *transcript) load(e Event) {
	var err error
	if e.Frame, e.MedianTime, err = tr.epoch.Build(&e); err != nil {
		panic(err)
	}
	tr.index[e.ID] = len(tr.all)
	tr.all = append(tr.all, e)
	tr.lines = append(tr.lines, tr.line("load", &e))
	if err := tr.epoch.Add(&e); err != nil {
		panic(err)
	}
	if err := tr.decide(); err != nil {
		panic(err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// benchGraph makes events as a network of n equal validators does that all take turns,
// each event with up to ten parents.
func benchGraph(events, n int) (transcript, Options) {
	r := rand.New(rand.NewPCG(*seedFlag, 2))
	s := shape{
		weights: make([]inter.Weight, n), cheats: make([]bool, n), silent: make([]bool, n), lazies: make([]bool, n),
		parents: min(n, 10), sides: 1, join: events + 1, stale: 0.1, drift: 1000, siblings: 1,
	}
	for i := range s.weights {
		s.weights[i] = 1000
	}
	tr := transcript{index: map[inter.EventID]int{}}
	if err := tr.begin(s.weights); err != nil {
		panic(err)
	}
	g := newGenerator(s, r)
	for len(tr.all) < events/2 {
		e, p := g.next()
		tr.load(e)
		g.addAccepted(e, p)
	}
	e, p := g.eventAt(0, 0)
	for i := range *benchForks {
		binary.BigEndian.PutUint32(e.ID[28:], uint32(i))
		tr.load(e)
		g.addAccepted(e, p)
	}
	last := g.tips[0][0]
	for len(tr.all) < events {
		if *benchForks > 0 {
			g.tips[0][0] = last - r.IntN(*benchForks) // each event sees another of them
		}
		e, p := g.next()
		tr.load(e)
		g.addAccepted(e, p)
	}
	o := tr.epoch.options
	tr.epoch = nil
	return tr, o
}

// BenchmarkAdd is what a received event of an epoch of 100 validators costs.
func BenchmarkAdd(b *testing.B) {
	tr, o := benchGraph(20000, 100)
	b.ReportAllocs()
	for b.Loop() {
		e := epoch(b, o)
		for i := range tr.all {
			if err := e.Add(&tr.all[i]); err != nil {
				b.Fatal(err)
			}
			drain(b, e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tr.all)), "ns/event")
}
