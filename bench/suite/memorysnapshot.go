package suite

import (
	"context"
	"fmt"
	"maps"
	"os"

	"tarn/bench/record"
)

// MemorySnapshot is the name of the suite of a node whose memory is less than its snapshot.
const MemorySnapshot = "memory-snapshot"

func memorySnapshotSuite() Suite {
	return Suite{
		Name: MemorySnapshot,
		How: "A new node runs in a control group, and starts from a snapshot that was written outside the " +
			"group. The memory of the group is less than the snapshot. The start is measured until the node " +
			"answers. Then the node writes a snapshot, for which it reads all of its state, until the file is " +
			"complete. Then it ends. If the node cannot work with so little memory, the measurement has " +
			"failed.",
		Article: "first start, from a snapshot, with 32 GB of memory (E2)",
		Time:    "seconds",
		Disk:    "the state, twice",
		options: func(o *record.Options) []Option { return []Option{memoryOption(o)} },
		needs:   saves,
		grouped: true,
		chart:   record.Chart{Metric: took, Title: "time with less memory than the snapshot"},
		metrics: counts(inParts(list(of(seconds, took), of(bytesUnit, size, read, written), of(number, faults)), Start),
			inParts(list(of(seconds, took), of(bytesUnit, written)), Snapshot), inParts(ofEnd(), Stop)),
		run: runMemorySnapshot,
	}
}

// runMemorySnapshot has a snapshot written without a control group, and a new node in one begin
// with it.
func runMemorySnapshot(ctx context.Context, l *life, found *findings) error {
	var path string
	var values map[string]float64
	err := l.with(ctx, func(s *server) (err error) {
		path, values, err = snapshotOf(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	defer os.Remove(path)
	return within(l, "snapshot", path, int64(values[size]), func() error {
		return limitedSnapshot(ctx, l, path, values[size], found)
	})
}

// limitedSnapshot is what a node does in the group that begins with a snapshot: it loads it,
// and writes one, for which it reads all of its state.
func limitedSnapshot(ctx context.Context, l *life, path string, bytes float64, found *findings) error {
	dir, err := l.runner.folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := l.answeringWithin(ctx, importPatience, l.subject, dir, func() (Node, error) {
		return l.network.(Serving).Serve(l.subject, dir, path)
	})
	if err != nil {
		return fmt.Errorf("begin with the snapshot: %w", err)
	}
	defer s.Kill()
	values := parts{}
	maps.Copy(values.of(Start), map[string]float64{
		took: s.ready.Seconds(), size: bytes, read: float64(s.first.Disk.Read), written: float64(s.first.Disk.Net()),
		faults: float64(s.first.MajorFaults),
	})
	_, again, err := snapshotOf(ctx, s)
	if err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	maps.Copy(values.of(Snapshot), map[string]float64{took: again[took], written: again[written]})
	return limitEnds(ctx, s, MemorySnapshot, found, values)
}
