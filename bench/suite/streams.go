package suite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tarn/bench/subject"
	"tarn/internal/figures"
)

// Parts of the suite streams.
const (
	noClient   = "no client"
	oneClient  = "one client"
	allClients = "all clients"
)

// Pace is how a node's blocks came to a peer that sent it transfers.
type Pace struct {
	Sent, Taken int // transfers; those in blocks
	Blocks      int
	Gaps        figures.Latencies // between two blocks
	Longest     time.Duration     // of these
	Late        time.Duration     // the latest that a block came, from the begin of its half second
}

// put adds the block times to the values of a part.
func (p *Pace) put(values map[string]float64) {
	values[blocks], values[gapHalf], values[gapNearAll] = float64(p.Blocks), p.Gaps.Quantile(0.5)/1e9, p.Gaps.Quantile(0.99)/1e9
	values[gapLongest], values[latest] = p.Longest.Seconds(), p.Late.Seconds()
	values[taken], values[lost] = float64(p.Taken), float64(p.Sent-p.Taken)
}

// loaded gives a node steady transfers for a time, beside so many transactions of others, and
// counts what that costs. Before they begin, begins is called.
func (l *life) loaded(ctx context.Context, s *server, length time.Duration, besides int, begins func() error) (pace Pace, used cost, err error) {
	used, err = l.costOf(s, func(ready func() error) (err error) {
		l.loads++
		pace, err = l.runner.config.Network.(Loading).Load(ctx, s.Node, Load{
			Seed: l.seed() + uint64(l.loads)<<16, Rate: l.runner.config.Options.Load, For: length, Besides: besides,
			Ready: func() error {
				if err := begins(); err != nil {
					return err
				}
				return ready()
			}})
		return err
	})
	if err == nil && pace.Gaps.Count == 0 {
		err = fmt.Errorf("a peer saw no two blocks within %s", length)
	}
	return pace, used, err
}

// loadFor is how long the load of a part lasts.
func (l *life) loadFor() time.Duration {
	return time.Duration(l.runner.config.Options.LoadFor * float64(time.Second))
}

// streams is the suite of that name.
func (l *life) streams(ctx context.Context) error {
	values := parts{}
	serve := func(of subject.Subject, dir string) (Node, error) { return l.runner.serving.Serve(of, dir, "") }
	ended, err := l.replaying(ctx, KeepStates, serve, func(s *server) error {
		if _, err := l.producing(ctx, s); err != nil {
			return err
		}
		for _, part := range []struct {
			name    string
			clients int
		}{{noClient, 0}, {oneClient, 1}, {allClients, l.runner.config.Options.Clients}} {
			if err := l.streamOnce(ctx, s, part.clients, values.spanned(s, part.name)); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	values.remember(ended.Samples())
	l.values[Streams], l.samples[Streams] = values.all(), ended.Samples()
	return nil
}

// streamOnce gives a node steady transfers while clients read all blocks of the chain that it
// replayed, from the first, again and again.
func (l *life) streamOnce(ctx context.Context, s *server, clients int, values map[string]float64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var sent atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	failed := make(chan error, max(1, clients))
	pace, used, err := l.loaded(ctx, s, l.loadFor(), 0, func() error {
		for range clients {
			wg.Go(func() { failed <- l.stream(ctx, s, &sent) })
		}
		return nil
	})
	got := sent.Load()
	stop()
	values[until] = time.Since(s.began).Seconds()
	for i := 0; i < clients && err == nil; i++ {
		err = <-failed
	}
	if err != nil {
		return err
	}
	pace.put(values)
	values[share] = 100 * used.node / used.elapsed
	if clients > 0 {
		values[streamed] = float64(got) / used.elapsed / float64(clients)
		if got == 0 {
			return fmt.Errorf("no client was sent a block within %.1f s", used.elapsed)
		}
	}
	return nil
}

// stream reads the chain's blocks again and again until ctx ends.
func (l *life) stream(ctx context.Context, s *server, sent *atomic.Int64) error {
	for ctx.Err() == nil {
		err := l.runner.config.Network.(Streaming).Stream(ctx, s.Node, l.runner.run.Chain.Blocks, func() { sent.Add(1) })
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
