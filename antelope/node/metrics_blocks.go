package node

import (
	"maps"
	"slices"
	"sync"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
	"tarn/httpserver/exposition"
)

// blocksTimes are how long blocks took, and how late they were.
type blocksTimes struct{ apply, late, produce *exposition.Histogram }

func newBlocksTimes() blocksTimes {
	return blocksTimes{
		apply:   exposition.NewHistogram(exposition.Durations()...),
		late:    exposition.NewHistogram(exposition.Durations()...),
		produce: exposition.NewHistogram(exposition.Durations()...),
	}
}

func (t *blocksTimes) append(w *exposition.Writer) {
	for _, h := range []struct {
		name, help string
		of         *exposition.Histogram
	}{
		{"tarn_block_apply_seconds", "Time to apply received blocks", t.apply},
		{"tarn_block_lateness_seconds", "Age of received blocks when they were applied", t.late},
		{"tarn_block_produce_seconds", "Time to produce blocks", t.produce},
	} {
		w.Metric(h.name, exposition.Buckets, h.help)
		w.Distribution(h.of.Read())
	}
}

// A block is late if it became the head so long after its time. One that is older still
// belongs to a time that the node was not at.
const (
	lateAfter = time.Second
	longPast  = 30 * time.Second
)

// What a chain can have counted: a chain that stood still for a year misses 63 million
// blocks with the next one, and any number of accounts can be elected in turn.
const (
	maxMissed    = 10_000 // slots looked at for a block
	maxProducers = 500    // told apart; more are called other
	otherName    = "other"
)

// producers counts the blocks of each producer, and forks. The zero value is ready. Its
// methods may be called by all goroutines, its hooks by the writer.
type producers struct {
	before *consensus.BlockState // the writer's: what was accepted last

	mu     sync.Mutex // over what follows
	of     map[string]*produced
	forks  uint64
	undone uint64 // blocks that a switch of forks took back
}

type produced struct{ blocks, late, missed uint64 }

func (p *producers) hooks() chain.Hooks {
	return chain.Hooks{
		AcceptedBlock: func(b *consensus.BlockState) { p.countBlock(b, time.Now()) },
		Forked: func(list []*consensus.BlockState) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.forks++
			p.undone += uint64(len(list))
		},
	}
}

// countBlock counts a block that became the head, and those that should have come before it.
func (p *producers) countBlock(b *consensus.BlockState, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.count(b.Header.Producer)
	at.blocks++
	if age := now.Sub(b.Header.Timestamp.TimePoint().Time()); age > lateAfter && age < longPast {
		at.late++
	}
	if before := p.before; before != nil && before.ID == b.Header.Previous {
		last := min(b.Header.Timestamp, before.Header.Timestamp+maxMissed)
		for slot := before.Header.Timestamp + 1; slot < last; slot++ {
			if turn := before.ScheduledProducer(slot); turn != nil {
				p.count(turn.Producer).missed++
			}
		}
	}
	p.before = b
}

// count is where a producer is counted.
func (p *producers) count(producer types.Name) *produced {
	name := producer.String()
	if p.of[name] == nil && len(p.of) >= maxProducers {
		name = otherName
	}
	at := p.of[name]
	if at == nil {
		if p.of == nil {
			p.of = map[string]*produced{}
		}
		at = new(produced)
		p.of[name] = at
	}
	return at
}

// writeTotals are sums over all producers.
func (p *producers) totals() (all produced, forks uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.of {
		all.blocks, all.late, all.missed = all.blocks+at.blocks, all.late+at.late, all.missed+at.missed
	}
	return all, p.forks
}

func (p *producers) append(w *exposition.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := slices.Sorted(maps.Keys(p.of))
	each := func(name, help string, of func(*produced) uint64) {
		w.Metric(name, exposition.Counter, help)
		for _, n := range names {
			w.Sample(float64(of(p.of[n])), "producer", n)
		}
	}
	each("tarn_producer_blocks_total", "Blocks that became the head, by who produced them", func(at *produced) uint64 {
		return at.blocks
	})
	each("tarn_producer_late_blocks_total", "Blocks that became the head 1 to 30 s after their time",
		func(at *produced) uint64 { return at.late })
	each("tarn_producer_missed_blocks_total",
		"Missed blocks, by scheduled producer",
		func(at *produced) uint64 { return at.missed })
	w.Count("tarn_forks_total", "Switches to another fork", p.forks)
	w.Count("tarn_forked_blocks_total", "Blocks that a switch of forks took back", p.undone)
}
