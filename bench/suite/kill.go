package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"tarn/bench/load"
)

// lastTransfers is how many transfers are sent one after the other before a node is killed.
const lastTransfers = 6

// confirmedWithin is how long transfers may take to be in blocks.
const confirmedWithin = time.Minute

// kill is the suite of that name.
func (l *life) kill(ctx context.Context) error {
	dir, _, _, err := l.imported(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := l.serving(ctx, dir, "")
	if err != nil {
		return err
	}
	told, err := l.confirmed(ctx, s)
	s.Kill()
	if err != nil {
		return err
	}
	how := func() (Node, error) { return l.runner.serving.Serve(l.subject, dir, "") }
	return l.revived(ctx, Kill, dir, how, func(s *server) (map[string]float64, error) {
		left, err := l.runner.config.Network.(Confirming).Confirmed(ctx, s.URL, told)
		return map[string]float64{forgotten: float64(len(told) - left)}, err
	})
}

// confirmed sends transfers, and returns them when all are in blocks.
func (l *life) confirmed(ctx context.Context, s *server) (told []load.Request, err error) {
	if _, err := l.producing(ctx, s); err != nil {
		return nil, err
	}
	source, err := l.runner.serving.Transfers(s.URL, l.seed())
	if err != nil {
		return nil, err
	}
	o := l.runner.config.Options
	for i := range 1 + lastTransfers {
		count := o.Push
		if i > 0 {
			count = 1
		}
		all, err := source(ctx, count, pushGood)
		if err != nil {
			return nil, err
		}
		sent, err := load.Closed(ctx, o.Connect, all, l.runner.serving.Accepted)
		if err == nil && sent.Failures > 0 {
			err = fmt.Errorf("%d of %d transfers were not taken; the first: %w", sent.Failures, count, sent.Failure)
		}
		if err == nil {
			err = l.confirm(ctx, s, all)
		}
		if err != nil {
			return nil, err
		}
		told = append(told, all...)
	}
	return told, nil
}

// confirm waits until a node has transfers in blocks.
func (l *life) confirm(ctx context.Context, s *server, all []load.Request) error {
	for end := time.Now().Add(confirmedWithin); ; {
		count, err := l.runner.config.Network.(Confirming).Confirmed(ctx, s.URL, all)
		switch {
		case err != nil || count == len(all):
			return err
		case time.Now().After(end):
			return fmt.Errorf("%d of %d transfers are in blocks after %s", count, len(all), confirmedWithin)
		}
		if err := pause(ctx, followEvery); err != nil {
			return err
		}
	}
}

// revived starts a node that was killed, asks what it has lost, and ends it well.
func (l *life) revived(ctx context.Context, suite, dir string, how func() (Node, error), ask func(*server) (map[string]float64, error)) error {
	s, err := l.answering(ctx, l.subject, dir, how)
	if err != nil {
		return fmt.Errorf("after the kill: %w", err)
	}
	defer s.Kill()
	values, err := ask(s)
	if err == nil {
		_, _, err = l.stopped(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("after the kill and an answer: %w", errors.Join(err, fallen(ctx, s)))
	}
	maps.Copy(values, map[string]float64{took: s.ready.Seconds(), processor: s.first.CPU().Seconds(), read: float64(s.first.Disk.Read)})
	l.values[suite], l.samples[suite] = values, s.Samples()
	return nil
}

// fallTime is how long a node that failed to answer may take to end.
const fallTime = 5 * time.Second

// fallen says how a node ended that could not answer, nil if it goes on: one that has lost events
// of its own may find that out some answers after its start.
func fallen(ctx context.Context, s *server) error {
	select {
	case <-s.Done():
		return s.Wait(ctx)
	case <-time.After(fallTime):
	case <-ctx.Done():
	}
	return nil
}

// killSync is the suite of that name.
func (l *life) killSync(ctx context.Context) error {
	return l.sourced(ctx, func(from *server) error {
		dir, err := l.runner.folder()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		n, all := l.runner.config.Network.(Following), l.runner.run.Chain.Blocks
		follow := func() (Node, error) { return n.Follow(l.subject, dir, from.Peers) }
		s, err := l.answering(ctx, l.subject, dir, follow)
		if err != nil {
			return err
		}
		told, err := l.head(ctx, s, (all+1)/2)
		s.Kill()
		if err != nil {
			return err
		}
		alone := func() (Node, error) { return n.Source(l.subject, dir) }
		if err := l.revived(ctx, KillSync, dir, alone, func(s *server) (map[string]float64, error) {
			found, err := l.head(ctx, s, 0)
			return map[string]float64{blocksLost: float64(told - min(told, found))}, err
		}); err != nil {
			return err
		}
		if err := l.completed(ctx, dir, follow); err != nil {
			delete(l.values, KillSync)
			return fmt.Errorf("get the rest after the kill: %w", err)
		}
		return nil
	})
}

// completed has a node get the whole chain, and ends it.
func (l *life) completed(ctx context.Context, dir string, follow func() (Node, error)) error {
	s, err := l.answering(ctx, l.subject, dir, follow)
	if err != nil {
		return err
	}
	defer s.Kill()
	if _, err := l.head(ctx, s, l.runner.run.Chain.Blocks); err != nil {
		return err
	}
	_, _, err = l.stopped(ctx, s)
	return err
}
