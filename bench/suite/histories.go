package suite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"tarn/bench/record"
	"tarn/bench/subject"
)

// Choice is which histories a node keeps beside its chain.
type Choice string

// The choices, which are parts of suites too.
const (
	KeepNothing Choice = "nothing"
	KeepTraces  Choice = "traces"
	KeepStates  Choice = "state history"
	KeepBoth    Choice = "both"
)

// LogBytes are the sizes of a node's logs, by what is in them.
type LogBytes struct {
	Blocks  int64 // the block log with its index
	Actions int64 // of the state history: what transactions did
	Rows    int64 // of the state history: rows that changed
	Traces  int64 // of the traces, their indexes included
	Index   int64 // of transactions, if the node has one
}

// histories is the sum of all but the blocks.
func (b LogBytes) histories() int64 { return b.Actions + b.Rows + b.Traces + b.Index }

// less is what was added since.
func (b LogBytes) less(o LogBytes) LogBytes {
	return LogBytes{b.Blocks - o.Blocks, b.Actions - o.Actions, b.Rows - o.Rows, b.Traces - o.Traces, b.Index - o.Index}
}

// put adds the sizes of what is kept to the values of a part.
func (b LogBytes) put(what Choice, values map[string]float64) {
	if what == KeepTraces || what == KeepBoth {
		values[traceBytes], values[index] = float64(b.Traces), float64(b.Index)
	}
	if what == KeepStates || what == KeepBoth {
		values[actions], values[rows] = float64(b.Actions), float64(b.Rows)
	}
}

// historyQuiet is how long the files of histories must not have grown for all to be written.
const historyQuiet = 400 * time.Millisecond

// settled waits until a node's histories grow no more, and returns their sizes and when they
// grew last.
func (l *life) settled(ctx context.Context, s *server) (b LogBytes, last time.Time, err error) {
	n := l.runner.config.Network.(Keeping)
	b, last = n.Logs(s.dir), time.Now()
	for time.Since(last) < l.runner.config.quiet {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return b, last, err
		}
		if now := n.Logs(s.dir); now != b {
			b, last = now, time.Now()
		}
	}
	return b, last, nil
}

// keeping starts a node that keeps histories, runs f with it, and ends it, well if f is. The node
// that it returns has ended.
func (l *life) keeping(ctx context.Context, dir string, what Choice, how func(subject.Subject, string) (Node, error), f func(*server) error) (*server, error) {
	s, err := l.answeringWithin(ctx, importPatience, l.subject, dir, func() (Node, error) {
		n, err := how(l.subject, dir)
		if err != nil {
			return n, err
		}
		return l.runner.config.Network.(Keeping).Keep(n, what)
	})
	if err != nil {
		return nil, err
	}
	if err = f(s); err == nil {
		_, _, err = l.stopped(ctx, s)
	}
	if err != nil {
		s.Kill()
	}
	return s, err
}

// replaying is keeping, of a new node that makes the state of the chain's blocks first.
func (l *life) replaying(ctx context.Context, what Choice, how func(subject.Subject, string) (Node, error), f func(*server) error) (*server, error) {
	dir, err := l.runner.folder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := l.runner.config.Network.Install(dir); err != nil {
		return nil, err
	}
	return l.keeping(ctx, dir, what, how, func(s *server) error {
		if _, err := l.head(ctx, s, l.runner.run.Chain.Blocks); err != nil {
			return fmt.Errorf("replay the chain: %w", err)
		}
		return f(s)
	})
}

// histories is the suite of that name.
func (l *life) histories(ctx context.Context) error {
	values := parts{}
	for _, what := range []Choice{KeepNothing, KeepTraces, KeepStates, KeepBoth} {
		if err := l.replayOnce(ctx, what, values.of(string(what))); err != nil {
			return fmt.Errorf("keep %s: %w", what, err)
		}
	}
	l.values[Histories] = values.all()
	return nil
}

// replayOnce has a new node replay the chain while it keeps histories.
func (l *life) replayOnce(ctx context.Context, what Choice, values map[string]float64) error {
	ended, err := l.replaying(ctx, what, l.runner.config.Network.(Following).Source, func(s *server) error {
		last := time.Now()
		if what != KeepNothing {
			logs, grew, err := l.settled(ctx, s)
			if err != nil {
				return err
			}
			if logs.histories() == 0 {
				return fmt.Errorf("there are no files of histories in %s", s.dir)
			}
			logs.put(what, values)
			last = grew
		}
		now, err := s.Now()
		if err != nil {
			return err
		}
		values[took], values[processor], values[written] = last.Sub(s.began).Seconds(), now.CPU().Seconds(), float64(now.Disk.Net())
		return nil
	})
	if err == nil {
		values[private] = mostPrivate(ended.Samples())
		l.samples[Histories] = ended.Samples() // at last those of the node that keeps both
	}
	return err
}

// parts are the values of a suite's parts.
type parts map[string]map[string]float64

// of are those of one part, to be filled.
func (p parts) of(name string) map[string]float64 {
	if p[name] == nil {
		p[name] = map[string]float64{}
	}
	return p[name]
}

// The seconds of a node's life in which a part was measured. They are no metrics.
const (
	since = "since"
	until = "until"
)

// spanned are the values of a part that begins now, and says itself until when it was measured.
func (p parts) spanned(s *server, name string) map[string]float64 {
	values := p.of(name)
	values[since] = time.Since(s.began).Seconds()
	return values
}

// remember adds the memory of each part's time to its values.
func (p parts) remember(samples []record.Sample) {
	for _, values := range p {
		some := slices.DeleteFunc(slices.Clone(samples), func(x record.Sample) bool { return x.Seconds < values[since] || x.Seconds > values[until] })
		values[private] = mostPrivate(some)
		delete(values, since)
		delete(values, until)
	}
}

// all are the values under the names that a record has for them.
func (p parts) all() map[string]float64 {
	all := map[string]float64{}
	for part, values := range p {
		for name, v := range values {
			all[keyOf(part, name)] = v
		}
	}
	return all
}
