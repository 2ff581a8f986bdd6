package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tarn/bench/record"
)

// Sync is the name of the suite in which a new node gets the whole chain from another.
const Sync = "sync"

func syncSuite() Suite {
	return Suite{
		Name: Sync,
		How: "A new node gets all blocks from the source, a node that makes no blocks, with all checks. " +
			"The time is from the first block that the node shows until the last one. Then the node ends. The " +
			"source shares the processors with the node.",
		Article: "sync from genesis (F6)",
		Time:    "seconds; of a recorded chain hours",
		Disk:    "the chain, twice",
		options: func(o *record.Options) []Option { return []Option{sourceOption(o)} },
		needs:   follows,
		chart:   record.Chart{Metric: took, Title: "time to get the whole chain"},
		metrics: counts(of(seconds, took), more(perSecond, blockRate), of(seconds, processor, source),
			of(bytesUnit, written)),
		collect: []collector{privateMemory(), residentMemory()},
		run:     runSync,
	}
}

func runSync(ctx context.Context, l *life, found *findings) error {
	return following(ctx, l, Sync, found, func(s, from *server) (map[string]float64, error) {
		got, values, err := follow(ctx, l, s, from, 0)
		if err == nil {
			values[took] = got.took.Seconds()
		}
		return values, err
	})
}

// While a node gets blocks it is asked for its newest this often, and has failed when for
// this long there came none.
const (
	followEvery    = 20 * time.Millisecond
	followPatience = 2 * time.Minute
)

// progress is what a node got of a chain.
type progress struct {
	first, last uint64 // blocks
	took        time.Duration
	whole       bool // all of the chain
	node, given float64
}

// rate is how many blocks came in a second.
func (p progress) rate() float64 { return float64(p.last-p.first) / p.took.Seconds() }

// follow has a new node get the chain, all of it or for a time, and ends it.
func follow(ctx context.Context, l *life, s, from *server, length time.Duration) (
	progress, map[string]float64, error) {
	got, err := fetch(ctx, l, s, from, length)
	if err != nil {
		return got, nil, err
	}
	if _, _, err := s.stop(ctx); err != nil {
		return got, nil, err
	}
	_, disk, _ := s.Total()
	return got, map[string]float64{blockRate: got.rate(), processor: got.node, source: got.given,
		written: float64(disk.Net())}, nil
}

// following starts a new node that gets the chain from the source, and keeps the values that f
// finds. The node is ended at the end, badly if f has not ended it.
func following(ctx context.Context, l *life, suite string, found *findings,
	f func(s, from *server) (map[string]float64, error)) error {
	return l.withSource(ctx, func(from *server) error {
		dir, err := l.runner.folder()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		s, err := l.answering(ctx, l.subject, dir, func() (Node, error) {
			return l.network.(Following).Follow(l.subject, dir, from.Peers)
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
		found.keep(suite, s.Child, values)
		return nil
	})
}

// fetch waits until a node has the whole chain, or for a time that the chain must be longer
// than. It counts from the first block that a question finds: the start and the greetings
// are not in it.
func fetch(ctx context.Context, l *life, s, from *server, length time.Duration) (got progress, err error) {
	all := l.chain.Blocks
	base, err := s.head(ctx, 0)
	if err != nil {
		return got, err
	}
	if got.first, err = s.head(ctx, base+1); err != nil {
		return got, fmt.Errorf("get a first block: %w", err)
	}
	begin := time.Now()
	node, err1 := s.Now()
	given, err2 := from.Now()
	if err := errors.Join(err1, err2); err != nil {
		return got, err
	}
	if got.last, err = s.grow(ctx, all, length); err != nil {
		return got, err
	}
	got.took, got.whole = time.Since(begin), got.last >= all
	nodeAfter, err1 := s.Now()
	givenAfter, err2 := from.Now()
	got.node, got.given = (nodeAfter.CPU() - node.CPU()).Seconds(), (givenAfter.CPU() - given.CPU()).Seconds()
	if err = errors.Join(err1, err2); err == nil {
		err = got.enough(length)
	}
	return got, err
}

// grow waits until a process has a block, or for a time if one is said, and returns its newest.
func (s *server) grow(ctx context.Context, last uint64, length time.Duration) (head uint64, err error) {
	begin := time.Now()
	for grew := begin; ; {
		n, err := s.head(ctx, 0)
		switch now := time.Now(); {
		case err != nil:
			return head, err
		case n > head:
			head, grew = n, now
		case now.Sub(grew) > followPatience:
			return head, fmt.Errorf("there came no block after %d of %d for %s", n, last, followPatience)
		}
		if head >= last || length > 0 && time.Since(begin) >= length {
			return head, nil
		}
		if err := pause(ctx, followEvery); err != nil {
			return head, err
		}
	}
}

// enough says why a chain was too short for what was to be measured.
func (p progress) enough(length time.Duration) error {
	switch {
	case length > 0 && p.whole:
		return fmt.Errorf("the chain was whole after %s, within the window of %s: "+
			"a longer one is made with --transfers, a recorded one is named with --blocks",
			p.took.Round(time.Millisecond), length)
	case p.last == p.first:
		return fmt.Errorf(
			"the node had the whole chain at the first request, at block %d: make a longer chain with --transfers",
			p.last)
	}
	return nil
}
