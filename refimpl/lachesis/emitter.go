package main

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"github.com/Fantom-foundation/go-opera/utils"
	"github.com/Fantom-foundation/go-opera/utils/adapters/vecmt2dagidx"
	"github.com/Fantom-foundation/lachesis-base/emitter/ancestor"
	"github.com/Fantom-foundation/lachesis-base/hash"
	"github.com/Fantom-foundation/lachesis-base/inter/idx"
	"github.com/Fantom-foundation/lachesis-base/inter/pos"
	"github.com/Fantom-foundation/lachesis-base/utils/piecefunc"
)

// me is the validator for whom events are worth something.
const me = 1

// watcher is what a validator's emitter knows.
type watcher struct {
	quorum *ancestor.QuorumIndexer
	roots  *ancestor.FCIndexer
}

func newWatcher(g *graph) *watcher {
	const unit = piecefunc.DecimalUnit
	news := piecefunc.NewFunc([]piecefunc.Dot{
		{X: 0, Y: 0}, {X: 1 * unit, Y: 0.66 * unit}, {X: 2 * unit, Y: 0.8 * unit}, {X: 8 * unit, Y: 0.99 * unit},
		{X: 100 * unit, Y: 0.999 * unit}, {X: 10000 * unit, Y: 0.9999 * unit},
	})
	value := func(events idx.Event, v idx.Validator) ancestor.Metric {
		weight := ancestor.Metric(g.validators.GetWeightByIdx(v))
		return ancestor.Metric(news(uint64(events)*unit)) * weight / ancestor.Metric(g.validators.TotalWeight())
	}
	worth := func(median, current, update idx.Event, v idx.Validator) ancestor.Metric {
		switch {
		case update <= median || update <= current:
			return 0
		case median < current:
			return value(update-median, v) - value(current-median, v)
		}
		return value(update-median, v)
	}
	return &watcher{
		quorum: ancestor.NewQuorumIndexer(g.validators, vecmt2dagidx.Wrap(g.index), worth),
		roots:  ancestor.NewFCIndexer(g.validators, g.index, me),
	}
}

// watch indexes an event and tells the watcher of it.
func (g *graph) watch(words []string) string {
	if g.watcher == nil {
		g.watcher = newWatcher(g)
	}
	e := g.parse(words)
	g.numbers[e.ID()] = len(g.events)
	g.events = append(g.events, e)
	g.known[e.ID()] = e
	if err := g.index.Add(e); err != nil {
		panic(err)
	}
	g.index.Flush()
	g.watcher.quorum.ProcessEvent(e, e.Creator() == me)
	g.watcher.roots.ProcessEvent(e)
	return "watch"
}

// worth says what an event would be worth, which is not kept.
func (g *graph) worth(words []string) string {
	e := g.parse(words)
	g.drafts++
	e.SetID([24]byte(new(big.Int).SetUint64(g.drafts).FillBytes(make([]byte, 24))))
	defer g.index.DropNotFlushed()
	if err := g.index.Add(e); err != nil {
		panic(err)
	}
	return fmt.Sprint("worth ", g.watcher.quorum.GetMetricOf(hash.Events{e.ID()}), " ",
		g.watcher.roots.ValidatorsPastMe(), " ", g.watcher.roots.GetMetricOf(e.Parents()))
}

// order says who comes first, of validators with these weights.
func order(words []string) string {
	seed, err := hex.DecodeString(words[1])
	if err != nil {
		panic(err)
	}
	var weights []pos.Weight
	for _, word := range words[2:] {
		weights = append(weights, pos.Weight(number(word)))
	}
	var b strings.Builder
	for _, i := range utils.WeightedPermutation(int(number(words[0])), weights, hash.Hash(seed)) {
		fmt.Fprint(&b, " ", i)
	}
	return "order" + b.String()
}
