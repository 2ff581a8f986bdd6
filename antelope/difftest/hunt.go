package difftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/store/engine"
)

// Hunt looks for differences with random workloads and random seeds.
type Hunt struct {
	Peer   *Peer
	Length time.Duration // of each node's work
	Dir    string        // where cases that differ are kept
	Only   []string      // names of workloads; none for all
	Out    io.Writer     // told about each case

	// Steered is whether nodeos' controller makes the blocks, in-process, in its own
	// time; else a nodeos does in real time.
	Steered bool

	mu                sync.Mutex
	cases, executed   int
	different, failed int
}

// Run goes on for about so long, with so many nodes at once. It returns
// ErrDifferent if there was a difference.
func (h *Hunt) Run(ctx context.Context, total time.Duration, jobs int) error {
	list := slices.DeleteFunc(Workloads(), func(w Workload) bool {
		return len(h.Only) > 0 && !slices.Contains(h.Only, w.Name)
	})
	if len(list) == 0 {
		return fmt.Errorf("no workload of %q", h.Only)
	}
	end := time.Now().Add(total)
	var wait sync.WaitGroup
	for range jobs {
		wait.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				h.one(ctx, list[rand.IntN(len(list))], rand.Uint64())
			}
		})
	}
	wait.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.Out, "%d cases, %d transactions; %d differ, %d failed\n", h.cases, h.executed, h.different, h.failed)
	if h.different+h.failed > 0 {
		return fmt.Errorf("%d of %d cases: %w", h.different+h.failed, h.cases, ErrDifferent)
	}
	return nil
}

// one records and compares one case.
func (h *Hunt) one(ctx context.Context, w Workload, seed uint64) {
	dir := filepath.Join(h.Dir, fmt.Sprintf("%s-%d", w.Name, seed))
	record := h.Peer.Record
	if h.Steered {
		record = h.Peer.RecordSteered
	}
	m, err := record(ctx, w, seed, h.Length, dir, io.Discard)
	o := engine.Options{Kind: engine.Page, Mode: engine.Modes()[2], LimitBytes: 8 << 30} // heap
	var report []byte
	if err == nil {
		out := &writer{}
		err = Compare(dir, o, chain.Options{Options: execute.Options{ForceAllChecks: seed%2 == 0}}, out)
		var other *otherState
		if h.Steered && errors.As(err, &other) && h.Peer.Explain(ctx, dir, other.block) == nil {
			err = Compare(dir, o, chain.Options{Options: execute.Options{ForceAllChecks: seed%2 == 0}}, out)
		}
		report = out.b
	}
	switch {
	case err != nil:
	case h.Steered && w.Reached != nil && w.Reached(m) != nil:
		err = w.Reached(m)
	case seed&2 == 0:
		err = h.deepMind(ctx, dir, o)
	default:
		err = h.history(ctx, dir, o)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cases++
	switch {
	case err == nil:
		h.executed += m.Executed
		fmt.Fprintf(h.Out, "%s seed %d: same, %d blocks, %d transactions\n", w.Name, seed, m.HeadNum, m.Executed)
		err = os.RemoveAll(dir)
	case errors.Is(err, ErrDifferent):
		h.different++
	case ctx.Err() != nil:
		return
	default:
		h.failed++
	}
	if err != nil {
		fmt.Fprintf(h.Out, "%s seed %d: %v (kept in %s)\n%s", w.Name, seed, err, dir, report)
	}
}

// deepMind compares what is said of a case while it is replayed.
func (h *Hunt) deepMind(ctx context.Context, dir string, o engine.Options) error {
	work, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	theirs, err := h.Peer.DeepMind(ctx, dir, work)
	if err != nil {
		return err
	}
	_, err = CompareDeepMind(dir, theirs, o, chain.Options{})
	return err
}

// history compares what a case's blocks did.
func (h *Hunt) history(ctx context.Context, dir string, o engine.Options) error {
	work, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	theirs, err := h.Peer.StateHistory(ctx, dir, work)
	if err != nil {
		return err
	}
	_, err = CompareHistory(dir, theirs, o, chain.Options{})
	return err
}

// writer keeps what is written.
type writer struct{ b []byte }

func (w *writer) Write(b []byte) (int, error) {
	w.b = append(w.b, b...)
	return len(b), nil
}
