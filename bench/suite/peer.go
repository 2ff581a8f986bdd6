package suite

import (
	"context"
	"fmt"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
)

// Peer is the name of the suite in which light peers follow a node.
const Peer = "peer"

// Names of its values.
const (
	delay       = "median time of a block"
	nearAllTold = "99 % of blocks within"
)

func peerSuite() Suite {
	return Suite{
		Name: Peer,
		How: "Light peers follow the node. The node gets its blocks from another node, the source, which " +
			"takes transfers at the rate. The time of a block begins when the first node has the block. The " +
			"peers and the source share the processors with the node.",
		Article: "processor with 180-200 peers (E1, W1)",
		Time:    "--peer-for",
		Disk:    "the chain, twice",
		options: func(o *record.Options) []Option {
			return []Option{peersOption(o), peerForOption(o), rateOption(o), sourceOption(o), sourceDirOption(o)}
		},
		check: neverIdle, // without transfers there are no blocks to tell of
		needs: crowds,
		chart: record.Chart{Metric: share, Title: "processor with peers that follow", Articles: []record.Article{
			{Name: "EOS article, Leap 5, 180 to 195 peers", Value: 240},
			{Name: "EOS article, Leap 4, 180 to 195 peers", Value: 340},
		}},
		metrics: counts(of(percent, share), of(seconds, delay, nearAllTold), of(bitRate, sent), of(number, peersLost)),
		collect: []collector{threadsOf(), privateMemory()},
		run: func(ctx context.Context, l *life, found *findings) error {
			return l.withFollower(ctx, nil, func(from, s *server) error { return followedBy(ctx, l, from, s, found) })
		},
	}
}

// followedBy has light peers follow a node, which follows another that takes transfers, and ends it.
func followedBy(ctx context.Context, l *life, from, s *server, found *findings) error {
	crowd, err := crowdOn(ctx, l, s.Node, from.Node, 0)
	if err != nil {
		return err
	}
	defer crowd.Close()
	v, err := watchCrowd(ctx, l, crowd, s, func(length time.Duration) error { return l.transfersTo(ctx, from, length) })
	if err != nil {
		return err
	}
	if _, _, err := s.stop(ctx); err != nil {
		return err
	}
	found.keep(Peer, s.Child, map[string]float64{
		share: v.share(), delay: v.sight.Delays.Quantile(0.5) / 1e9, nearAllTold: v.sight.Delays.Quantile(0.99) / 1e9,
		sent: 8 * float64(v.sight.Bytes) / v.elapsed, peersLost: v.failures(),
	})
	return nil
}

// transfersTo sends a node transfers at the rate for a time, and fails if it does not take all.
func (l *life) transfersTo(ctx context.Context, s *server, length time.Duration) error {
	n := l.network.(Serving)
	transfers, err := n.Transfers(s.URL, l.seed())
	if err != nil {
		return err
	}
	r, err := load.Open(ctx, l.options.Rate, length, transfers, n.Accepted, nil)
	if err == nil && r.Failures > 0 {
		err = fmt.Errorf("%d transfers were not taken; the first: %w", r.Failures, r.Failure)
	}
	return err
}
