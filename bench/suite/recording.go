package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tarn/bench/subject"
	"tarn/internal/figures"
)

// recording is the suite of that name. Its nodes are new in each part: one that kept no
// history for some blocks cannot keep any after them.
func (l *life) recording(ctx context.Context) error {
	values := parts{}
	for _, what := range []Choice{KeepNothing, KeepBoth} {
		if err := l.recordOnce(ctx, what, values.of(string(what))); err != nil {
			return fmt.Errorf("keep %s: %w", what, err)
		}
	}
	l.values[Recording] = values.all()
	return nil
}

// recordOnce counts what a node that makes blocks writes while transfers come.
func (l *life) recordOnce(ctx context.Context, what Choice, values map[string]float64) error {
	dir, _, _, err := l.imported(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	serve := func(of subject.Subject, dir string) (Node, error) { return l.runner.serving.Serve(of, dir, "") }
	ended, err := l.keeping(ctx, dir, what, serve, func(s *server) error { return l.countOnce(ctx, s, what, values) })
	if err == nil {
		values[private] = mostPrivate(ended.Samples())
		l.samples[Recording] = ended.Samples()
	}
	return err
}

// countOnce counts what is written while transfers come, in all and by file.
func (l *life) countOnce(ctx context.Context, s *server, what Choice, values map[string]float64) error {
	n := l.runner.config.Network.(Keeping)
	for range 2 { // the whole state at the begin is recorded with the first block
		if _, err := l.producing(ctx, s); err != nil {
			return err
		}
	}
	var before LogBytes
	var said int64
	pace, used, err := l.loaded(ctx, s, l.loadFor(), 0, func() error {
		if err := figures.FlushDisk(s.dir); err != nil {
			return err
		}
		before, said = n.Logs(s.dir), logSize(s.dir)
		return nil
	})
	if err != nil {
		return err
	}
	grew, words := n.Logs(s.dir).less(before), logSize(s.dir)-said
	if pace.Taken == 0 {
		return fmt.Errorf("none of %d transfers got into a block", pace.Sent)
	}
	rest := float64(used.wrote - grew.Blocks - grew.histories() - words)
	values[taken], values[lost], values[written] = float64(pace.Taken), float64(pace.Sent-pace.Taken), float64(used.wrote)
	values[blocksGrew], values[logGrew], values[others], values[othersEach] = float64(grew.Blocks), float64(words), rest, rest/float64(pace.Taken)
	values[share] = 100 * used.node / used.elapsed
	grew.put(what, values)
	return nil
}

// logSize is the size of a node's log of words.
func logSize(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "log"))
	if err != nil {
		return 0
	}
	return info.Size()
}
