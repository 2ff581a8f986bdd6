package suite

import (
	"context"
	"slices"
	"time"

	"tarn/bench/record"
)

// ServeBlocks is the name of the suite in which light peers fetch the chain from a node.
const ServeBlocks = "serve-blocks"

// Names of its values.
const (
	perCore = "sent per core"
	chains  = "chains fetched"
)

func serveBlocksSuite() Suite {
	return Suite{
		Name: ServeBlocks,
		How: "Light peers are connected, and some of them fetch the whole chain again and again. The bits " +
			"sent are those that the peers received.",
		Article: "outbound network (W2)",
		Time:    "--peer-for",
		Disk:    "the chain",
		options: func(o *record.Options) []Option {
			return []Option{peersOption(o), peerForOption(o),
				{"syncing", "peers that fetch the chain, of those of serve-blocks", &o.Syncing,
					wrongIf(slices.Contains(o.Suites, ServeBlocks) && (o.Syncing < 1 || o.Syncing > o.Peers),
						"%d peers that fetch the chain: from 1 to all %d", o.Syncing, o.Peers)}}
		},
		needs: isFetched,
		chart: record.Chart{Metric: sent, Title: "bits per second sent to peers", Articles: []record.Article{
			{Name: "WAX article, lowest", Value: 48e6},
			{Name: "WAX article, highest", Value: 133e6},
		}},
		metrics: counts(more(bitRate, sent, perCore), of(percent, share), of(number, chains, peersLost)),
		collect: []collector{privateMemory()},
		run: func(ctx context.Context, l *life, found *findings) error {
			return l.with(ctx, func(s *server) error { return serveBlocks(ctx, l, s, found) })
		},
	}
}

// serveBlocks has peers fetch the chain from a node, and ends it.
func serveBlocks(ctx context.Context, l *life, s *server, found *findings) error {
	crowd, err := crowdOn(ctx, l, s.Node, Node{}, l.options.Syncing)
	if err != nil {
		return err
	}
	defer crowd.Close()
	v, err := watchCrowd(ctx, l, crowd, s, func(length time.Duration) error { return pause(ctx, length) })
	if err != nil {
		return err
	}
	crowd.Close()
	if _, _, err := s.stop(ctx); err != nil {
		return err
	}
	bits := 8 * float64(v.sight.Bytes)
	found.keep(ServeBlocks, s.Child, map[string]float64{
		sent: bits / v.elapsed, perCore: bits / max(v.node, 1e-9), share: v.share(), chains: float64(v.sight.Chains),
		peersLost: v.failures(),
	})
	return nil
}
