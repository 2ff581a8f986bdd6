package suite

import (
	"context"
	"fmt"
	"time"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// Names of the values of a pace.
const (
	gapHalf    = "median gap"
	gapNearAll = "99 % of gaps within"
	gapLongest = "longest gap"
	latest     = "longest delay of a block"
)

// ofBlocks and ofTransfers are the metrics of a pace.
func ofBlocks() []record.Metric {
	return list(of(number, blocks), of(seconds, gapHalf, gapNearAll, gapLongest, latest),
		more(number, taken), of(number, lost))
}

// Pace is how a node's blocks came to a peer that sent it transfers.
type Pace struct {
	Sent, Taken int // transfers; those in blocks
	Blocks      int
	Gaps        figuretable.Latencies // between two blocks
	Longest     time.Duration         // of these
	Late        time.Duration         // the latest that a block came, from the begin of its half second
}

// put adds the times of blocks to the values of a part.
func (p *Pace) put(values map[string]float64) {
	values[blocks], values[gapHalf], values[gapNearAll] = float64(p.Blocks), p.Gaps.Quantile(0.5)/1e9,
		p.Gaps.Quantile(0.99)/1e9
	values[gapLongest], values[latest] = p.Longest.Seconds(), p.Late.Seconds()
	values[taken], values[lost] = float64(p.Taken), float64(p.Sent-p.Taken)
}

// sendLoad gives a node steady transfers for a time, beside so many transactions of others, and
// counts what that costs. Before they begin, begins is called.
func sendLoad(ctx context.Context, l *life, s *server, length time.Duration, besides int,
	begins func() error) (pace Pace, used cost, err error) {
	used, err = s.costOf(func(ready func() error) (err error) {
		l.loads++
		pace, err = l.network.(Loading).Load(ctx, s.Node, Load{
			Seed: l.seed() + uint64(l.loads)<<16, Rate: l.options.Load, For: length, Besides: besides,
			Ready: func() error {
				if err := begins(); err != nil {
					return err
				}
				return ready()
			}})
		return err
	})
	if err == nil && pace.Gaps.Count == 0 {
		err = fmt.Errorf("a peer saw no two blocks within %s", length)
	}
	return pace, used, err
}
