package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tarn/bench/load"
	"tarn/bench/subject"
	"tarn/bench/watcher"
	"tarn/probe"
)

// server is a running node that answers.
type server struct {
	*watcher.Child
	Node
	of    subject.Subject
	dir   string
	began time.Time
	ready time.Duration
	first probe.Process // when it answered

	patience time.Duration // for its first answer, and for a block
}

// serving starts a node of the subject that takes transactions.
func (l *life) serving(ctx context.Context, dir, snapshot string) (*server, error) {
	s, err := l.answering(ctx, l.subject, dir, func() (Node, error) { return l.runner.serving.Serve(l.subject, dir, snapshot) })
	if err != nil {
		return nil, err
	}
	head, err := l.head(ctx, s, 0)
	if all := l.runner.run.Chain.Blocks; err == nil && head < all {
		err = fmt.Errorf("%s has block %d of the chain's %d: it did not take all of it", l.subject.Name, head, all)
	}
	if err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// answering starts a node and waits for its first answer. One that fails is gone.
func (l *life) answering(ctx context.Context, of subject.Subject, dir string, how func() (Node, error)) (*server, error) {
	return l.answeringWithin(ctx, startPatience, of, dir, how)
}

// answeringWithin is answering, of a node that has so much time for each block that is waited
// for.
func (l *life) answeringWithin(ctx context.Context, patience time.Duration, of subject.Subject, dir string, how func() (Node, error)) (*server, error) {
	n, err := how()
	if err != nil {
		return nil, err
	}
	n.Env = append(n.Env, l.env...)
	s := &server{Node: n, of: of, dir: dir, patience: patience, began: time.Now()}
	if s.Child, err = l.start(of, dir, n.Args, n.Env); err != nil {
		return nil, err
	}
	if _, err = l.head(ctx, s, 0); err == nil {
		s.ready = time.Since(s.began)
		s.first, err = s.Now()
	}
	if err != nil {
		s.Kill()
		return nil, fmt.Errorf("start %s: %w", of.Name, err)
	}
	return s, nil
}

// with starts a node on the subject's folder, runs f, and ends the node, badly only if f
// fails.
func (l *life) with(ctx context.Context, f func(s *server) error) error {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	s, err := l.serving(ctx, dir, "")
	if err != nil {
		l.spoiled(dir)
		return err
	}
	if err = f(s); err == nil && !s.ended() {
		_, _, err = l.stopped(ctx, s)
	}
	if err != nil {
		s.Kill()
		l.spoiled(dir)
	}
	return err
}

// ended tells whether the process has.
func (s *server) ended() bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// asked is how long one question for the head may take.
const asked = 5 * time.Second

// head waits until a node's newest block is at least so high.
func (l *life) head(ctx context.Context, s *server, least uint64) (uint64, error) {
	for end := time.Now().Add(s.patience); ; {
		within, cancel := context.WithTimeout(ctx, asked)
		n, err := l.runner.config.Network.Head(within, s.URL)
		cancel()
		switch {
		case err == nil && n >= least:
			return n, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case time.Now().After(end):
			return 0, errors.Join(fmt.Errorf("no block %d within %s", least, s.patience), err)
		}
		select {
		case <-s.Done():
			return 0, cmp.Or(s.Wait(ctx), errors.New("the node ended by itself"))
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
func (l *life) serve(ctx context.Context) error {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	if err := evict(dir); err != nil {
		return err
	}
	return l.with(ctx, func(s *server) error {
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
	})
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
	n, o := l.runner.serving, l.runner.config.Options
	if _, err := l.producing(ctx, s); err != nil {
		return nil, cost{}, err
	}
	source, err := n.Transfers(s.URL, l.seed())
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
func (l *life) charged(s *server, f func(ready func() error) (*load.Result, error)) (result *load.Result, used cost, err error) {
	used, err = l.costOf(s, func(ready func() error) (err error) {
		if result, err = f(ready); err == nil && result.Failures > 0 {
			err = fmt.Errorf("%d of %d requests were not taken; the first: %w", result.Failures, result.Failures+result.Answers, result.Failure)
		}
		return err
	})
	return result, used, err
}

// costOf counts what work costs both sides, from when f says that it is ready.
func (l *life) costOf(s *server, f func(ready func() error) error) (cost, error) {
	var node, own probe.Process
	var begin time.Time
	err := f(func() (err error) {
		begin = time.Now()
		if own, err = probe.Self(); err == nil {
			node, err = s.Now()
		}
		return err
	})
	if err != nil {
		return cost{}, err
	}
	nodeAfter, err1 := s.Now()
	ownAfter, err2 := probe.Self()
	return cost{(nodeAfter.CPU() - node.CPU()).Seconds(), (ownAfter.CPU() - own.CPU()).Seconds(),
		nodeAfter.Disk.Net() - node.Disk.Net(), time.Since(begin).Seconds()}, errors.Join(err1, err2)
}
