package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/bench/watcher"
)

// Parts of the suite memory, besides those that are called like suites.
const (
	askQuestions  = "questions"
	sendTransfers = "transfers"
)

const megabyte = 1_000_000

// limitable says why no control group can be made, if one is needed.
func limitable(o record.Options) error {
	if !slices.Contains(o.Suites, Memory) {
		return nil
	}
	g, err := watcher.NewGroup(int64(o.Memory) * megabyte)
	if err != nil {
		return err
	}
	return g.Close()
}

// memory is the suite of that name: a life of a node in a control group, on a state that was
// made without one.
func (l *life) memory(ctx context.Context) (err error) {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	limit := int64(l.runner.config.Options.Memory) * megabyte
	size := stateBytes(dir)
	if size <= limit {
		return fmt.Errorf("the state has %d MB, and there are %d MB of memory for it: a larger one is made with --accounts", size/megabyte, limit/megabyte)
	}
	if err := evict(dir); err != nil {
		return err
	}
	if l.group, err = watcher.NewGroup(limit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.group.Close()) }()
	if err := l.with(ctx, func(s *server) error { return l.limited(ctx, s, size) }); err != nil {
		return fmt.Errorf("with %d MB of memory for a state of %d MB: %w", limit/megabyte, size/megabyte, err)
	}
	return nil
}

// limited is what a node does in the group.
func (l *life) limited(ctx context.Context, s *server, size int64) error {
	values := parts{}
	maps.Copy(values.of(Start), map[string]float64{
		took: s.ready.Seconds(), onDisk: float64(size), read: float64(s.first.Disk.Read), faults: float64(s.first.MajorFaults),
	})
	if err := l.askAndSend(ctx, s, values); err != nil {
		return err
	}
	length, wrote, err := l.stopped(ctx, s)
	if err != nil {
		return err
	}
	maps.Copy(values.of(Stop), map[string]float64{took: length.Seconds(), written: float64(wrote), private: mostPrivate(s.Samples()), swap: mostSwapped(s.Samples())})
	l.values[Memory], l.samples[Memory] = values.all(), s.Samples()
	return nil
}

// askAndSend asks questions for a time, and then sends transfers.
func (l *life) askAndSend(ctx context.Context, s *server, values parts) error {
	n := l.runner.config.Network.(Asking)
	all, err := n.Questions(ctx, s.URL, l.seed(), questions)
	if err != nil {
		return fmt.Errorf("make questions: %w", err)
	}
	for _, part := range []struct {
		name string
		run  func() (*load.Result, cost, error)
	}{
		{askQuestions, func() (*load.Result, cost, error) { return l.cycled(ctx, s, all, n.Answered) }},
		{sendTransfers, func() (*load.Result, cost, error) { return l.push(ctx, s) }},
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
