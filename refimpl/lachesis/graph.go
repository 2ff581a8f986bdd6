package main

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"time"

	opera "github.com/Fantom-foundation/go-opera/inter"
	"github.com/Fantom-foundation/go-opera/utils/adapters/vecmt2dagidx"
	"github.com/Fantom-foundation/go-opera/vecmt"
	"github.com/Fantom-foundation/lachesis-base/abft"
	"github.com/Fantom-foundation/lachesis-base/hash"
	"github.com/Fantom-foundation/lachesis-base/inter/dag"
	"github.com/Fantom-foundation/lachesis-base/inter/idx"
	"github.com/Fantom-foundation/lachesis-base/inter/pos"
	"github.com/Fantom-foundation/lachesis-base/kvdb"
	"github.com/Fantom-foundation/lachesis-base/kvdb/memorydb"
	"github.com/Fantom-foundation/lachesis-base/lachesis"
	"github.com/Fantom-foundation/lachesis-base/utils/cachescale"
)

// event is an event as the originals want it.
type event struct {
	dag.MutableBaseEvent
	creation, median opera.Timestamp
}

// CreationTime is asked for by the vector index.
func (e *event) CreationTime() opera.Timestamp { return e.creation }

// graph is one epoch with the originals' index and engine.
type graph struct {
	epoch      idx.Epoch
	start      opera.Timestamp
	validators *pos.Validators

	index   *vecmt.Index
	store   *abft.Store
	engine  *abft.Lachesis
	watcher *watcher // nil until an event is watched

	events  []*event // all, refused ones too
	numbers map[hash.Event]int
	known   map[hash.Event]*event // not the refused ones
	drafts  uint64                // ids of events that are only built
	decided []string
	ended   bool
}

