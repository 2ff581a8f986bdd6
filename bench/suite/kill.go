package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
)

// Kill is the name of the suite in which a node that makes blocks is killed.
const Kill = "kill"

// forgotten is the name of its value.
const forgotten = "transfers lost"

func killSuite() Suite {
	return Suite{
		Name: Kill,
		How: "Transfers are sent as in `push`, until all are in blocks. Then six more follow, each sent " +
			"when the one before is in a block. Then the process is killed (kill -9) and started again, and " +
			"the time until its first answer is measured. The transfers that are in no block after that are " +
			"lost. If the node does not start again, the measurement has failed.",
		Article: "–",
		Time:    "seconds",
		Disk:    "the chain",
		options: func(o *record.Options) []Option { return []Option{pushOption(o), connectionsOption(o)} },
		needs:   confirms,
		chart:   record.Chart{Metric: forgotten, Title: "transfers that are lost after kill -9"},
		metrics: counts(of(number, forgotten), of(seconds, took, processor), of(bytesUnit, read)),
		run:     runKill,
	}
}

// lastTransfers is how many transfers are sent one after the other before a node is killed.
const lastTransfers = 6

// confirmedWithin is how long transfers may take to be in blocks.
const confirmedWithin = time.Minute

func runKill(ctx context.Context, l *life, found *findings) error {
	dir, _, _, err := l.importChain(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := l.serving(ctx, dir, "")
	if err != nil {
		return err
	}
	told, err := sendAndConfirm(ctx, l, s)
	s.Kill()
	if err != nil {
		return err
	}
	how := func() (Node, error) { return l.serve(l.subject, dir) }
	s, values, err := revive(ctx, l, dir, how, func(s *server) (map[string]float64, error) {
		left, err := l.network.(Confirming).Confirmed(ctx, s.URL, told)
		return map[string]float64{forgotten: float64(len(told) - left)}, err
	})
	if err != nil {
		return err
	}
	found.keep(Kill, s.Child, values)
	return nil
}

// sendAndConfirm sends transfers, and returns them when all are in blocks.
func sendAndConfirm(ctx context.Context, l *life, s *server) (told []load.Request, err error) {
	if _, err := s.producing(ctx); err != nil {
		return nil, err
	}
	n, o := l.network.(Serving), l.options
	source, err := n.Transfers(s.URL, l.seed())
	if err != nil {
		return nil, err
	}
	for i := range 1 + lastTransfers {
		count := o.Push
		if i > 0 {
			count = 1
		}
		all, err := source(ctx, count, pushGood)
		if err != nil {
			return nil, err
		}
		sent, err := load.Closed(ctx, o.Connect, all, n.Accepted)
		if err == nil && sent.Failures > 0 {
			err = fmt.Errorf("%d of %d transfers were not taken; the first: %w", sent.Failures, count, sent.Failure)
		}
		if err == nil {
			err = confirm(ctx, s, all)
		}
		if err != nil {
			return nil, err
		}
		told = append(told, all...)
	}
	return told, nil
}

// confirm waits until a node has transfers in blocks.
func confirm(ctx context.Context, s *server, all []load.Request) error {
	for end := time.Now().Add(confirmedWithin); ; {
		count, err := s.network.(Confirming).Confirmed(ctx, s.URL, all)
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

// revive starts a node that was killed, asks what it has lost, and ends it well. The node that it
// returns has ended.
func revive(ctx context.Context, l *life, dir string, how func() (Node, error),
	ask func(*server) (map[string]float64, error)) (s *server, values map[string]float64, err error) {
	if s, err = l.answering(ctx, l.subject, dir, how); err != nil {
		return nil, nil, fmt.Errorf("after the kill: %w", err)
	}
	defer s.Kill()
	values, err = ask(s)
	if err == nil {
		_, _, err = s.stop(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("after the kill and an answer: %w", errors.Join(err, whyEnded(ctx, s)))
	}
	maps.Copy(values, map[string]float64{
		took: s.ready.Seconds(), processor: s.first.CPU().Seconds(), read: float64(s.first.Disk.Read),
	})
	return s, values, nil
}

// fallTime is how long a node that failed to answer may take to end.
const fallTime = 5 * time.Second

// whyEnded says how a node ended that could not answer, nil if it goes on: one that has lost events
// of its own may find that out some answers after its start.
func whyEnded(ctx context.Context, s *server) error {
	select {
	case <-s.Done():
		return s.Wait(ctx)
	case <-time.After(fallTime):
	case <-ctx.Done():
	}
	return nil
}
