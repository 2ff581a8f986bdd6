package suite

import (
	"context"
	"fmt"
	"maps"
	"time"

	"tarn/bench/load"
)

// Parts of the suite traces.
const (
	askBlocks       = "blocks"
	askTransactions = "transactions"
)

// warming is how many requests of a part are asked before it is measured; asking is how many
// different ones there are.
const (
	warming = 64
	asking  = 1024
)

// traces is the suite of that name.
func (l *life) traces(ctx context.Context) error {
	n := l.runner.config.Network.(Tracing)
	values := parts{}
	ended, err := l.replaying(ctx, KeepTraces, l.runner.config.Network.(Following).Source, func(s *server) error {
		if _, _, err := l.settled(ctx, s); err != nil {
			return err
		}
		blocks, transactions, err := n.TraceQuestions(s.URL, l.seed(), asking)
		if err != nil {
			return fmt.Errorf("make questions: %w", err)
		}
		for _, part := range []struct {
			name string
			all  []load.Request
		}{{askBlocks, blocks}, {askTransactions, transactions}} {
			if err := l.askOnce(ctx, s, n, part.all, values.spanned(s, part.name)); err != nil {
				return fmt.Errorf("ask for %s: %w", part.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	values.remember(ended.Samples())
	l.values[Traces], l.samples[Traces] = values.all(), ended.Samples()
	return nil
}

// askOnce measures one call.
func (l *life) askOnce(ctx context.Context, s *server, n Tracing, all []load.Request, values map[string]float64) error {
	warm, err := load.Closed(ctx, l.runner.config.Options.Connect, all[:min(warming, len(all))], n.Traced)
	if err == nil && warm.Failures > 0 {
		err = fmt.Errorf("%d of %d requests had no answer; the first: %w", warm.Failures, warm.Failures+warm.Answers, warm.Failure)
	}
	if err != nil {
		return err
	}
	result, used, err := l.cycled(ctx, s, all, n.Traced)
	if err != nil {
		return err
	}
	values[until] = time.Since(s.began).Seconds()
	maps.Copy(values, answeredWith(result, used))
	return nil
}
