package dag

import (
	"math/rand/v2"
	"slices"

	"tarn/opera/inter"
)

// shape is what a random graph is like.
type shape struct {
	weights  []inter.Weight
	cheats   []bool // by validator
	silent   []bool
	events   int
	parents  int // at most
	sides    int // parts of the network that do not hear of each other
	join     int // events after which the sides hear of each other, and part again
	forks    float64
	stale    float64 // share of parents that are not the last that one could have
	lazy     float64 // share of events that claim a lower frame than they may
	lazies   []bool  // validators who mostly do
	sleep    int     // longest pause of a validator, in turns of all
	wrong    float64 // share of events that claim what is refused
	drift    int     // how far clocks differ
	siblings int     // how many forks of one event a cheater makes at once
}

// randomShape draws a shape: mostly graphs in which frames get decided although some
// cheat, are silent or late, now and then what no network would survive.
func randomShape(r *rand.Rand) shape {
	n := []int{1, 2, 3, 3, 4, 4, 5, 6, 7, 9, 13, 21, 34}[r.IntN(13)]
	s := shape{
		weights: randomWeights(r, n),
		cheats:  make([]bool, n), silent: make([]bool, n), lazies: make([]bool, n),
		events: 10 + n*(3+r.IntN(18)), parents: 1 + r.IntN(min(n, 10)),
		sides: 1 + r.IntN(2)*r.IntN(3), join: 1 + r.IntN(6*n),
		forks: []float64{0.02, 0.1, 0.5}[r.IntN(3)],
		stale: []float64{0, 0.1, 0.5}[r.IntN(3)],
		lazy:  []float64{0, 0, 0.1, 0.5}[r.IntN(4)],
		wrong: []float64{0, 0.1}[r.IntN(2)],
		drift: []int{1, 3, 1000}[r.IntN(3)], siblings: 1 + r.IntN(3),
		sleep: r.IntN(2) * (1 + r.IntN(12)),
	}
	if r.IntN(4) == 0 {
		for v := range s.lazies {
			s.lazies[v] = r.IntN(4) == 0
		}
	}
	if r.IntN(3) > 0 {
		s.parents, s.stale = min(n, 10), s.stale/5
	}
	var total, cheating, silent inter.Weight
	for _, w := range s.weights {
		total += w
	}
	kind := r.IntN(10)
	for _, v := range r.Perm(n) {
		w := s.weights[v]
		if third := total - (total*2/3 + 1); kind < 6 && cheating+silent+w <= third || kind == 9 && r.IntN(2) == 0 {
			if kind < 9 && r.IntN(3) == 0 {
				s.silent[v] = true
				silent += w
			} else {
				s.cheats[v] = true
				cheating += w
			}
		}
	}
	if kind == 9 && r.IntN(2) == 0 {
		s.sides, s.join = 2, s.events // nobody ever hears of both
	}
	return s
}

func randomWeights(r *rand.Rand, n int) []inter.Weight {
	weights := make([]inter.Weight, n)
	kind := r.IntN(6)
	for i := range weights {
		switch kind {
		case 0, 1:
			weights[i] = 1
		case 2:
			weights[i] = inter.Weight(1 + r.IntN(10))
		case 3:
			weights[i] = 1 << r.IntN(12)
		case 4:
			weights[i] = inter.Weight((1<<31 - 1) / n) // as much as there may be
		case 5:
			weights[i] = inter.Weight(1 + r.IntN(3)*33)
		}
	}
	return weights
}

// generator makes the events of a graph one after the other. It knows of the events
// that were accepted, by their places among those.
type generator struct {
	shape
	r      *rand.Rand
	events []Event
	self   []int // self-parents
	// tips are, for each side and validator, the validator's last event that the side
	// has heard of, -1 if it has heard of none.
	tips [][]int
	// at is the side that an honest validator is on.
	at []int
	// turns is the order in which validators take turns, and made counts them.
	turns []int
	made  int
	turn  int   // whose event was the last
	awake []int // the turn with which a validator's pause ends
	clock int
}

func newGenerator(s shape, r *rand.Rand) *generator {
	g := &generator{shape: s, r: r, turns: r.Perm(len(s.weights)), at: make([]int, len(s.weights)),
		awake: make([]int, len(s.weights)), clock: 2000}
	for range s.sides {
		tips := make([]int, len(s.weights))
		for v := range tips {
			tips[v] = -1
		}
		g.tips = append(g.tips, tips)
	}
	g.part()
	return g
}

