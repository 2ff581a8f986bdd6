package suite

import (
	"context"
	"fmt"
	"maps"

	"tarn/bench/load"
	"tarn/bench/record"
)

// Calls is the name of the suite of questions that change nothing, each kind alone.
const Calls = "calls"

func callsSuite() Suite {
	return Suite{
		Name: Calls,
		How: "Each kind of call is measured alone. Each of the connections sends its next request when its " +
			"last one is answered. The accounts in the requests are chosen at random. Of a table, ten rows are " +
			"requested. The client shares the processors with the node.",
		Article: "–",
		Time:    "--ask-for, for each call",
		Disk:    "the chain",
		options: func(o *record.Options) []Option {
			return []Option{connectionsOption(o), askForOption(o), questionsOption(o)}
		},
		needs: asks,
		chart: record.Chart{Metric: rate, Title: "answers per second, each kind of call alone"},
		metrics: func(n Network) []record.Metric {
			return inParts(list(more(perSecond, rate), of(seconds, half, nearAll, each, client)), n.(Asking).Calls()...)
		},
		run: runCalls,
	}
}

func runCalls(ctx context.Context, l *life, found *findings) error {
	return l.with(ctx, func(s *server) error {
		n := l.network.(Asking)
		values := parts{}
		for _, call := range n.Calls() {
			all, err := l.questions(ctx, n, s.URL, call)
			if err == nil {
				err = askOnce(ctx, l.options, s, n.Answered, all, values.of(call))
			}
			if err != nil {
				return fmt.Errorf("ask %s: %w", call, err)
			}
		}
		found.put(Calls, values.all(), s.Samples())
		return nil
	})
}

// warming is how many requests are asked before a loop is measured.
const warming = 64

// askOnce measures one kind of requests.
func askOnce(ctx context.Context, o record.Options, s *server, judge load.Judge, all []load.Request,
	values map[string]float64) error {
	warm, err := load.Closed(ctx, o.Connect, all[:min(warming, len(all))], judge)
	if err == nil && warm.Failures > 0 {
		err = fmt.Errorf("%d of %d requests had no answer; the first: %w", warm.Failures, warm.Failures+warm.Answers,
			warm.Failure)
	}
	if err != nil {
		return err
	}
	result, used, err := s.cycle(ctx, o, all, judge)
	if err != nil {
		return err
	}
	maps.Copy(values, answeredWith(result, used))
	return nil
}
