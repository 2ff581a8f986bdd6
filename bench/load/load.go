// Package load sends requests to a server over HTTP and times the answers: as many as
// answers allow (a closed loop), or at a rate whether there are answers or not (an open
// one). It knows no protocol: requests are made beforehand, and somebody else judges an
// answer.
package load

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tarn/internal/figuretable"
)

// Request is one that is ready to be sent.
type Request struct {
	URL  string
	Body []byte
}

// Judge says why an answer is none that was wanted, nil if it is. The body is good until it
// returns.
type Judge func(status int, body []byte) error

// Result is what a load came to.
type Result struct {
	Took      time.Duration
	Answers   int                   // that were good
	Failures  int                   // that were not
	Failure   error                 // the first of these
	Latencies figuretable.Latencies // of all answers; in an open loop from when they should have been sent
	Windows   []Window              // of the time, one after the other; the last may be shorter
}

// Add adds what a load came to that was after it.
func (r *Result) Add(o *Result) {
	r.Took += o.Took
	r.Answers, r.Failures = r.Answers+o.Answers, r.Failures+o.Failures
	if r.Failure == nil {
		r.Failure = o.Failure
	}
	r.Latencies.Merge(&o.Latencies)
	r.Windows = append(r.Windows, o.Windows...)
}

// Longest is the longest that an answer took.
func (r *Result) Longest() (longest time.Duration) {
	for _, w := range r.Windows {
		longest = max(longest, w.Longest)
	}
	return longest
}

const (
	answerBytes = 64 << 20         // of an answer; a larger one is none
	patience    = 30 * time.Second // for an answer
	openLimit   = 256              // requests under way in an open loop; beyond, they wait, and the wait counts
)

// lane adds up answers. Its methods are for one goroutine.
type lane struct {
	lines   *lines
	judge   Judge
	windows *windows
	result  Result
	body    bytes.Buffer // of the last answer
}

func (l *lane) send(ctx context.Context, r Request, since time.Time) {
	err := l.ask(ctx, r)
	if ctx.Err() != nil {
		return // it was broken off by us
	}
	took := time.Since(since)
	l.result.Latencies.Add(took)
	l.windows.add(since, took)
	if err == nil {
		l.result.Answers++
		return
	}
	l.result.Failures++
	if l.result.Failure == nil {
		l.result.Failure = err
	}
}

func (l *lane) ask(ctx context.Context, r Request) error {
	status, err := l.lines.post(ctx, r, &l.body)
	if err != nil {
		return fmt.Errorf("ask %s: %w", r.URL, err)
	}
	return l.judge(status, l.body.Bytes())
}

// lanes run at once over kept connections, and are added up.
func lanes(count int, judge Judge, run func(l *lane)) *Result {
	kept := &lines{}
	defer kept.close()
	all := make([]lane, count)
	var wg sync.WaitGroup
	begin := time.Now()
	seen := &windows{begin: begin}
	for i := range all {
		all[i] = lane{lines: kept, judge: judge, windows: seen}
		wg.Go(func() { run(&all[i]) })
	}
	wg.Wait()
	sum := &Result{Took: time.Since(begin), Windows: seen.found()}
	for i := range all {
		sum.Add(&all[i].result)
	}
	return sum
}

// Closed sends all requests over so many connections, each the next as soon as its last
// is answered.
func Closed(ctx context.Context, connections int, all []Request, judge Judge) (*Result, error) {
	var next atomic.Int64
	r := lanes(connections, judge, func(l *lane) {
		for ctx.Err() == nil {
			i := next.Add(1) - 1
			if i >= int64(len(all)) {
				return
			}
			l.send(ctx, all[i], time.Now())
		}
	})
	return r, ctx.Err()
}

// Cycle sends requests over so many connections for a time, each connection the next as soon
// as its last is answered, and begins again when all were sent. Each connection sends one at least, unless ctx has
// ended.
func Cycle(ctx context.Context, connections int, length time.Duration, all []Request, judge Judge) (*Result, error) {
	var next atomic.Int64
	r := lanes(connections, judge, func(l *lane) {
		for first := true; ctx.Err() == nil && (first || time.Since(l.windows.begin) < length); first = false {
			l.send(ctx, all[int(next.Add(1)-1)%len(all)], time.Now())
		}
	})
	return r, ctx.Err()
}

// Again is a source that begins again when all were sent: of requests that ask and change
// nothing.
func Again(all []Request) Source {
	next := 0
	return func(_ context.Context, count int, _ time.Duration) ([]Request, error) {
		some := make([]Request, count)
		for i := range some {
			some[i] = all[next%len(all)]
			next++
		}
		return some, nil
	}
}
