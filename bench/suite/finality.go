package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// Finality is the name of the suite in which nodes finalize a chain together.
const Finality = "finality"

// finalityNodes is how many they are.
const finalityNodes = 4

// Names of its values.
const (
	finalHalf    = "median time to finality"
	finalNearAll = "99 % of blocks final within"
	allShare     = "processor of all nodes"
)

func finalitySuite() Suite {
	return Suite{
		Name: Finality,
		How: "Four nodes of the subject, connected with each other, share the chain's finalizers. The " +
			"first node makes the blocks, and takes transfers at the rate. The time of a block begins when the " +
			"first node shows it as its newest block. It ends when a node shows the block as final, and is " +
			"counted for each of the four nodes. All nodes are asked every 5 ms. The nodes share the " +
			"processors.",
		Article: "–",
		Time:    "--peer-for",
		Disk:    "the chain, four times",
		options: func(o *record.Options) []Option { return []Option{peerForOption(o), rateOption(o)} },
		check:   neverIdle,
		needs:   finalizes,
		chart:   record.Chart{Metric: finalNearAll, Title: "time within which 99 % of blocks are final"},
		metrics: counts(of(seconds, finalHalf, finalNearAll), more(number, blocks), of(percent, allShare)),
		run:     runFinality,
	}
}

func runFinality(ctx context.Context, l *life, found *findings) error {
	var nodes []*server
	for i := range finalityNodes {
		dir, _, _, err := l.importChain(ctx, l.subject)
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the run's end removes what is left
		var peers []string
		for _, n := range nodes {
			peers = append(peers, n.Peers)
		}
		s, err := l.answering(ctx, l.subject, dir, func() (Node, error) {
			return l.network.(Finalizing).Finalizer(l.subject, dir, i, finalityNodes, peers)
		})
		if err != nil {
			return fmt.Errorf("node %d of %d: %w", i+1, finalityNodes, err)
		}
		defer s.Kill()
		nodes = append(nodes, s)
	}
	if err := finalizing(ctx, nodes); err != nil {
		return err
	}
	values, err := measureFinality(ctx, l, nodes)
	if err != nil {
		return err
	}
	for _, s := range nodes {
		if _, _, err := s.stop(ctx); err != nil {
			return err
		}
	}
	found.put(Finality, values, nodes[0].Samples())
	return nil
}

// finalizing waits until a block is final at each node that was made after all had begun.
func finalizing(ctx context.Context, nodes []*server) error {
	made, err := nodes[0].producing(ctx)
	if err != nil {
		return err
	}
	for i, s := range nodes {
		if err := s.final(ctx, made); err != nil {
			return fmt.Errorf("node %d of %d: %w", i+1, len(nodes), err)
		}
	}
	return nil
}

// measureFinality measures how long blocks of the first node take until they are final at each.
func measureFinality(ctx context.Context, l *life, nodes []*server) (map[string]float64, error) {
	n, length := l.network.(Finalizing), lengthOf(l.options.PeerFor)
	begin := make([]float64, len(nodes))
	for i, s := range nodes {
		now, err := s.Now()
		if err != nil {
			return nil, err
		}
		begin[i] = now.CPU().Seconds()
	}
	made, final := sightings{}, make([]sightings, len(nodes))
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { made.watch(func() (uint64, error) { return l.network.Head(ctx, nodes[0].URL) }, end) })
	for i, s := range nodes {
		final[i] = sightings{}
		wg.Go(func() { final[i].watch(func() (uint64, error) { return n.Final(ctx, s.URL) }, end) })
	}
	err := l.transfersTo(ctx, nodes[0], length)
	close(end)
	wg.Wait()
	var delays figuretable.Latencies
	used := 0.0
	for i, s := range nodes {
		now, err1 := s.Now()
		err = errors.Join(err, err1)
		used += now.CPU().Seconds() - begin[i]
		d := final[i].after(made)
		delays.Merge(&d)
	}
	if err == nil && delays.Count == 0 {
		err = fmt.Errorf("no block was made and became final within %s", length)
	}
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		finalHalf: delays.Quantile(0.5) / 1e9, finalNearAll: delays.Quantile(0.99) / 1e9,
		blocks: float64(len(made)), allShare: 100 * used / length.Seconds(),
	}, nil
}
