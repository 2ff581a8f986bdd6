package suite

import (
	"context"
	"time"

	"tarn/bench/record"
)

// P2P is the name of the suite in which a peer sends transfers.
const P2P = "p2p"

func p2pSuite() Suite {
	return Suite{
		Name: P2P,
		How: "One peer sends transfers, signed before, one per transaction. The time ends when they are in " +
			"blocks: the last may wait half a second for its block.",
		Article: "–",
		Time:    "seconds",
		Disk:    "the chain",
		options: func(o *record.Options) []Option { return []Option{pushOption(o)} },
		needs:   gossips,
		chart:   record.Chart{Metric: rate, Title: "transfers per second taken from a peer"},
		metrics: counts(more(perSecond, rate), of(number, lost), of(seconds, per, clientPer)),
		collect: []collector{privateMemory()},
		run: func(ctx context.Context, l *life, found *findings) error {
			return l.with(ctx, func(s *server) error { return gossip(ctx, l, s, found) })
		},
	}
}

// gossip sends a node transfers as a peer, and ends it.
func gossip(ctx context.Context, l *life, s *server, found *findings) error {
	if _, err := s.producing(ctx); err != nil {
		return err
	}
	var taken int
	var length time.Duration
	used, err := s.costOf(func(ready func() error) (err error) {
		taken, length, err = l.network.(Gossiping).Gossip(ctx, s.Node, l.seed(), l.options.Push, ready)
		return err
	})
	if err != nil {
		return err
	}
	if _, _, err := s.stop(ctx); err != nil {
		return err
	}
	count := float64(taken)
	found.keep(P2P, s.Child, map[string]float64{
		rate: count / length.Seconds(), lost: float64(l.options.Push - taken), per: used.node / count,
		clientPer: used.client / count,
	})
	return nil
}
