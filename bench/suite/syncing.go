package suite

import (
	"context"
	"errors"

	"tarn/bench/load"
	"tarn/bench/record"
)

// Syncing is the name of the suite in which a node answers questions while it gets the chain.
const Syncing = "syncing"

// Names of its values.
const (
	failed = "requests without an answer"
	asLong = "slowest answer"
)

func syncingSuite() Suite {
	return Suite{
		Name: Syncing,
		How: "As `sync`, while requests such as those of `rpc` come at --ask-rate. The time of a request " +
			"begins when it should be sent; a request that is not answered yet does not delay the next one. The " +
			"processor time includes the blocks and the answers.",
		Article: "–",
		Time:    "seconds",
		Disk:    "the chain, twice",
		options: func(o *record.Options) []Option {
			return []Option{sourceOption(o), askRateOption(o), questionsOption(o)}
		},
		needs: func(n Network) bool { return follows(n) && asks(n) },
		chart: record.Chart{Metric: took, Title: "time to get the whole chain while requests are answered"},
		metrics: counts(of(seconds, took), more(perSecond, blockRate), of(seconds, processor, source, nearAll, asLong),
			of(number, failed)),
		collect: []collector{privateMemory()},
		run:     runSyncing,
	}
}

func runSyncing(ctx context.Context, l *life, found *findings) error {
	return following(ctx, l, Syncing, found, func(s, from *server) (map[string]float64, error) {
		n := l.network.(Asking)
		all, err := l.questions(ctx, n, s.URL, "")
		if err != nil {
			return nil, err
		}
		var got progress
		whole, fetched := make(chan struct{}), make(chan error, 1)
		go func() {
			defer close(whole)
			var err error
			got, err = fetch(ctx, l, s, from, 0)
			fetched <- err
		}()
		r, err := load.Until(ctx, whole, l.options.AskRate, importPatience, load.Again(all), n.Answered, nil)
		if err = errors.Join(<-fetched, err); err != nil {
			return nil, err
		}
		return map[string]float64{
			took: got.took.Seconds(), blockRate: got.rate(), processor: got.node, source: got.given,
			nearAll: r.Latencies.Quantile(0.99) / 1e9, asLong: r.Longest().Seconds(), failed: float64(r.Failures),
		}, nil
	})
}
