package suite

import (
	"context"
	"fmt"
	"time"

	"tarn/bench/record"
)

// Histories is the name of the suite of replays that keep histories.
const Histories = "histories"

func historiesSuite() Suite {
	replay := list(of(seconds, took, processor), of(bytesUnit, written, private))
	return Suite{
		Name: Histories,
		How: "Four new nodes replay the chain, each from the start of the process until it has all blocks " +
			"and the last byte of a history is written. One keeps no history, one keeps traces, one the state " +
			"history, one both. The cost of a history is the difference to the node that keeps no history. The " +
			"sizes of the histories are the sizes of their files.",
		Article: "–",
		Time:    "seconds, four times",
		Disk:    "the chain and its histories",
		needs:   keeps,
		chart:   record.Chart{Metric: took, Title: "time to replay the chain with histories"},
		metrics: counts(inParts(replay, string(KeepNothing)), inParts(list(replay, ofTraces()), string(KeepTraces)),
			inParts(list(replay, ofStates()), string(KeepStates)),
			inParts(list(replay, ofStates(), ofTraces()), string(KeepBoth))),
		run: runHistories,
	}
}

func runHistories(ctx context.Context, l *life, found *findings) error {
	values := parts{}
	var last *server
	for _, what := range []Choice{KeepNothing, KeepTraces, KeepStates, KeepBoth} {
		s, err := replayOnce(ctx, l, what, values.of(string(what)))
		if err != nil {
			return fmt.Errorf("keep %s: %w", what, err)
		}
		last = s
	}
	found.put(Histories, values.all(), last.Samples()) // the curves are those of the node that keeps both
	return nil
}

// replayOnce has a new node replay the chain while it keeps histories. The node has ended.
func replayOnce(ctx context.Context, l *life, what Choice, values map[string]float64) (*server, error) {
	ended, err := replaying(ctx, l, what, l.network.(Following).Source, func(s *server) error {
		last := time.Now()
		if what != KeepNothing {
			logs, grew, err := awaitSettled(ctx, l, s)
			if err != nil {
				return err
			}
			if logs.histories() == 0 {
				return fmt.Errorf("there are no files of histories in %s", s.dir)
			}
			logs.put(what, values)
			last = grew
		}
		now, err := s.Now()
		if err != nil {
			return err
		}
		values[took], values[processor], values[written] = last.Sub(s.began).Seconds(), now.CPU().Seconds(),
			float64(now.Disk.Net())
		return nil
	})
	if err == nil {
		values[private] = mostPrivate(ended.Samples())
	}
	return ended, err
}
