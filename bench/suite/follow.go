package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tarn/bench/load"
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

// syncing is the suite of that name.
func (l *life) syncing(ctx context.Context) error {
	return l.following(ctx, Syncing, func(s, from *server) (map[string]float64, error) {
		n, o := l.runner.config.Network.(Asking), l.runner.config.Options
		all, err := n.Questions(ctx, s.URL, l.seed(), "", questions)
		if err != nil {
			return nil, fmt.Errorf("make questions: %w", err)
		}
		var got progress
		whole, fetched := make(chan struct{}), make(chan error, 1)
		go func() {
			defer close(whole)
			var err error
			got, err = l.fetch(ctx, s, from, 0)
			fetched <- err
		}()
		r, err := load.Until(ctx, whole, o.AskRate, importPatience, load.Again(all), n.Answered, nil)
		if err = errors.Join(<-fetched, err); err != nil {
			return nil, err
		}
		return map[string]float64{
			took: got.took.Seconds(), blockRate: got.rate(), processor: got.node, source: got.given,
			nearAll: r.Latencies.Quantile(0.99) / 1e9, asLong: r.Longest().Seconds(), failed: float64(r.Failures),
		}, nil
	})
}

// window is the suite of that name.
func (l *life) window(ctx context.Context) error {
	return l.followed(ctx, Window, time.Duration(l.runner.config.Options.Window*float64(time.Second)))
}

// rate is how many blocks came in a second.
func (p progress) rate() float64 { return float64(p.last-p.first) / p.took.Seconds() }

// followed has a new node get the chain, all of it or for a time.
func (l *life) followed(ctx context.Context, suite string, length time.Duration) error {
	return l.following(ctx, suite, func(s, from *server) (map[string]float64, error) {
		got, err := l.fetch(ctx, s, from, length)
		if err != nil {
			return nil, err
		}
		if _, _, err := l.stopped(ctx, s); err != nil {
			return nil, err
		}
		_, disk, _ := s.Total()
		values := map[string]float64{blockRate: got.rate(), processor: got.node, source: got.given, written: float64(disk.Net()), resident: float64(s.Peak())}
		if suite == Sync {
			values[took] = got.took.Seconds()
		} else {
			values[blocks] = float64(got.last - got.first)
		}
		return values, nil
	})
}

// following starts a new node that gets the chain from the source, and keeps the values that f
// finds, and the node's memory. The node is ended at the end, badly if f has not ended it.
func (l *life) following(ctx context.Context, suite string, f func(s, from *server) (map[string]float64, error)) error {
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
		values, err := f(s, from)
		if err != nil {
			return err
		}
		s.Kill()
		values[private] = mostPrivate(s.Samples())
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
		if err := pause(ctx, followEvery); err != nil {
			return got, err
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
