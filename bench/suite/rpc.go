package suite

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"tarn/bench/load"
	"tarn/bench/record"
)

// RPC is the name of the suite of questions that change nothing, in a mix.
const RPC = "rpc"

// Names of its values.
const (
	longest     = "slowest answer in 10 s, mean"
	openShare   = "processor at the rate"
	openHalf    = "median time, at the rate"
	openNearAll = "99 % of answers within, at the rate"
	openLongest = "slowest answer in 10 s, mean, at the rate"
)

func rpcSuite() Suite {
	return Suite{
		Name: RPC,
		How: "Requests over HTTP that change nothing, for accounts that are chosen at random. First each " +
			"of the connections sends its next request when its last one is answered. Then requests are sent " +
			"at --ask-rate. The time of such a request begins when it should be sent, even if it is sent later. " +
			"The slowest answer in each interval of 10 s is noted; the mean of these is shown. The client shares the processors with the node.",
		Article: "requests answered over 30 connections, the longest of each interval, " +
			"the processor at 50 per second, disk meanwhile (F1-F5, F8-F10)",
		Time: "twice --ask-for",
		Disk: "the chain",
		options: func(o *record.Options) []Option {
			return []Option{connectionsOption(o), askForOption(o), questionsOption(o), askRateOption(o)}
		},
		needs: asks,
		chart: record.Chart{Metric: rate, Title: "requests answered per second"},
		metrics: counts(more(perSecond, rate), of(seconds, half, nearAll, longest, each, client),
			of(percent, openShare),
			of(seconds, openHalf, openNearAll, openLongest), of(bytesUnit, read, written)),
		collect: []collector{threadsOf(), privateMemory()},
		run: func(ctx context.Context, l *life, found *findings) error {
			return l.with(ctx, func(s *server) error { return answer(ctx, l, s, found) })
		},
	}
}

// How many different questions there are.
const (
	usualQuestions = 4096
	questionsMost  = 1 << 22
)

// questions are those of a run, about a call or several.
func (l *life) questions(ctx context.Context, n Asking, url, call string) ([]load.Request, error) {
	all, err := n.Questions(ctx, url, l.seed(), call, cmp.Or(l.options.Questions, usualQuestions))
	if err != nil {
		return nil, fmt.Errorf("make questions: %w", err)
	}
	return all, nil
}

// answer has a node answer questions, and ends it.
func answer(ctx context.Context, l *life, s *server, found *findings) error {
	n, o := l.network.(Asking), l.options
	all, err := l.questions(ctx, n, s.URL, "")
	if err != nil {
		return err
	}
	before, err := s.Now()
	if err != nil {
		return err
	}
	closed, used, err := s.cycle(ctx, o, all, n.Answered)
	if err != nil {
		return err
	}
	open, atRate, err := s.charge(func(ready func() error) (*load.Result, error) {
		return load.Open(ctx, o.AskRate, lengthOf(o.AskFor), load.Again(all), n.Answered, ready)
	})
	if err != nil {
		return err
	}
	after, err := s.Now()
	if err != nil {
		return err
	}
	if _, _, err := s.stop(ctx); err != nil {
		return err
	}
	values := answeredWith(closed, used)
	maps.Copy(values, map[string]float64{
		longest: longestMean(closed.Windows), openShare: atRate.share(), openHalf: open.Latencies.Quantile(0.5) / 1e9,
		openNearAll: open.Latencies.Quantile(0.99) / 1e9, openLongest: longestMean(open.Windows),
		read: float64(after.Disk.Read - before.Disk.Read), written: float64(after.Disk.Net() - before.Disk.Net()),
	})
	found.keep(RPC, s.Child, values).Waits = append(waits("connections", closed.Windows),
		waits("rate", open.Windows)...)
	return nil
}

// longestMean is the mean of the windows' longest, in seconds.
func longestMean(all []load.Window) (mean float64) {
	for _, w := range all {
		mean += w.Longest.Seconds() / float64(len(all))
	}
	return mean
}

// waits are a loop's windows, for its curve.
func waits(loop string, all []load.Window) (kept []record.Wait) {
	for i, w := range all {
		kept = append(kept, record.Wait{Loop: loop, Seconds: float64(i+1) * load.Span.Seconds(),
			NearAll: w.NearAll.Seconds(), Longest: w.Longest.Seconds()})
	}
	return kept
}
