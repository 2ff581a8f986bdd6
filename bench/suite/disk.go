package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tarn/bench/causes"
	"tarn/bench/load"
	"tarn/internal/figures"
)

const secondsOfYear = 365 * 24 * 3600

// footprint is what a node's files and its disk were at a moment, in bytes.
type footprint struct {
	blocks, state int64
	device        int64 // written to the whole disk so far; -1: the kernel does not tell
}

func footprintOf(dir string) footprint {
	return footprint{occupied(filepath.Join(dir, "blocks")), stateBytes(dir), figures.DeviceWrites(dir)}
}

// disk is the suite of that name.
func (l *life) disk(ctx context.Context) error {
	return l.with(ctx, func(s *server) error { return l.writing(ctx, Disk, s, s) })
}

// diskFollow is the suite disk-follow.
func (l *life) diskFollow(ctx context.Context) error {
	return l.behind(ctx, func(from, s *server) error { return l.writing(ctx, DiskFollow, s, from) })
}

// writing measures what a node writes while transfers are sent, to itself or to the node that it
// follows, and then ends it.
func (l *life) writing(ctx context.Context, suite string, s, to *server) error {
	if err := figures.FlushDisk(s.dir); err != nil { // what others wrote before is not in the device's bytes
		return err
	}
	var first causes.Told
	before := footprintOf(s.dir)
	result, used, err := l.paced(ctx, s, to, func() (err error) {
		if s.Metrics != "" {
			first, err = causes.Read(ctx, s.Metrics)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := l.tell(ctx, s, first, used.elapsed); err != nil {
		return err
	}
	_, wrote, err := l.stopped(ctx, s)
	if err != nil {
		return err
	}
	if err := figures.FlushDisk(s.dir); err != nil {
		return err
	}
	after, o := footprintOf(s.dir), l.runner.config.Options
	perSecond := float64(used.wrote) / used.elapsed
	aYear := (perSecond + float64(wrote)/o.Between) * secondsOfYear
	values := map[string]float64{
		running: perSecond, atEnd: float64(wrote), year: aYear,
		blocksGrew: float64(after.blocks - before.blocks), stateGrew: float64(after.state - before.state),
		share: 100 * used.node / used.elapsed, private: mostPrivate(s.Samples()),
	}
	if o.Rating > 0 && aYear > 0 {
		values[lasts] = o.Rating * 1e12 / aYear
	}
	if s == to && result.Answers > 0 {
		values[nearAll] = result.Latencies.Quantile(0.99) / 1e9
	}
	if s == to && before.device >= 0 && after.device >= 0 {
		values[device] = float64(after.device - before.device)
	}
	l.values[suite], l.samples[suite] = values, s.Samples()
	return nil
}

// paced sends transfers at the steady rate, and counts what that costs the node s, which has all
// blocks of the one that they are sent to when it returns.
func (l *life) paced(ctx context.Context, s, to *server, begin func() error) (*load.Result, cost, error) {
	n, o := l.runner.serving, l.runner.config.Options
	transfers, err := n.Transfers(to.URL, l.seed())
	if err != nil {
		return nil, cost{}, err
	}
	length := time.Duration(o.For * float64(time.Second))
	return l.charged(s, func(ready func() error) (result *load.Result, err error) {
		var end time.Time
		begun := func() error {
			end = time.Now().Add(length)
			return errors.Join(begin(), ready())
		}
		if o.Rate == 0 {
			result, err = &load.Result{}, begun()
		} else {
			result, err = load.Open(ctx, o.Rate, length, transfers, n.Accepted, begun)
		}
		if err == nil {
			err = pause(ctx, time.Until(end)) // the last of a few transfers is sent long before
		}
		if err == nil && s != to {
			err = l.level(ctx, s, to)
		}
		return result, err
	})
}

// tell keeps what a node says it wrote, per second, while it served.
func (l *life) tell(ctx context.Context, s *server, first causes.Told, elapsed float64) error {
	if s.Metrics == "" {
		return nil
	}
	now, err := causes.Read(ctx, s.Metrics)
	if err == nil {
		l.told, err = now.Since(first)
	}
	if err != nil {
		return err
	}
	for _, all := range []map[string]float64{l.told.State, l.told.Files} {
		for name := range all {
			all[name] /= elapsed
		}
	}
	return nil
}

// snapshot is the suite of that name.
func (l *life) snapshot(ctx context.Context) error {
	var path string
	var values map[string]float64
	if err := l.with(ctx, func(s *server) (err error) {
		path, values, err = l.snapshotOf(ctx, s)
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
	_, wrote, err := l.stopped(ctx, again)
	if err != nil {
		again.Kill()
		return fmt.Errorf("end the node that began with the snapshot: %w", err)
	}
	values[loading], values[processor] = again.ready.Seconds(), again.first.CPU().Seconds()
	values[loadWritten], values[atEnd], values[faults] = float64(again.first.Disk.Net()), float64(wrote), float64(again.first.MajorFaults)
	values[private], values[resident], values[swap] = mostPrivate(again.Samples()), float64(again.Peak()), mostSwapped(again.Samples())
	l.values[Snapshot], l.samples[Snapshot] = values, again.Samples()
	return nil
}

// snapshotOf has a node write a snapshot, which the caller removes.
func (l *life) snapshotOf(ctx context.Context, s *server) (string, map[string]float64, error) {
	if _, err := l.producing(ctx, s); err != nil {
		return "", nil, err
	}
	before, err := s.Now()
	if err != nil {
		return "", nil, err
	}
	begin, waits := time.Now(), l.blockWaits(ctx, s)
	path, whole, err := l.runner.config.Network.(Saving).Snapshot(ctx, s.URL, s.dir)
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
	return path, map[string]float64{took: whole.Sub(begin).Seconds(), blockWait: longest.Seconds(), size: float64(info.Size()),
		written: float64(after.Disk.Net() - before.Disk.Net())}, nil
}

// blockEvery is how often a node is asked whether it has a new block.
const blockEvery = 5 * time.Millisecond

// blockWaits asks a node for its newest block until end is called, which returns the longest
// time without a new one.
func (l *life) blockWaits(ctx context.Context, s *server) (end func() (time.Duration, error)) {
	stop, ended := make(chan struct{}), make(chan error, 1)
	longest, since := time.Duration(0), time.Now()
	go func() {
		ended <- func() error {
			for last := uint64(0); ; {
				n, err := l.head(ctx, s, 0)
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
