package suite

import (
	"context"
	"fmt"
	"os"

	"tarn/bench/record"
	"tarn/internal/figuretable"
)

// Recording is the name of the suite of what a node writes while transfers come.
const Recording = "recording"

// Names of its values.
const (
	logGrew    = "text log grew"
	others     = "the rest"
	othersEach = "the rest, per transfer"
)

func recordingSuite() Suite {
	grew := list(more(number, taken), of(number, lost), of(bytesUnit, written, blocksGrew, logGrew, others, othersEach),
		of(percent, share), of(bytesUnit, private))
	return Suite{
		Name: Recording,
		How: "A peer sends transfers at the rate of the load to a new node that makes blocks: first to one " +
			"that keeps no history, then to one that keeps traces and state history. The bytes written are " +
			"those that the kernel counts for the process during this time. The other bytes are the growth of " +
			"files. The rest is what was written to other files, such as the state. A node that keeps " +
			"histories should have no larger rest than the other.",
		Article: "–",
		Time:    "twice --load-for",
		Disk:    "the chain, and what is written",
		options: func(o *record.Options) []Option { return []Option{loadOption(o), loadForOption(o)} },
		needs:   loads,
		chart:   record.Chart{Metric: written, Title: "bytes written while transfers come"},
		metrics: counts(inParts(grew, string(KeepNothing)),
			inParts(list(grew, ofStates(), ofTraces()), string(KeepBoth))),
		run: runRecording,
	}
}

// runRecording has new nodes in each part: one that kept no history for some blocks cannot keep any
// after them.
func runRecording(ctx context.Context, l *life, found *findings) error {
	values := parts{}
	var last *server
	for _, what := range []Choice{KeepNothing, KeepBoth} {
		s, err := recordOnce(ctx, l, what, values.of(string(what)))
		if err != nil {
			return fmt.Errorf("keep %s: %w", what, err)
		}
		last = s
	}
	found.put(Recording, values.all(), last.Samples())
	return nil
}

// recordOnce counts what a node that makes blocks writes while transfers come. The node has ended.
func recordOnce(ctx context.Context, l *life, what Choice, values map[string]float64) (*server, error) {
	dir, _, _, err := l.importChain(ctx, l.subject)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ended, err := keeping(ctx, l, dir, what, l.serve, func(s *server) error {
		return countOnce(ctx, l, s, what, values)
	})
	if err == nil {
		values[private] = mostPrivate(ended.Samples())
	}
	return ended, err
}

// countOnce counts what is written while transfers come, in all and by file.
func countOnce(ctx context.Context, l *life, s *server, what Choice, values map[string]float64) error {
	n := l.network.(Keeping)
	for range 2 { // the whole state at the begin is recorded with the first block
		if _, err := s.producing(ctx); err != nil {
			return err
		}
	}
	var before LogBytes
	var said int64
	pace, used, err := sendLoad(ctx, l, s, lengthOf(l.options.LoadFor), 0, func() error {
		if err := figuretable.FlushDisk(s.dir); err != nil {
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
	values[taken], values[lost], values[written] = float64(pace.Taken), float64(pace.Sent-pace.Taken),
		float64(used.wrote)
	values[blocksGrew], values[logGrew], values[others], values[othersEach] = float64(grew.Blocks), float64(words),
		rest, rest/float64(pace.Taken)
	values[share] = used.share()
	grew.put(what, values)
	return nil
}
