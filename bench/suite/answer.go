package suite

import (
	"context"
	"fmt"
	"maps"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
)

// questions is how many different ones there are.
const questions = 4096

// answer is the suite rpc.
func (l *life) answer(ctx context.Context) error {
	return l.with(ctx, func(s *server) error {
		n, o := l.runner.config.Network.(Asking), l.runner.config.Options
		all, err := n.Questions(ctx, s.URL, l.seed(), "", questions)
		if err != nil {
			return fmt.Errorf("make questions: %w", err)
		}
		before, err := s.Now()
		if err != nil {
			return err
		}
		closed, used, err := l.cycled(ctx, s, all, n.Answered)
		if err != nil {
			return err
		}
		open, atRate, err := l.charged(s, func(ready func() error) (*load.Result, error) {
			return load.Open(ctx, o.AskRate, l.askFor(), load.Again(all), n.Answered, ready)
		})
		if err != nil {
			return err
		}
		after, err := s.Now()
		if err != nil {
			return err
		}
		if _, _, err := l.stopped(ctx, s); err != nil {
			return err
		}
		l.values[RPC] = answeredWith(closed, used)
		maps.Copy(l.values[RPC], map[string]float64{
			longest: longestMean(closed.Windows), openShare: 100 * atRate.node / atRate.elapsed, openHalf: open.Latencies.Quantile(0.5) / 1e9,
			openNearAll: open.Latencies.Quantile(0.99) / 1e9, openLongest: longestMean(open.Windows),
			read: float64(after.Disk.Read - before.Disk.Read), written: float64(after.Disk.Net() - before.Disk.Net()),
			threads: mostThreads(s.Samples()), private: mostPrivate(s.Samples()),
		})
		l.samples[RPC], l.waits = s.Samples(), append(waits("connections", closed.Windows), waits("rate", open.Windows)...)
		return nil
	})
}

// calls is the suite of that name.
func (l *life) calls(ctx context.Context) error {
	return l.with(ctx, func(s *server) error {
		n := l.runner.config.Network.(Asking)
		values := parts{}
		for _, call := range n.Calls() {
			all, err := n.Questions(ctx, s.URL, l.seed(), call, questions)
			if err == nil {
				err = l.askOnce(ctx, s, n.Answered, all, values.of(call))
			}
			if err != nil {
				return fmt.Errorf("ask %s: %w", call, err)
			}
		}
		l.values[Calls], l.samples[Calls] = values.all(), s.Samples()
		return nil
	})
}

// warming is how many requests are asked before a loop is measured.
const warming = 64

// askOnce measures one kind of requests.
func (l *life) askOnce(ctx context.Context, s *server, judge load.Judge, all []load.Request, values map[string]float64) error {
	warm, err := load.Closed(ctx, l.runner.config.Options.Connect, all[:min(warming, len(all))], judge)
	if err == nil && warm.Failures > 0 {
		err = fmt.Errorf("%d of %d requests had no answer; the first: %w", warm.Failures, warm.Failures+warm.Answers, warm.Failure)
	}
	if err != nil {
		return err
	}
	result, used, err := l.cycled(ctx, s, all, judge)
	if err != nil {
		return err
	}
	maps.Copy(values, answeredWith(result, used))
	return nil
}

// askFor is how long a loop of questions lasts.
func (l *life) askFor() time.Duration {
	return time.Duration(l.runner.config.Options.AskFor * float64(time.Second))
}

// cycled asks questions again and again over the connections, and counts what that costs.
func (l *life) cycled(ctx context.Context, s *server, all []load.Request, judge load.Judge) (*load.Result, cost, error) {
	return l.charged(s, func(ready func() error) (*load.Result, error) {
		if err := ready(); err != nil {
			return nil, err
		}
		return load.Cycle(ctx, l.runner.config.Options.Connect, l.askFor(), all, judge)
	})
}

// answeredWith are the values of a closed loop.
func answeredWith(r *load.Result, used cost) map[string]float64 {
	count := float64(r.Answers)
	return map[string]float64{
		rate: count / r.Took.Seconds(), half: r.Latencies.Quantile(0.5) / 1e9, nearAll: r.Latencies.Quantile(0.99) / 1e9,
		each: used.node / count, client: used.client / count,
	}
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
		kept = append(kept, record.Wait{Loop: loop, Seconds: float64(i+1) * load.Span.Seconds(), NearAll: w.NearAll.Seconds(), Longest: w.Longest.Seconds()})
	}
	return kept
}
