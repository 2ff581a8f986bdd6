package suite

import (
	"context"
	"fmt"
	"os"
	"time"

	"tarn/bench/record"
	"tarn/bench/subjectflag"
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

// Names of the values of what is kept.
const (
	actions    = "actions"
	rows       = "rows"
	traceBytes = "traces"
	index      = "index of transactions"
)

// ofTraces and ofStates are the metrics of what is kept.
func ofTraces() []record.Metric { return of(bytesUnit, traceBytes, index) }
func ofStates() []record.Metric { return of(bytesUnit, actions, rows) }

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

// awaitSettled waits until a node's histories grow no more, and returns their sizes and when they
// grew last.
func awaitSettled(ctx context.Context, l *life, s *server) (b LogBytes, last time.Time, err error) {
	n := l.network.(Keeping)
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
func keeping(ctx context.Context, l *life, dir string, what Choice, how func(subjectflag.Subject, string) (Node, error),
	f func(*server) error) (*server, error) {
	s, err := l.answeringWithin(ctx, importPatience, l.subject, dir, func() (Node, error) {
		n, err := how(l.subject, dir)
		if err != nil {
			return n, err
		}
		return l.network.(Keeping).Keep(n, what)
	})
	if err != nil {
		return nil, err
	}
	if err = f(s); err == nil {
		_, _, err = s.stop(ctx)
	}
	if err != nil {
		s.Kill()
	}
	return s, err
}

// replaying is keeping, of a new node that makes the state of the chain's blocks first.
func replaying(ctx context.Context, l *life, what Choice, how func(subjectflag.Subject, string) (Node, error),
	f func(*server) error) (*server, error) {
	dir, err := l.runner.folder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := l.network.Install(dir); err != nil {
		return nil, err
	}
	return keeping(ctx, l, dir, what, how, func(s *server) error {
		if _, err := s.head(ctx, l.chain.Blocks); err != nil {
			return fmt.Errorf("replay the chain: %w", err)
		}
		return f(s)
	})
}
