package suite

import (
	"context"
	"fmt"
	"maps"

	"tarn/bench/load"
	"tarn/bench/record"
)

// Memory is the name of the suite of a node whose memory is less than its state.
const Memory = "memory"

// Its parts, besides those that are called like suites.
const (
	askQuestions  = "requests"
	sendTransfers = "transfers"
)

func memorySuite() Suite {
	answered := list(more(perSecond, rate), of(seconds, half, nearAll, each, client), of(bytesUnit, read))
	return Suite{
		Name: Memory,
		How: "A node runs in a control group. The memory of the group, including the page cache, is less " +
			"than the files of the node's state, which was built outside the group. The node starts while none " +
			"of its files is in the page cache. It answers requests for accounts that are chosen at random: " +
			"each of the connections sends its next request when its last one is answered. Then it takes " +
			"transfers, and ends. The client is not in the group. If the node cannot work with so little " +
			"memory, the measurement has failed.",
		Article: "32 GB of memory, the rest on swap (E2)",
		Time:    "--ask-for, and seconds",
		Disk:    "the chain",
		options: func(o *record.Options) []Option {
			return []Option{memoryOption(o), connectionsOption(o), askForOption(o), questionsOption(o), pushOption(o)}
		},
		needs:   asks,
		grouped: true,
		chart:   record.Chart{Metric: rate, Title: "answers per second, with less memory than state"},
		metrics: counts(inParts(list(of(seconds, took), of(bytesUnit, onDisk, read), of(number, faults)), Start),
			inParts(answered, askQuestions, sendTransfers), inParts(ofEnd(), Stop)),
		run: runMemory,
	}
}

// ofEnd are the metrics of the end of a node in a group.
func ofEnd() []record.Metric { return list(of(seconds, took), of(bytesUnit, written, private, swap)) }

// runMemory has a life of a node in a control group, on a state that was made without one.
func runMemory(ctx context.Context, l *life, found *findings) error {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	size := stateBytes(dir)
	return within(l, "state", dir, size, func() error {
		return l.with(ctx, func(s *server) error { return runInGroup(ctx, l, s, size, found) })
	})
}

// runInGroup is what a node does in the group.
func runInGroup(ctx context.Context, l *life, s *server, size int64, found *findings) error {
	values := parts{}
	maps.Copy(values.of(Start), map[string]float64{
		took: s.ready.Seconds(), onDisk: float64(size), read: float64(s.first.Disk.Read),
		faults: float64(s.first.MajorFaults),
	})
	if err := askAndSend(ctx, l, s, values); err != nil {
		return err
	}
	return limitEnds(ctx, s, Memory, found, values)
}

// limitEnds ends a node in the group, and keeps the values of its suite.
func limitEnds(ctx context.Context, s *server, suite string, found *findings, values parts) error {
	length, wrote, err := s.stop(ctx)
	if err != nil {
		return err
	}
	maps.Copy(values.of(Stop), map[string]float64{took: length.Seconds(), written: float64(wrote),
		private: mostPrivate(s.Samples()), swap: mostSwapped(s.Samples())})
	found.put(suite, values.all(), s.Samples())
	return nil
}

// askAndSend asks questions for a time, and then sends transfers.
func askAndSend(ctx context.Context, l *life, s *server, values parts) error {
	n := l.network.(Asking)
	all, err := l.questions(ctx, n, s.URL, "")
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		run  func() (*load.Result, cost, error)
	}{
		{askQuestions, func() (*load.Result, cost, error) { return s.cycle(ctx, l.options, all, n.Answered) }},
		{sendTransfers, func() (*load.Result, cost, error) { return push(ctx, l, s) }},
	} {
		before, err := s.Now()
		if err != nil {
			return err
		}
		result, used, err := part.run()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		after, err := s.Now()
		if err != nil {
			return err
		}
		maps.Copy(values.of(part.name), answeredWith(result, used))
		values.of(part.name)[read] = float64(after.Disk.Read - before.Disk.Read)
	}
	return nil
}
