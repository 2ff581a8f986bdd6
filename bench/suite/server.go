package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tarn/bench/procsampler"
	"tarn/procusage"
)

// server is a running node that answers.
type server struct {
	*procsampler.Child
	Node
	network Network
	dir     string
	began   time.Time
	ready   time.Duration
	first   procusage.Process // when it answered

	patience time.Duration // for its first answer, and for a block
}

// ended tells whether the process has.
func (s *server) ended() bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// asked is how long one question for the head may take.
const asked = 5 * time.Second

// head waits until the node's newest block is at least so high.
func (s *server) head(ctx context.Context, least uint64) (uint64, error) {
	return s.until(ctx, least, s.network.Head)
}

// final waits until a block is final.
func (s *server) final(ctx context.Context, block uint64) error {
	_, err := s.until(ctx, block, s.network.(Finalizing).Final)
	if err != nil {
		return fmt.Errorf("wait for the finality of a block: %w", err)
	}
	return nil
}

// until asks for a block's number until it is at least so high.
func (s *server) until(ctx context.Context, least uint64,
	ask func(ctx context.Context, url string) (uint64, error)) (uint64, error) {
	for end := time.Now().Add(s.patience); ; {
		within, cancel := context.WithTimeout(ctx, asked)
		n, err := ask(within, s.URL)
		cancel()
		switch {
		case err == nil && n >= least:
			return n, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case time.Now().After(end):
			return 0, errors.Join(fmt.Errorf("no block %d within %s", least, s.patience), err)
		}
		select {
		case <-s.Done():
			return 0, cmp.Or(s.Wait(ctx), errors.New("the node ended by itself"))
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// producing waits until the node has made a block, if it makes any without transactions.
func (s *server) producing(ctx context.Context) (uint64, error) {
	head, err := s.head(ctx, 0)
	if err != nil {
		return 0, err
	}
	if r, ok := s.network.(Resting); ok && r.Idle() {
		return head, nil
	}
	return s.head(ctx, head+1)
}

// emptied waits until all transfers that an earlier run left are in blocks.
func (s *server) emptied(ctx context.Context) error {
	pooling, ok := s.network.(Pooling)
	if !ok {
		return nil
	}
	_, err := s.until(ctx, 1, func(ctx context.Context, url string) (uint64, error) {
		if n, err := pooling.Waiting(ctx, url); n > 0 || err != nil {
			return 0, cmp.Or(err, fmt.Errorf("%d transfers wait", n))
		}
		return 1, nil
	})
	if err != nil {
		return fmt.Errorf("wait for earlier transfers: %w", err)
	}
	return nil
}

// level waits until the node has the blocks that the one that it follows has now.
func (s *server) level(ctx context.Context, from *server) error {
	head, err := from.head(ctx, 0)
	if err == nil {
		_, err = s.head(ctx, head)
	}
	if err != nil {
		return fmt.Errorf("follow the node that makes blocks: %w", err)
	}
	return nil
}

// stop ends the node well, and says how long that took and what it wrote meanwhile.
func (s *server) stop(ctx context.Context) (took time.Duration, wrote int64, err error) {
	before, err := s.Now()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := s.Stop(ctx, stopPatience); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	_, disk, _ := s.Total()
	return took, disk.Net() - before.Disk.Net(), nil
}

func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}