func number(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func newGraph(words []string) *graph {
	builder := pos.NewBuilder()
	for _, word := range words[2:] {
		id, weight, _ := strings.Cut(word, ":")
		builder.Set(idx.ValidatorID(number(id)), pos.Weight(number(weight)))
	}
	g := &graph{
		epoch:      idx.Epoch(number(words[0])),
		start:      opera.Timestamp(number(words[1])),
		validators: builder.Build(),
	}
	g.reset(vecmt.DefaultConfig(cachescale.Identity), abft.DefaultStoreConfig(cachescale.Identity))
	return g
}

// reset begins the epoch.
func (g *graph) reset(vectors vecmt.IndexConfig, roots abft.StoreConfig) {
	crit := func(err error) { panic(err) }
	g.numbers, g.known = map[hash.Event]int{}, map[hash.Event]*event{}
	g.index = vecmt.NewIndex(crit, vectors)
	g.store = abft.NewStore(memorydb.New(), func(idx.Epoch) kvdb.Store { return memorydb.New() }, crit, roots)
	if err := g.store.ApplyGenesis(&abft.Genesis{Epoch: g.epoch, Validators: g.validators}); err != nil {
		panic(err)
	}
	g.engine = abft.NewLachesis(g.store, g, vecmt2dagidx.Wrap(g.index), crit, abft.LiteConfig())
	if err := g.engine.Bootstrap(lachesis.ConsensusCallbacks{BeginBlock: g.block}); err != nil {
		panic(err)
	}
	g.index.Reset(g.validators, memorydb.New(), func(id hash.Event) dag.Event { return g.GetEvent(id) })
}

// GetEvent and HasEvent are what the engine asks about events.
func (g *graph) GetEvent(id hash.Event) dag.Event {
	if e, ok := g.known[id]; ok {
		return e
	}
	return nil
}

func (g *graph) HasEvent(id hash.Event) bool { return g.known[id] != nil }

// block notes a decided frame.
func (g *graph) block(b *lachesis.Block) lachesis.BlockCallbacks {
	var confirmed []int
	return lachesis.BlockCallbacks{
		ApplyEvent: func(e dag.Event) { confirmed = append(confirmed, g.numbers[e.ID()]) },
		EndBlock: func() *pos.Validators {
			line := fmt.Sprint("decided ", g.store.GetLastDecidedFrame()+1, " ", g.numbers[b.Atropos], " :")
			for _, c := range b.Cheaters {
				line += fmt.Sprint(" ", c)
			}
			g.decided = append(g.decided, line+" :"+inOrder(confirmed))
			return nil
		},
	}
}

func inOrder(numbers []int) string {
	sort.Ints(numbers)
	var b strings.Builder
	for _, n := range numbers {
		fmt.Fprint(&b, " ", n)
	}
	return b.String()
}

// event processes an event.
func (g *graph) event(words []string) string {
	e := g.parse(words)
	g.numbers[e.ID()] = len(g.events)
	g.events = append(g.events, e)
	verdict := "ok"
	if err := g.process(e); err != nil {
		verdict = err.Error()
	}
	lines := append(g.decided, "event "+verdict)
	g.decided = nil
	return strings.Join(lines, "\n")
}

func (g *graph) parse(words []string) *event {
	id, err := hex.DecodeString(words[0])
	if err != nil {
		panic(err)
	}
	e := &event{creation: opera.Timestamp(number(words[4])), median: opera.Timestamp(number(words[5]))}
	e.SetEpoch(g.epoch)
	e.SetLamport(idx.Lamport(new(big.Int).SetBytes(id[4:8]).Uint64()))
	e.SetCreator(idx.ValidatorID(number(words[1])))
	e.SetSeq(idx.Event(number(words[2])))
	e.SetFrame(idx.Frame(number(words[3])))
	var parents hash.Events
	for _, word := range words[6:] {
		parents.Add(g.events[number(word)].ID())
	}
	e.SetParents(parents)
	e.SetID([24]byte(id[8:]))
	return e
}

// build says what a validator would claim. As in a node, its event has an id of
// which there is no other, for the engine remembers what causes which id.
func (g *graph) build(words []string) string {
	e := g.parse(words)
	g.drafts++
	e.SetID([24]byte(new(big.Int).SetUint64(g.drafts).FillBytes(make([]byte, 24))))
	defer g.index.DropNotFlushed()
	if err := g.index.Add(e); err != nil {
		panic(err)
	}
	median := g.index.MedianTime(e.ID(), g.start)
	if err := g.engine.Build(e); err != nil {
		panic(err)
	}
	line := fmt.Sprint("build ", e.Frame(), " ", median)
	seen := vecmt2dagidx.Wrap(g.index).GetMergedHighestBefore(e.ID())
	for i := idx.Validator(0); i < g.validators.Len(); i++ {
		if s := seen.Get(i); s.IsForkDetected() {
			line += " fork"
		} else {
			line += fmt.Sprint(" ", s.Seq())
		}
	}
	return line
}

// process does what a node does with an event that has passed the other checks.
func (g *graph) process(e *event) error {
	g.known[e.ID()] = e
	defer g.index.DropNotFlushed()
	err := g.connect(e)
	if err != nil {
		delete(g.known, e.ID())
		return err
	}
	g.index.Flush()
	return nil
}

func (g *graph) connect(e *event) error {
	if err := g.index.Add(e); err != nil {
		return err
	}
	if e.median != g.index.MedianTime(e.ID(), g.start) {
		return fmt.Errorf("wrong event median time")
	}
	return g.engine.Process(e)
}

// roots names the roots of a frame.
func (g *graph) roots(frame uint64) string {
	var numbers []int
	for _, r := range g.store.GetFrameRoots(idx.Frame(frame)) {
		numbers = append(numbers, g.numbers[r.ID])
	}
	return inOrder(numbers)
}

// bench processes the events of the graph, and tells how long it took.
func (g *graph) bench() string {
	g.reset(vecmt.DefaultConfig(cachescale.Identity), abft.DefaultStoreConfig(cachescale.Identity))
	begin := time.Now()
	for i, e := range g.events {
		g.numbers[e.ID()] = i
		if err := g.process(e); err != nil {
			panic(err)
		}
	}
	return fmt.Sprint(time.Since(begin).Seconds(), " ", len(g.decided))
}
