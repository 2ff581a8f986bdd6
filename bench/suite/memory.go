package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
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
	if !slices.Contains(o.Suites, Memory) && !slices.Contains(o.Suites, MemorySnapshot) {
		return nil
	}
	g, err := watcher.NewGroup(int64(o.Memory) * megabyte)
	if err != nil {
		return err
	}
	return g.Close()
}

// within runs f while the life's processes begin in a control group, whose memory is less than
// the files that are named, which are put out of the page cache before. The processes end in f.
func (l *life) within(what, files string, size int64, f func() error) (err error) {
	limit := int64(l.runner.config.Options.Memory) * megabyte
	if size <= limit {
		return fmt.Errorf("the %s has %d MB, and there are %d MB of memory for it: a larger one is made with --accounts or --rows", what, size/megabyte, limit/megabyte)
	}
	if err := evict(files); err != nil {
		return err
	}
	if l.group, err = watcher.NewGroup(limit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.group.Close()) }()
	if err := f(); err != nil {
		return fmt.Errorf("with %d MB of memory for a %s of %d MB: %w", limit/megabyte, what, size/megabyte, err)
	}
	return nil
}

// memory is the suite of that name: a life of a node in a control group, on a state that was
// made without one.
func (l *life) memory(ctx context.Context) error {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	size := stateBytes(dir)
	return l.within("state", dir, size, func() error {
		return l.with(ctx, func(s *server) error { return l.limited(ctx, s, size) })
	})
}

// memorySnapshot is the suite of that name: a snapshot is written without a control group, and
// a new node in one begins with it.
func (l *life) memorySnapshot(ctx context.Context) error {
	var path string
	var values map[string]float64
	err := l.with(ctx, func(s *server) (err error) {
		path, values, err = l.snapshotOf(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	defer os.Remove(path)
	return l.within("snapshot", path, int64(values[size]), func() error { return l.limitedSnapshot(ctx, path, values[size]) })
}

// limitedSnapshot is what a node does in the group that begins with a snapshot: it loads it,
// and writes one, for which it reads all of its state.
func (l *life) limitedSnapshot(ctx context.Context, path string, bytes float64) error {
	dir, err := l.runner.folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := l.answeringWithin(ctx, importPatience, l.subject, dir, func() (Node, error) { return l.runner.serving.Serve(l.subject, dir, path) })
	if err != nil {
		return fmt.Errorf("begin with the snapshot: %w", err)
	}
	defer s.Kill()
	values := parts{}
	maps.Copy(values.of(Start), map[string]float64{
		took: s.ready.Seconds(), size: bytes, read: float64(s.first.Disk.Read), written: float64(s.first.Disk.Net()), faults: float64(s.first.MajorFaults),
	})
	_, again, err := l.snapshotOf(ctx, s)
	if err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	maps.Copy(values.of(Snapshot), map[string]float64{took: again[took], written: again[written]})
	return l.limitEnds(ctx, s, MemorySnapshot, values)
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
	return l.limitEnds(ctx, s, Memory, values)
}

// limitEnds ends a node in the group, and keeps the values of its suite.
func (l *life) limitEnds(ctx context.Context, s *server, suite string, values parts) error {
	length, wrote, err := l.stopped(ctx, s)
	if err != nil {
		return err
	}
	maps.Copy(values.of(Stop), map[string]float64{took: length.Seconds(), written: float64(wrote), private: mostPrivate(s.Samples()), swap: mostSwapped(s.Samples())})
	l.values[suite], l.samples[suite] = values.all(), s.Samples()
	return nil
}

// askAndSend asks questions for a time, and then sends transfers.
func (l *life) askAndSend(ctx context.Context, s *server, values parts) error {
	n := l.runner.config.Network.(Asking)
	all, err := n.Questions(ctx, s.URL, l.seed(), "", questions)
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
