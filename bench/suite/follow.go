package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// While a node gets blocks it is asked for its newest this often, and has failed when for
// this long there came none.
const (
	followEvery    = 20 * time.Millisecond
	followPatience = 2 * time.Minute
)

// sourced starts a node of this program, which others get blocks from, and runs f with it.
// Its folder is the run's, for it makes no blocks.
func (l *life) sourced(ctx context.Context, f func(source *server) error) error {
	of, n := l.runner.config.Source, l.runner.config.Network.(Following)
	dir, err := l.baseOf(ctx, of)
	if err != nil {
		return fmt.Errorf("make the source: %w", err)
	}
	s, err := l.answering(ctx, of, dir, func() (Node, error) { return n.Source(of, dir) })
	if err != nil {
		l.spoiled(dir)
		return err
	}
	if err = f(s); err == nil {
		_, _, err = l.stopped(ctx, s)
	}
	if err != nil {
		s.Kill()
		l.spoiled(dir)
	}
	return err
}

// progress is what a node got of a chain.
type progress struct {
	first, last uint64 // blocks
	took        time.Duration
	whole       bool // all of the chain
	node, given float64
}

// sync is the suite of that name.
func (l *life) sync(ctx context.Context) error {
	return l.followed(ctx, Sync, 0)
}

// window is the suite of that name.
func (l *life) window(ctx context.Context) error {
	return l.followed(ctx, Window, time.Duration(l.runner.config.Options.Window*float64(time.Second)))
}

// followed has a new node get the chain, all of it or for a time.
func (l *life) followed(ctx context.Context, suite string, length time.Duration) error {
	return l.sourced(ctx, func(from *server) error {
		dir, err := l.runner.folder()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s, err := l.answering(ctx, l.subject, dir, func() (Node, error) {
			return l.runner.config.Network.(Following).Follow(l.subject, dir, from.Peers)
		})
		if err != nil {
			return err
		}
		defer s.Kill()
		got, err := l.fetch(ctx, s, from, length)
		if err != nil {
			return err
		}
		if _, _, err := l.stopped(ctx, s); err != nil {
			return err
		}
		_, disk, _ := s.Total()
		values := map[string]float64{
			blockRate: float64(got.last-got.first) / got.took.Seconds(), processor: got.node, source: got.given,
			written: float64(disk.Net()), private: mostPrivate(s.Samples()), resident: float64(s.Peak()),
		}
		if suite == Sync {
			values[took] = got.took.Seconds()
		} else {
			values[blocks] = float64(got.last - got.first)
		}
		l.values[suite], l.samples[suite] = values, s.Samples()
		return nil
	})
}

// fetch waits until a node has the whole chain, or for a time that the chain must be longer
// than. It counts from the first block that a question finds: the start and the greetings
// are not in it.
func (l *life) fetch(ctx context.Context, s, from *server, length time.Duration) (got progress, err error) {
	all := l.runner.run.Chain.Blocks
	base, err := l.head(ctx, s, 0)
	if err != nil {
		return got, err
	}
	if got.first, err = l.head(ctx, s, base+1); err != nil {
		return got, fmt.Errorf("get a first block: %w", err)
	}
	begin := time.Now()
	node, err1 := s.Now()
	given, err2 := from.Now()
	if err := errors.Join(err1, err2); err != nil {
		return got, err
	}
	for grew := begin; ; {
		n, err := l.head(ctx, s, 0)
		switch now := time.Now(); {
		case err != nil:
			return got, err
		case n > got.last:
			got.last, grew = n, now
		case now.Sub(grew) > followPatience:
			return got, fmt.Errorf("there came no block after %d of %d for %s", n, all, followPatience)
		}
		got.took, got.whole = time.Since(begin), got.last >= all
		if got.whole || length > 0 && got.took >= length {
			break
		}
		select {
		case <-ctx.Done():
			return got, ctx.Err()
		case <-time.After(followEvery):
		}
	}
	nodeAfter, err1 := s.Now()
	givenAfter, err2 := from.Now()
	got.node, got.given = (nodeAfter.CPU() - node.CPU()).Seconds(), (givenAfter.CPU() - given.CPU()).Seconds()
	if err = errors.Join(err1, err2); err == nil {
		err = got.enough(length)
	}
	return got, err
}

// enough says why a chain was too short for what was to be measured.
func (p progress) enough(length time.Duration) error {
	switch {
	case length > 0 && p.whole:
		return fmt.Errorf("the chain was whole after %s, within the window of %s: a longer one is made with --transfers, a recorded one is named with --blocks",
			p.took.Round(time.Millisecond), length)
	case p.last == p.first:
		return fmt.Errorf("the chain was whole at the first question, at block %d: a longer one is made with --transfers", p.last)
	}
	return nil
}
