package suite

import (
	"context"
	"fmt"
	"os"

	"tarn/bench/record"
)

// KillSync is the name of the suite in which a node that gets the chain is killed.
const KillSync = "kill-sync"

// blocksLost is the name of its value.
const blocksLost = "blocks lost"

func killSyncSuite() Suite {
	return Suite{
		Name: KillSync,
		How: "A new node gets blocks as in `sync`. When it reports half of them, the process is killed " +
			"(kill -9). Then it is started without peers, and the time until its first answer is measured. The " +
			"blocks that it had reported and no longer has are lost. At last it must get the whole chain from " +
			"the source. If it does not, the measurement has failed.",
		Article: "–",
		Time:    "seconds",
		Disk:    "the chain, twice",
		options: func(o *record.Options) []Option { return []Option{sourceOption(o)} },
		needs:   follows,
		chart:   record.Chart{Metric: blocksLost, Title: "blocks that are lost after kill -9"},
		metrics: counts(of(number, blocksLost), of(seconds, took, processor), of(bytesUnit, read)),
		run: func(ctx context.Context, l *life, found *findings) error {
			return l.withSource(ctx, func(from *server) error { return killSync(ctx, l, from, found) })
		},
	}
}

// killSync kills a node that gets blocks from another.
func killSync(ctx context.Context, l *life, from *server, found *findings) error {
	dir, err := l.runner.folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n, all := l.network.(Following), l.chain.Blocks
	follow := func() (Node, error) { return n.Follow(l.subject, dir, from.Peers) }
	s, err := l.answering(ctx, l.subject, dir, follow)
	if err != nil {
		return err
	}
	told, err := s.head(ctx, (all+1)/2)
	s.Kill()
	if err != nil {
		return err
	}
	alone := func() (Node, error) { return n.Source(l.subject, dir) }
	s, values, err := revive(ctx, l, dir, alone, func(s *server) (map[string]float64, error) {
		head, err := s.head(ctx, 0)
		return map[string]float64{blocksLost: float64(told - min(told, head))}, err
	})
	if err != nil {
		return err
	}
	if err := completeChain(ctx, l, dir, follow); err != nil {
		return fmt.Errorf("get the rest after the kill: %w", err)
	}
	found.keep(KillSync, s.Child, values)
	return nil
}

// completeChain has a node get the whole chain, and ends it.
func completeChain(ctx context.Context, l *life, dir string, follow func() (Node, error)) error {
	s, err := l.answering(ctx, l.subject, dir, follow)
	if err != nil {
		return err
	}
	defer s.Kill()
	if _, err := s.head(ctx, l.chain.Blocks); err != nil {
		return err
	}
	_, _, err = s.stop(ctx)
	return err
}
