package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tarn/bench/load"
	"tarn/bench/watcher"
	"tarn/probe"
)

// server is a running node that answers.
type server struct {
	*watcher.Child
	dir, url string
	began    time.Time
	ready    time.Duration
	first    probe.Process // when it answered
}

// serving starts a node and waits for its first answer. One that fails is gone.
func (l *life) serving(ctx context.Context, dir, snapshot string) (*server, error) {
	args, url, err := l.runner.config.Network.Serve(l.subject, dir, snapshot)
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, url: url, began: time.Now()}
	if s.Child, err = l.start(dir, args); err != nil {
		return nil, err
	}
	if _, err = l.head(ctx, s, 0); err == nil {
		s.ready = time.Since(s.began)
		s.first, err = s.Now()
	}
	if err != nil {
		s.Kill()
		return nil, fmt.Errorf("start %s: %w", l.subject.Name, err)
	}
	return s, nil
}

// asked is how long one question for the head may take.
const asked = 5 * time.Second

// head waits until a node's newest block is at least so high.
func (l *life) head(ctx context.Context, s *server, least uint64) (uint64, error) {
	for end := time.Now().Add(startPatience); ; {
		within, cancel := context.WithTimeout(ctx, asked)
		n, err := l.runner.config.Network.Head(within, s.url)
		cancel()
		switch {
		case err == nil && n >= least:
			return n, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case time.Now().After(end):
			return 0, errors.Join(fmt.Errorf("no block %d within %s", least, startPatience), err)
		}
		select {
		case <-s.Done():
			return 0, s.Wait(ctx)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// stopped ends a node well, and says how long that took and what it wrote meanwhile.
func (l *life) stopped(ctx context.Context, s *server) (took time.Duration, wrote int64, err error) {
	before, err := s.Now()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := s.Stop(ctx, stopPatience); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	_, disk, _ := s.Total()
	return took, disk.Net() - before.Disk.Net(), nil
}

// serve is the suites start, push and stop, of one process.
func (l *life) serve(ctx context.Context) (err error) {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	if err := evict(dir); err != nil {
		return err
	}
	s, err := l.serving(ctx, dir, "")
	if err != nil {
		l.spoiled(dir)
		return err
	}
	defer func() {
		if err != nil {
			s.Kill()
			l.spoiled(dir)
		}
	}()
	l.values[Start] = map[string]float64{took: s.ready.Seconds(), processor: s.first.CPU().Seconds(), read: float64(s.first.Disk.Read),
		faults: float64(s.first.MajorFaults), private: float64(s.first.Memory.Anonymous)}
	result, used, err := l.push(ctx, s)
	if err != nil {
		return err
	}
	count := float64(result.Answers)
	l.values[Push] = map[string]float64{
		rate: count / result.Took.Seconds(), half: result.Latencies.Quantile(0.5) / 1e9, nearAll: result.Latencies.Quantile(0.99) / 1e9,
		each: used.node / count, client: used.client / count,
	}
	length, wrote, err := l.stopped(ctx, s)
	if err != nil {
		return err
	}
	l.values[Stop] = map[string]float64{took: length.Seconds(), written: float64(wrote)}
	until := 0
	for until < len(s.Samples()) && s.Samples()[until].Seconds <= s.ready.Seconds() {
		until++
	}
	l.values[Start][private] = max(mostPrivate(s.Samples()[:until]), l.values[Start][private])
	l.values[Push][private] = mostPrivate(s.Samples())
	l.samples[Start], l.samples[Push] = s.Samples()[:until], s.Samples()
	return nil
}

// pushGood is how long transfers of push are good, those included that take longest.
const pushGood = 10 * time.Minute

// cost is what a load took of both sides: processor time, in seconds, and what the node
// wrote meanwhile.
type cost struct {
	node, client float64
	wrote        int64
	elapsed      float64
}

// push sends the transfers of one life as fast as they are answered.
func (l *life) push(ctx context.Context, s *server) (*load.Result, cost, error) {
	n, o := l.runner.config.Network, l.runner.config.Options
	head, err := n.Head(ctx, s.url)
	if err == nil {
		_, err = l.head(ctx, s, head+1) // it produces
	}
	if err != nil {
		return nil, cost{}, err
	}
	source, err := n.Transfers(s.url, l.seed())
	if err != nil {
		return nil, cost{}, err
	}
	requests, err := source(ctx, o.Push, pushGood)
	if err != nil {
		return nil, cost{}, err
	}
	return l.charged(s, func(ready func() error) (*load.Result, error) {
		if err := ready(); err != nil {
			return nil, err
		}
		return load.Closed(ctx, o.Connect, requests, n.Accepted)
	})
}

// seed is that of the transfers of this life: no two lives of a run send the same.
func (l *life) seed() uint64 {
	return l.runner.config.Options.Seed + uint64(l.round)<<32 + 1
}

// charged runs a load and counts what it costs both sides, from when the load says that it
// is ready. A load of which anything was refused is a failure.
func (l *life) charged(s *server, f func(ready func() error) (*load.Result, error)) (*load.Result, cost, error) {
	var node, own probe.Process
	var begin time.Time
	result, err := f(func() (err error) {
		begin = time.Now()
		if own, err = probe.Self(); err == nil {
			node, err = s.Now()
		}
		return err
	})
	if err != nil {
		return nil, cost{}, err
	}
	if result.Failures > 0 {
		return nil, cost{}, fmt.Errorf("%d of %d requests were not taken; the first: %w", result.Failures, result.Failures+result.Answers, result.Failure)
	}
	nodeAfter, err1 := s.Now()
	ownAfter, err2 := probe.Self()
	return result, cost{(nodeAfter.CPU() - node.CPU()).Seconds(), (ownAfter.CPU() - own.CPU()).Seconds(),
		nodeAfter.Disk.Net() - node.Disk.Net(), time.Since(begin).Seconds()}, errors.Join(err1, err2)
}

const secondsOfYear = 365 * 24 * 3600

// disk is the suite of that name.
func (l *life) disk(ctx context.Context) (err error) {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	s, err := l.serving(ctx, dir, "")
	if err != nil {
		l.spoiled(dir)
		return err
	}
	defer func() {
		if err != nil {
			s.Kill()
			l.spoiled(dir)
		}
	}()
	if _, err := l.head(ctx, s, 0); err != nil {
		return err
	}
	n, o := l.runner.config.Network, l.runner.config.Options
	source, err := n.Transfers(s.url, l.seed())
	if err != nil {
		return err
	}
	result, used, err := l.charged(s, func(ready func() error) (*load.Result, error) {
		return load.Open(ctx, o.Rate, time.Duration(o.For*float64(time.Second)), source, n.Accepted, ready)
	})
	if err != nil {
		return err
	}
	_, wrote, err := l.stopped(ctx, s)
	if err != nil {
		return err
	}
	perSecond := float64(used.wrote) / used.elapsed
	l.values[Disk] = map[string]float64{
		running: perSecond, atEnd: float64(wrote), year: (perSecond + float64(wrote)/o.Between) * secondsOfYear,
		share: 100 * used.node / used.elapsed, nearAll: result.Latencies.Quantile(0.99) / 1e9, private: mostPrivate(s.Samples()),
	}
	l.samples[Disk] = s.Samples()
	return nil
}

// snapshot is the suite of that name.
func (l *life) snapshot(ctx context.Context) (err error) {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	s, err := l.serving(ctx, dir, "")
	if err != nil {
		l.spoiled(dir)
		return err
	}
	stop := func() {
		s.Kill()
		l.spoiled(dir)
	}
	path, values, err := l.snapshotOf(ctx, s)
	if err != nil {
		stop()
		return err
	}
	defer os.Remove(path)
	if _, _, err := l.stopped(ctx, s); err != nil {
		stop()
		return err
	}
	fresh, err := l.runner.folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	again, err := l.serving(ctx, fresh, path)
	if err != nil {
		return fmt.Errorf("begin with the snapshot: %w", err)
	}
	_, wrote, err := l.stopped(ctx, again)
	if err != nil {
		again.Kill()
		return fmt.Errorf("end the node that began with the snapshot: %w", err)
	}
	values[loading], values[processor] = again.ready.Seconds(), again.first.CPU().Seconds()
	values[loadWritten], values[atEnd], values[faults] = float64(again.first.Disk.Net()), float64(wrote), float64(again.first.MajorFaults)
	values[private], values[resident], values[swap] = mostPrivate(again.Samples()), float64(again.Peak()), mostSwapped(again.Samples())
	l.values[Snapshot], l.samples[Snapshot] = values, again.Samples()
	return nil
}

// snapshotOf has a node write a snapshot, which the caller removes.
func (l *life) snapshotOf(ctx context.Context, s *server) (string, map[string]float64, error) {
	before, err := s.Now()
	if err != nil {
		return "", nil, err
	}
	begin := time.Now()
	path, err := l.runner.config.Network.Snapshot(ctx, s.url)
	if err != nil {
		return "", nil, err
	}
	length := time.Since(begin)
	after, err := s.Now()
	if err != nil {
		return "", nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, fmt.Errorf("look at the snapshot that the node names: %w", err)
	}
	return path, map[string]float64{took: length.Seconds(), size: float64(info.Size()), written: float64(after.Disk.Net() - before.Disk.Net())}, nil
}
