package dag

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/opera/inter"
)

var (
	seedFlag   = flag.Uint64("dag.seed", 1, "seed of the random graphs")
	graphsFlag = flag.Int("dag.graphs", 150, "random graphs that lachesis-base judges")
)

const (
	testEpoch = 5
	testStart = 1000
)

// TestLachesisBaseAgrees feeds random graphs to this package and to lachesis-base with
// go-opera's vector index, and compares what they make of each event: the frame and the
// median time that it could claim, how much it would see of each validator, whether it is
// accepted, the decisions that follow with Atropos, cheaters and confirmed events, the roots
// of each frame, and which of them cause some of the events.
func TestLachesisBaseAgrees(t *testing.T) {
	program := lachesisBase(t)
	questions, lines := io.Pipe()
	ours := make(chan transcript, 16)
	go func() {
		defer lines.Close()
		defer close(ours)
		for i := range *graphsFlag {
			tr := judgeGraph(*seedFlag + uint64(i))
			if _, err := io.WriteString(lines, strings.Join(tr.lines, "\n")+"\n"); err != nil {
				return
			}
			ours <- tr
		}
	}()
	defer questions.Close()
	answers := ask(t, program, questions)
	var sum graphCounts
	for tr := range ours {
		for i, want := range tr.answers {
			if !answers.Scan() {
				t.Fatalf("graph %d: the judge ended: %v", tr.seed, answers.Err())
			}
			got := answers.Text()
			if want == got || strings.HasPrefix(want, "crit") && strings.HasPrefix(got, "crit") {
				continue
			}
			t.Fatalf(
				"lachesis-base differs: go test -run %s ./opera/dag -dag.graphs=1 -dag.seed=%d\nour answer %d:    "+
					"%s\nlachesis-base's: %s",
				t.Name(), tr.seed, i, want, got)
		}
		sum.add(tr)
	}
	t.Logf("seeds %d to %d: %+v", *seedFlag, *seedFlag+uint64(*graphsFlag)-1, sum)
}

// graphCounts counts what the graphs contained.
type graphCounts struct{ graphs, events, refused, decided, withCheaters, degenerate, broken int }

func (s *graphCounts) add(tr transcript) {
	s.graphs++
	for _, a := range tr.answers {
		words := strings.Fields(a)
		switch {
		case words[0] == "crit":
			s.broken++
		case words[0] == "event" && words[1] == "ok":
			s.events++
		case words[0] == "event":
			s.refused++
		case words[0] == "decided":
			s.decided++
			if words[4] != ":" {
				s.withCheaters++
			}
			if words[len(words)-1] == ":" {
				s.degenerate++
			}
		}
	}
}

// transcript is a graph in the judge's language: what it is asked, and our answers.
type transcript struct {
	seed           uint64
	lines, answers []string

	epoch *Epoch
	all   []Event // with those that were refused
	index map[inter.EventID]int
}

// judgeGraph makes the graph of a seed, and answers for this package.
func judgeGraph(seed uint64) transcript {
	r := rand.New(rand.NewPCG(seed, 0))
	s := randomShape(r)
	tr := transcript{seed: seed, index: map[inter.EventID]int{}}
	if err := tr.begin(s.weights); err != nil {
		panic(err)
	}
	g := newGenerator(s, r)
	for range s.events {
		e, p := g.next()
		for range 1 + r.IntN(s.siblings)*r.IntN(2) {
			ok, err := tr.add(g, &e)
			if err != nil {
				return tr
			}
			if ok {
				g.addAccepted(e, p)
			}
			if !s.cheats[p.validator] {
				break
			}
			e.ID[31]++ // another one, with the same parents
		}
	}
	tr.askRoots()
	tr.askCauses(r)
	return tr
}

func (tr *transcript) begin(weights []inter.Weight) error {
	line := fmt.Sprint("graph ", testEpoch, " ", testStart)
	var list []inter.Validator
	for i, w := range weights {
		list = append(list, inter.Validator{ID: inter.ValidatorID(i + 1), Weight: w})
		line += fmt.Sprintf(" %d:%d", i+1, w)
	}
	tr.lines = append(tr.lines, line)
	v, err := inter.NewValidators(list)
	if err != nil {
		return err
	}
	tr.epoch = New(Options{Number: testEpoch, Validators: v, Start: testStart})
	return nil
}

