package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tarn/bench/record"
)

// Snapshot is the name of the suite in which a node writes a snapshot, and another begins with it.
const Snapshot = "snapshot"

// Names of its values.
const (
	blockWait   = "longest wait for a block"
	loading     = "start from it"
	loadWritten = "written by the start"
)

func snapshotSuite() Suite {
	return Suite{
		Name: Snapshot,
		How: "The node writes a snapshot of its state while it makes blocks. The time is from the request " +
			"until the file is complete. The longest time without a new block is measured until the answer to " +
			"the request. Then a new node starts from the snapshot until it answers, and ends. Processor, " +
			"waits, memory and the curves are those of the new node.",
		Article: "first start, from a snapshot (E2)",
		Time:    "seconds",
		Disk:    "the state, twice",
		needs:   saves,
		chart:   record.Chart{Metric: took, Title: "time to write a snapshot"},
		metrics: counts(of(seconds, took, blockWait), of(bytesUnit, size, written), of(seconds, loading, processor),
			of(bytesUnit, loadWritten, atEnd), of(number, faults)),
		collect: []collector{swapped(), privateMemory(), residentMemory()},
		run:     runSnapshot,
	}
}

func runSnapshot(ctx context.Context, l *life, found *findings) error {
	var path string
	var values map[string]float64
	if err := l.with(ctx, func(s *server) (err error) {
		path, values, err = snapshotOf(ctx, s)
		return err
	}); err != nil {
		return err
	}
	defer os.Remove(path)
	fresh, err := l.runner.folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	again, err := l.serving(ctx, fresh, path)
	if err != nil {
		return fmt.Errorf("begin with the snapshot: %w", err)
	}
	_, wrote, err := again.stop(ctx)
	if err != nil {
		again.Kill()
		return fmt.Errorf("end the node that began with the snapshot: %w", err)
	}
	values[loading], values[processor] = again.ready.Seconds(), again.first.CPU().Seconds()
	values[loadWritten], values[atEnd], values[faults] = float64(again.first.Disk.Net()), float64(wrote),
		float64(again.first.MajorFaults)
	found.keep(Snapshot, again.Child, values)
	return nil
}

// snapshotOf has a node write a snapshot, which the caller removes.
func snapshotOf(ctx context.Context, s *server) (string, map[string]float64, error) {
	if _, err := s.producing(ctx); err != nil {
		return "", nil, err
	}
	before, err := s.Now()
	if err != nil {
		return "", nil, err
	}
	begin, waits := time.Now(), blockWaits(ctx, s)
	path, whole, err := s.network.(Saving).Snapshot(ctx, s.URL, s.dir)
	longest, failed := waits()
	if err := errors.Join(err, failed); err != nil {
		return "", nil, err
	}
	after, err := s.Now()
	if err != nil {
		return "", nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, fmt.Errorf("look at the snapshot that the node names: %w", err)
	}
	return path, map[string]float64{
		took: whole.Sub(begin).Seconds(), blockWait: longest.Seconds(), size: float64(info.Size()),
		written: float64(after.Disk.Net() - before.Disk.Net()),
	}, nil
}

// blockEvery is how often a node is asked whether it has a new block.
const blockEvery = 5 * time.Millisecond

// blockWaits asks a node for its newest block until end is called, which returns the longest
// time without a new one.
func blockWaits(ctx context.Context, s *server) (end func() (time.Duration, error)) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	longest, since := time.Duration(0), time.Now()
	go func() {
		ended <- func() error {
			for last := uint64(0); ; {
				n, err := s.head(ctx, 0)
				if err != nil {
					return err
				}
				longest = max(longest, time.Since(since))
				if n > last {
					last, since = n, time.Now()
				}
				select {
				case <-stop:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(blockEvery):
				}
			}
		}()
	}()
	return func() (time.Duration, error) {
		close(stop)
		err := <-ended
		return longest, err
	}
}