// part lets each validator go to a side.
func (g *generator) part() {
	for v := range g.at {
		g.at[v] = g.r.IntN(g.sides)
	}
}

// meet lets all sides hear of each other's events, of one branch of each cheater's.
func (g *generator) meet() {
	for v := range g.at {
		tip := g.tips[g.at[v]][v]
		for side := range g.tips {
			if !g.cheats[v] || g.r.IntN(2) == 0 {
				g.tips[side][v] = tip
			}
		}
	}
}

// next returns an event that may be added, and what accepted must be told if it was. It
// has no frame and no median time.
func (g *generator) next() (Event, proposal) {
	for {
		if g.made%g.join == g.join-1 {
			g.meet()
			g.part()
		}
		v := g.turns[g.made%len(g.turns)]
		g.made++
		if g.r.IntN(8) == 0 {
			v = g.r.IntN(len(g.turns))
		}
		if !slices.Contains(g.silent, false) {
			g.silent[v] = false
		}
		if g.silent[v] || g.made < g.awake[v] {
			continue
		}
		if g.sleep > 0 && g.r.IntN(12) == 0 {
			g.awake[v] = g.made + g.r.IntN(g.sleep*len(g.at))
		}
		g.turn = v
		return g.eventOf(v)
	}
}

// proposal is where a new event belongs.
type proposal struct {
	side, validator, self int
	parents               []int
}

// eventOf makes an event of a validator, on a side of its choice if it cheats.
func (g *generator) eventOf(v int) (Event, proposal) {
	if g.cheats[v] {
		return g.eventAt(v, g.r.IntN(g.sides))
	}
	return g.eventAt(v, g.at[v])
}

func (g *generator) eventAt(v, side int) (Event, proposal) {
	p := proposal{side: side, validator: v}
	p.self = g.tips[p.side][v]
	if g.cheats[v] && g.r.Float64() < g.forks {
		for range 1 + g.r.IntN(6) {
			if p.self >= 0 {
				p.self = g.self[p.self]
			}
		}
	}
	e := Event{Creator: inter.ValidatorID(v + 1), Seq: 1, CreationTime: inter.Timestamp(g.clock + g.r.IntN(g.drift))}
	g.clock += g.r.IntN(3)
	if p.self >= 0 {
		e.Seq = g.events[p.self].Seq + 1
		e.CreationTime = max(e.CreationTime, g.events[p.self].CreationTime+1)
		p.parents = append(p.parents, p.self)
	}
	p.parents = append(p.parents, g.others(p.side, v)...)
	var lamport inter.Lamport
	for _, at := range p.parents {
		lamport = max(lamport, g.events[at].ID.Lamport())
		e.Parents = append(e.Parents, g.events[at].ID)
	}
	var locator [32]byte
	for i := range locator {
		locator[i] = byte(g.r.Uint32())
	}
	e.ID = inter.NewEventID(testEpoch, lamport+1, locator)
	return e, p
}

// others chooses parents of other validators, now and then two of a cheater's.
func (g *generator) others(side, v int) []int {
	var chosen []int
	for _, u := range g.r.Perm(len(g.at)) {
		if len(chosen) >= g.parents-1 {
			break
		}
		at := g.tips[side][u]
		if g.cheats[u] && g.r.IntN(10) == 0 {
			at = g.tips[g.r.IntN(g.sides)][u]
		}
		for at >= 0 && g.r.Float64() < g.stale {
			at = g.self[at]
		}
		if at < 0 || u == v || slices.Contains(chosen, at) {
			continue
		}
		chosen = append(chosen, at)
		if twin := g.tips[g.r.IntN(g.sides)][u]; g.r.IntN(5) == 0 && twin >= 0 && !slices.Contains(chosen, twin) {
			chosen = append(chosen, twin)
		}
	}
	return chosen
}

// addAccepted is told that the event is one of the graph's now.
func (g *generator) addAccepted(e Event, p proposal) {
	g.events = append(g.events, e)
	g.self = append(g.self, p.self)
	g.tips[p.side][p.validator] = len(g.events) - 1
}
