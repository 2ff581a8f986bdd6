package suite

import (
	"context"
	"fmt"
	"time"

	"tarn/bench/load"
)

// Parts of the suite traces.
const (
	askBlocks       = "blocks"
	askTransactions = "transactions"
)

// asking is how many different requests of a part there are.
const asking = 1024

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
			of := values.spanned(s, part.name)
			if err := l.askOnce(ctx, s, n.Traced, part.all, of); err != nil {
				return fmt.Errorf("ask for %s: %w", part.name, err)
			}
			of[until] = time.Since(s.began).Seconds()
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
