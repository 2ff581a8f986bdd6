package suite

import (
	"context"
	"fmt"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
)

// Traces is the name of the suite of questions for the traces that a node keeps.
const Traces = "traces"

// Its parts.
const (
	askBlocks       = "blocks"
	askTransactions = "transactions"
)

func tracesSuite() Suite {
	return Suite{
		Name: Traces,
		How: "A new node replays the chain and keeps traces. Then it answers requests over HTTP, first for " +
			"blocks with transactions, then for transactions. Each of the connections sends its next request " +
			"when its last one is answered. Half of the requests are for anywhere in the chain, half for its " +
			"last tenth. No new blocks are made. The client shares the processors with the node.",
		Article: "–",
		Time:    "twice --ask-for",
		Disk:    "the chain and its traces",
		options: func(o *record.Options) []Option { return []Option{connectionsOption(o), askForOption(o)} },
		needs:   traces,
		chart:   record.Chart{Metric: rate, Title: "requests for traces answered per second"},
		metrics: counts(inParts(list(more(perSecond, rate), of(seconds, half, nearAll, each, client),
			of(bytesUnit, private)),
			askBlocks, askTransactions)),
		run: runTraces,
	}
}

// asking is how many different requests of a part there are.
const asking = 1024

func runTraces(ctx context.Context, l *life, found *findings) error {
	n := l.network.(Tracing)
	values := parts{}
	ended, err := replaying(ctx, l, KeepTraces, l.network.(Following).Source, func(s *server) error {
		if _, _, err := awaitSettled(ctx, l, s); err != nil {
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
			of := values.span(s, part.name)
			if err := askOnce(ctx, l.options, s, n.Traced, part.all, of); err != nil {
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
	found.put(Traces, values.all(), ended.Samples())
	return nil
}
