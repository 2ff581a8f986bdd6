package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tarn/bench/load"
	"tarn/probe"
)

// crowdWarm is how long peers are connected before anything is measured.
const crowdWarm = 3 * time.Second

// gossip is the suite p2p.
func (l *life) gossip(ctx context.Context) error {
	return l.with(ctx, func(s *server) error {
		o := l.runner.config.Options
		if _, err := l.producing(ctx, s); err != nil {
			return err
		}
		var node, own probe.Process
		taken, length, err := l.runner.config.Network.(Gossiping).Gossip(ctx, s.Node, l.seed(), o.Push, func() (err error) {
			if own, err = probe.Self(); err == nil {
				node, err = s.Now()
			}
			return err
		})
		if err != nil {
			return err
		}
		nodeAfter, err1 := s.Now()
		ownAfter, err2 := probe.Self()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if _, _, err := l.stopped(ctx, s); err != nil {
			return err
		}
		count := float64(taken)
		l.values[P2P] = map[string]float64{
			rate: count / length.Seconds(), lost: float64(o.Push - taken), each: (nodeAfter.CPU() - node.CPU()).Seconds() / count,
			client: (ownAfter.CPU() - own.CPU()).Seconds() / count, private: mostPrivate(s.Samples()),
		}
		l.samples[P2P] = s.Samples()
		return nil
	})
}

// producing waits until a node has made a block, if it makes any without transactions.
func (l *life) producing(ctx context.Context, s *server) (uint64, error) {
	head, err := l.head(ctx, s, 0)
	if err != nil {
		return 0, err
	}
	if r, ok := l.runner.config.Network.(Resting); ok && r.Idle() {
		return head, nil
	}
	return l.head(ctx, s, head+1)
}

// seen is what a crowd and a node did in a time.
type seen struct {
	sight   Sight
	node    float64 // seconds of its processor
	elapsed float64
}

// watched lets a crowd look at a node for a time, while f does something.
func (l *life) watched(ctx context.Context, c Crowd, s *server, f func(length time.Duration) error) (v seen, err error) {
	if err := pause(ctx, l.runner.config.warm); err != nil {
		return v, err
	}
	before, err := s.Now()
	if err != nil {
		return v, err
	}
	begin := time.Now()
	c.Begin()
	if err := f(time.Duration(l.runner.config.Options.PeerFor * float64(time.Second))); err != nil {
		return v, err
	}
	v.sight, v.elapsed = c.Seen(), time.Since(begin).Seconds()
	after, err := s.Now()
	v.node = (after.CPU() - before.CPU()).Seconds()
	for why, n := range v.sight.Failed {
		l.runner.tell("%s: %d peers are lost: %s", l.subject.Name, n, why)
	}
	if err == nil && v.sight.Bytes == 0 {
		err = fmt.Errorf("no peer was sent anything: %v", v.sight.Failed)
	}
	return v, err
}

func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}

func (v seen) failed() (n float64) {
	for _, k := range v.sight.Failed {
		n += float64(k)
	}
	return n
}

// behind starts a node of the source that makes blocks and a node of the subject that follows it,
// and runs f with them, which ends the second well. Both are new in each life: they must have the
// same blocks.
func (l *life) behind(ctx context.Context, f func(from, s *server) error) error {
	of, n := l.runner.config.Source, l.runner.config.Network.(Following)
	maker, err := l.runner.folderIn(l.runner.sources)
	if err != nil {
		return err
	}
	defer os.RemoveAll(maker)
	if _, _, err := l.importTo(ctx, of, maker); err != nil {
		return err
	}
	dir, _, _, err := l.imported(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	from, err := l.answering(ctx, of, maker, func() (Node, error) { return l.runner.serving.Serve(of, maker, "") })
	if err != nil {
		return err
	}
	defer from.Kill()
	s, err := l.answering(ctx, l.subject, dir, func() (Node, error) { return n.Follow(l.subject, dir, from.Peers) })
	if err != nil {
		return err
	}
	defer s.Kill()
	if _, err := l.producing(ctx, from); err != nil {
		return err
	}
	if err := l.level(ctx, s, from); err != nil {
		return err
	}
	return f(from, s)
}

// level waits until a node has the blocks that the one that it follows has now.
func (l *life) level(ctx context.Context, s, from *server) error {
	head, err := l.head(ctx, from, 0)
	if err == nil {
		_, err = l.head(ctx, s, head)
	}
	if err != nil {
		return fmt.Errorf("follow the node that makes blocks: %w", err)
	}
	return nil
}

// peer is the suite of that name.
func (l *life) peer(ctx context.Context) error {
	return l.behind(ctx, func(from, s *server) error {
		o := l.runner.config.Options
		crowd, err := l.runner.config.Network.(Crowded).Crowd(ctx, s.Node, from.Node, o.Peers, 0)
		if err != nil {
			return fmt.Errorf("connect %d peers: %w", o.Peers, err)
		}
		defer crowd.Close()
		transfers, err := l.runner.serving.Transfers(from.URL, l.seed())
		if err != nil {
			return err
		}
		v, err := l.watched(ctx, crowd, s, func(length time.Duration) error {
			r, err := load.Open(ctx, o.Rate, length, transfers, l.runner.serving.Accepted, nil)
			if err == nil && r.Failures > 0 {
				err = fmt.Errorf("%d transfers were not taken; the first: %w", r.Failures, r.Failure)
			}
			return err
		})
		if err != nil {
			return err
		}
		if _, _, err := l.stopped(ctx, s); err != nil {
			return err
		}
		l.values[Peer] = map[string]float64{
			share: 100 * v.node / v.elapsed, delay: v.sight.Delays.Quantile(0.5) / 1e9, nearAllTold: v.sight.Delays.Quantile(0.99) / 1e9,
			sent: 8 * float64(v.sight.Bytes) / v.elapsed, peersLost: v.failed(), threads: mostThreads(s.Samples()), private: mostPrivate(s.Samples()),
		}
		l.samples[Peer] = s.Samples()
		return nil
	})
}

// serveBlocks is the suite serve-blocks.
func (l *life) serveBlocks(ctx context.Context) error {
	return l.with(ctx, func(s *server) error {
		o := l.runner.config.Options
		crowd, err := l.runner.config.Network.(Crowded).Crowd(ctx, s.Node, Node{}, o.Peers, o.Syncing)
		if err != nil {
			return fmt.Errorf("connect %d peers: %w", o.Peers, err)
		}
		defer crowd.Close()
		v, err := l.watched(ctx, crowd, s, func(length time.Duration) error { return pause(ctx, length) })
		if err != nil {
			return err
		}
		crowd.Close()
		if _, _, err := l.stopped(ctx, s); err != nil {
			return err
		}
		bits := 8 * float64(v.sight.Bytes)
		l.values[Serve] = map[string]float64{
			sent: bits / v.elapsed, perCore: bits / max(v.node, 1e-9), share: 100 * v.node / v.elapsed, chains: float64(v.sight.Chains),
			peersLost: v.failed(), private: mostPrivate(s.Samples()),
		}
		l.samples[Serve] = s.Samples()
		return nil
	})
}
