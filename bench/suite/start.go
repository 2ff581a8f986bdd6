package suite

import (
	"context"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
)

// Names of the suites that are measured in one life of a node: its start, the transfers that it is
// sent, its end.
const (
	Start = "start"
	Push  = "push"
	Stop  = "stop"
)

func startSuite() Suite {
	return Suite{
		Name: Start,
		How: "The process starts on an existing state. If `push` is measured too, the state also has the transfers of " +
			"earlier rounds. The time is from its start until its first answer. At the start its files are not in the " +
			"page cache.",
		Article: "processor and memory of the second start (E3, E4, W3, W4)",
		Time:    "seconds",
		Disk:    "the chain",
		needs:   serves,
		chart:   record.Chart{Metric: took, Title: "time until the first answer"},
		metrics: counts(of(seconds, took, processor), of(bytesUnit, read), of(number, faults), of(bytesUnit, private)),
		run:     runStart,
		with:    []Suite{pushSuite(), stopSuite()},
	}
}

func pushSuite() Suite {
	return Suite{
		Name: Push,
		How: "A client sends transactions over HTTP, each with one transfer. They were signed in advance, with the " +
			"keys of the chain's accounts. The client has several connections, and each sends its next transaction when the " +
			"one before is answered. The client shares the processors with the node.",
		Article: "–",
		Time:    "seconds",
		Disk:    "the chain",
		options: func(o *record.Options) []Option { return []Option{pushOption(o), connectionsOption(o)} },
		needs:   serves,
		chart:   record.Chart{Metric: rate, Title: "transfers answered per second"},
		metrics: counts(more(perSecond, rate), of(seconds, half, nearAll, each, client), of(bytesUnit, private)),
	}
}

func stopSuite() Suite {
	return Suite{
		Name: Stop,
		How: "After the transfers of `push` the process gets SIGTERM. The time is from then until the process has " +
			"ended. The bytes written are those that it writes in this time.",
		Article: "exit: dirty pages are written (E7)",
		Time:    "seconds",
		Disk:    "the chain",
		needs:   serves,
		chart:   record.Chart{Metric: took, Title: "time from SIGTERM until the process is gone"},
		metrics: counts(of(seconds, took), of(bytesUnit, written)),
	}
}

// runStart measures all three.
func runStart(ctx context.Context, l *life, found *findings) error {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	if err := evict(dir); err != nil {
		return err
	}
	return l.with(ctx, func(s *server) error {
		started := found.put(Start, map[string]float64{
			took: s.ready.Seconds(), processor: s.first.CPU().Seconds(), read: float64(s.first.Disk.Read),
			faults: float64(s.first.MajorFaults), private: float64(s.first.Memory.Anonymous),
		}, nil)
		result, used, err := push(ctx, l, s)
		if err != nil {
			return err
		}
		pushed := found.put(Push, answeredWith(result, used), nil)
		length, wrote, err := s.stop(ctx)
		if err != nil {
			return err
		}
		found.put(Stop, map[string]float64{took: length.Seconds(), written: float64(wrote)}, nil)
		until := 0
		for until < len(s.Samples()) && s.Samples()[until].Seconds <= s.ready.Seconds() {
			until++
		}
		started.Samples, pushed.Samples = s.Samples()[:until], s.Samples()
		started.Values[private] = max(mostPrivate(started.Samples), started.Values[private])
		pushed.Values[private] = mostPrivate(pushed.Samples)
		return nil
	})
}

// pushGood is how long transfers of push are good, those included that take longest.
const pushGood = 10 * time.Minute

// push sends the transfers of one life as fast as they are answered.
func push(ctx context.Context, l *life, s *server) (*load.Result, cost, error) {
	n, o := l.network.(Serving), l.options
	if _, err := s.producing(ctx); err != nil {
		return nil, cost{}, err
	}
	if err := s.emptied(ctx); err != nil {
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
	return s.charge(func(ready func() error) (*load.Result, error) {
		if err := ready(); err != nil {
			return nil, err
		}
		return load.Closed(ctx, o.Connect, requests, n.Accepted)
	})
}