// add lets an event claim something, mostly what it may, and adds it. The error is
// that nothing can be decided any more.
func (tr *transcript) add(g *generator, e *Event) (bool, error) {
	own, err := tr.epoch.Propose(e)
	if err != nil {
		return false, err
	}
	frame, median := own.Frame, own.MedianTime
	e.Frame, e.MedianTime = frame, median
	self := inter.Frame(1)
	if e.Seq > 1 {
		self = tr.epoch.nodes[tr.epoch.numbers[e.Parents[0]]].frame
	}
	if g.r.Float64() < g.lazy || g.lazies[g.turn] && g.r.IntN(10) > 0 {
		e.Frame = self + inter.Frame(g.r.IntN(int(frame-self)+1))
	}
	if g.r.Float64() < g.wrong {
		switch g.r.IntN(4) {
		case 0:
			e.Frame = frame + 1 + inter.Frame(g.r.IntN(3))
		case 1:
			e.Frame = self - 1
		case 2:
			e.MedianTime++
		case 3:
			e.MedianTime--
		}
	}
	if g.r.IntN(3) == 0 {
		tr.lines = append(tr.lines, tr.line("build", e))
		tr.answers = append(tr.answers, fmt.Sprint("build ", frame, " ", median, sightLine(own.Sight)))
	}
	tr.index[e.ID] = len(tr.all)
	tr.all = append(tr.all, *e)
	tr.lines = append(tr.lines, tr.line("event", e))
	err = tr.epoch.Add(e)
	if err == nil {
		if ended := tr.decide(); ended != nil {
			tr.answers = append(tr.answers, "crit")
			return false, ended
		}
	}
	verdict := "ok"
	if err != nil {
		verdict = err.Error()
	}
	tr.answers = append(tr.answers, "event "+verdict)
	return err == nil, nil
}

// sightLine names what an event has seen as the judge does.
func sightLine(s Sight) string {
	line := ""
	for _, seq := range s {
		if seq == SeenFork {
			line += " fork"
		} else {
			line += fmt.Sprint(" ", seq)
		}
	}
	return line
}

func (tr *transcript) line(verb string, e *Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d %d %d %d %d", verb, hex.EncodeToString(e.ID[:]), e.Creator, e.Seq, e.Frame,
		e.CreationTime, e.MedianTime)
	for _, p := range e.Parents {
		fmt.Fprintf(&b, " %d", tr.index[p])
	}
	return b.String()
}

// decide answers with the decisions that the last event has brought.
func (tr *transcript) decide() error {
	for {
		d, err := tr.epoch.Next()
		if d == nil {
			if err != nil && !errors.Is(err, ErrByzantine) {
				panic(err)
			}
			return err
		}
		line := fmt.Sprint("decided ", d.Frame, " ", tr.index[d.Atropos], " :")
		for _, c := range d.Cheaters {
			line += fmt.Sprint(" ", c)
		}
		tr.answers = append(tr.answers, line+" :"+tr.inOrder(d.Confirmed))
	}
}

// inOrder names events as the judge does.
func (tr *transcript) inOrder(ids []inter.EventID) string {
	var numbers []int
	for _, id := range ids {
		numbers = append(numbers, tr.index[id])
	}
	slices.Sort(numbers)
	var b strings.Builder
	for _, n := range numbers {
		fmt.Fprint(&b, " ", n)
	}
	return b.String()
}

// rootsOf returns the roots of a frame, by what the accepted events claim.
func (tr *transcript) rootsOf(frame inter.Frame) []inter.EventID {
	var roots []inter.EventID
	for number := 1; number < len(tr.epoch.nodes); number++ {
		if n := tr.epoch.nodes[number]; n.frame >= frame && tr.epoch.nodes[n.self].frame < frame {
			roots = append(roots, tr.epoch.ids[number])
		}
	}
	return roots
}

func (tr *transcript) askRoots() {
	for frame := inter.Frame(1); ; frame++ {
		roots := tr.rootsOf(frame)
		tr.lines = append(tr.lines, fmt.Sprint("roots ", frame))
		tr.answers = append(tr.answers, "roots "+tr.inOrder(roots))
		if len(roots) == 0 {
			return
		}
	}
}

// askCauses asks which roots of a frame cause an event, of some events.
func (tr *transcript) askCauses(r *rand.Rand) {
	e := tr.epoch
	for range min(5, e.Len()) {
		number := uint32(1 + r.IntN(e.Len()))
		n := &e.nodes[number]
		before := e.nodes[n.self].frame
		if before == 0 {
			continue
		}
		frame := 1 + inter.Frame(r.IntN(int(before)))
		causes, _ := e.causes(n, e.row(number), frame)
		for _, root := range tr.rootsOf(frame) {
			tr.lines = append(tr.lines, fmt.Sprint("cause ", tr.index[e.ids[number]], " ", tr.index[root]))
			tr.answers = append(tr.answers, fmt.Sprint("cause ", slices.Contains(causes, e.numbers[root])))
		}
	}
}
