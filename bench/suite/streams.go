package suite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tarn/bench/record"
)

// Streams is the name of the suite of clients that read the state history.
const Streams = "streams"

// Its parts.
const (
	noClient   = "no client"
	oneClient  = "one client"
	allClients = "all clients"
)

// streamed is the name of its value.
const streamed = "blocks per second to each"

func streamsSuite() Suite {
	used := list(of(percent, share), of(bytesUnit, private))
	return Suite{
		Name: Streams,
		How: "A new node replays the chain, keeps its state history, and makes blocks. A peer sends " +
			"transfers at the rate of the load. There are three parts: without clients, with one client, and " +
			"with all clients. The clients read blocks with traces and rows from the first block to the last " +
			"one of the chain, again and again. A gap is the time between two blocks that come to the peer; it " +
			"should be half a second. The longest delay of a block counts from the begin of its half second.",
		Article: "–",
		Time:    "three times --load-for",
		Disk:    "the chain, its history, and what is written",
		options: func(o *record.Options) []Option {
			return []Option{loadOption(o), loadForOption(o),
				{"clients", "clients in the last part of streams", &o.Clients,
					wrongIf(o.Clients < 1 || o.Clients > clientsMost, "%d clients: from 1 to %d", o.Clients, clientsMost)}}
		},
		needs: streams,
		chart: record.Chart{Metric: gapNearAll, Title: "time between two blocks, 99 % of gaps within"},
		metrics: counts(inParts(list(ofBlocks(), used), noClient),
			inParts(list(ofBlocks(), more(perSecond, streamed), used), oneClient, allClients)),
		run: runStreams,
	}
}

func runStreams(ctx context.Context, l *life, found *findings) error {
	values := parts{}
	ended, err := replaying(ctx, l, KeepStates, l.serve, func(s *server) error {
		if _, err := s.producing(ctx); err != nil {
			return err
		}
		for _, part := range []struct {
			name    string
			clients int
		}{{noClient, 0}, {oneClient, 1}, {allClients, l.options.Clients}} {
			if err := streamOnce(ctx, l, s, part.clients, values.span(s, part.name)); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	values.remember(ended.Samples())
	found.put(Streams, values.all(), ended.Samples())
	return nil
}

// streamOnce gives a node steady transfers while clients read all blocks of the chain that it
// replayed, from the first, again and again.
func streamOnce(ctx context.Context, l *life, s *server, clients int, values map[string]float64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var sent atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	failed := make(chan error, max(1, clients))
	pace, used, err := sendLoad(ctx, l, s, lengthOf(l.options.LoadFor), 0, func() error {
		for range clients {
			wg.Go(func() { failed <- stream(ctx, s, l.chain.Blocks, &sent) })
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
	values[share] = used.share()
	if clients > 0 {
		values[streamed] = float64(got) / used.elapsed / float64(clients)
		if got == 0 {
			return fmt.Errorf("no client was sent a block within %.1f s", used.elapsed)
		}
	}
	return nil
}

// stream reads the blocks up to one again and again until ctx ends.
func stream(ctx context.Context, s *server, last uint64, sent *atomic.Int64) error {
	for ctx.Err() == nil {
		err := s.network.(Streaming).Stream(ctx, s.Node, last, func() { sent.Add(1) })
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
