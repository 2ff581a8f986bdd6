// Package writerloop is the one goroutine that may change a chain: others ask it, and it does
// one thing after another.
//
// It owns the inbox and its order, the alarm that wakes it when nobody asks, the answers that
// are held until readers see what was done, and the error that ended it. What a job does, and
// which chain it changes, is the caller's: it opens nothing, starts no goroutine, keeps no
// state of a chain, and never gives a job up halfway.
//
// # Goroutines
//
// [Writer.Run] is the writer. [Writer.Put], [Writer.Call], [Ask], [Writer.Await],
// [Writer.Expect], [Writer.Expected], [Writer.Waiting] and [Writer.Closed] may be called by
// any goroutine, also before Run, and after [Writer.Close]: then what waits for the writer
// fails with [ErrStopped]. All other methods are for the goroutine that runs, that
// is for jobs, the alarm and the functions of [Options]; before Run and after it, for whoever
// owns the Writer. What runs on the writer must neither block nor call what waits for the
// writer.
package writerloop

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ErrStopped is the answer to whatever waits for a writer that has ended.
var ErrStopped = errors.New("the node is stopping")

// Options are what a writer does besides its jobs; each may be nil. All of them are called on
// the writer's goroutine.
type Options struct {
	// Before comes before each job is taken, and whenever the writer is about to wait.
	Before func()
	// Publish shows readers what was done, before the answers are given that are held.
	Publish func() error
	// Ended tells that there is no more to do; Run ends then.
	Ended func() bool
}

// Writer is the goroutine that owns a chain. See the package comment for goroutines.
type Writer struct {
	opt     Options
	inbox   inbox
	coming  atomic.Int64 // answers that somebody waits for and that are not given
	answers answers
	alarm   alarm
	failed  error
}

// alarm is what the writer does when nothing else calls.
type alarm struct {
	at time.Time // zero for never
	do func()
}

// New makes a writer. Close follows, with Run before it or without.
func New(o Options) *Writer {
	w := &Writer{opt: o}
	w.inbox.bell, w.inbox.closed = make(chan struct{}, 1), make(chan struct{})
	return w
}

// Run is the writer, until ctx ends, Options.Ended says so, or Fail was called: then it
// returns what with. What is held and what waits is left for Close, so that the owner may end
// before it what a job has begun.
func (w *Writer) Run(ctx context.Context) error {
	for w.failed == nil && ctx.Err() == nil && (w.opt.Ended == nil || !w.opt.Ended()) {
		w.turn(ctx)
	}
	return w.failed
}

// turn does one thing that there is to do, or waits for one.
func (w *Writer) turn(ctx context.Context) {
	if w.alarm.due(time.Now()) {
		do := w.alarm.do
		w.Silence()
		do()
		return
	}
	if w.opt.Before != nil {
		w.opt.Before()
	}
	if job, ok := w.inbox.take(); ok {
		job.Do()
		if w.answers.due() {
			w.show()
		}
		return
	}
	until := w.alarm.at
	if w.answers.waiting() {
		patience := w.answers.patience(w.coming.Load())
		if patience <= 0 {
			w.show() // which may be the end
			return
		}
		if at := time.Now().Add(patience); until.IsZero() || at.Before(until) {
			until = at
		}
	}
	w.wait(ctx, until)
}

// wait waits for the end, a job, or a time; zero is no time.
func (w *Writer) wait(ctx context.Context, until time.Time) {
	var ring <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		ring = t.C
	}
	select {
	case <-ctx.Done():
	case <-w.inbox.bell:
	case <-ring:
	}
}

func (a *alarm) due(now time.Time) bool { return !a.at.IsZero() && !now.Before(a.at) }

// WakeAt has the writer do something at a time, or as soon as it can after it: the alarm comes
// before jobs. There is one alarm; another takes its place, and once it has come it is over.
func (w *Writer) WakeAt(at time.Time, do func()) { w.alarm = alarm{at, do} }

// Silence takes the alarm back.
func (w *Writer) Silence() { w.alarm = alarm{} }

// Fail ends the writer with an error after which the chain must not be used. The first one
// counts.
func (w *Writer) Fail(err error) {
	if w.failed == nil {
		w.failed = err
	}
}

// Failed is what Fail was called with; nil if it was not.
func (w *Writer) Failed() error { return w.failed }

// Close gives the answers that are held, lets no job in any more, and drops those that wait.
// The chain is not used any more by anything of the writer's. It may be called again.
func (w *Writer) Close() {
	w.Release()
	w.inbox.close()
}

// Call runs f on the writer, before all jobs but earlier calls, and waits for its error. When
// ctx ends before f has begun, f never runs, and the error is ctx's cause; once it has begun,
// only its own end is waited for.
func (w *Writer) Call(ctx context.Context, f func() error) error {
	var settled atomic.Bool // f has begun, or never will
	done := make(chan error, 1)
	do := func() {
		if settled.CompareAndSwap(false, true) {
			done <- f()
		}
	}
	if !w.Put(Calls, Job{Do: do}) {
		return ErrStopped
	}
	select {
	case <-ctx.Done():
		if settled.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		ctx = context.WithoutCancel(ctx)
	case err := <-done:
		return err
	case <-w.inbox.closed:
	}
	return w.Await(ctx, done)
}

// Ask is Call for what f finds out; with an error that is nothing.
func Ask[T any](ctx context.Context, w *Writer, f func() (T, error)) (T, error) {
	var found, none T
	err := w.Call(ctx, func() (err error) {
		found, err = f()
		return err
	})
	if err != nil {
		return none, err
	}
	return found, nil
}

// Await waits for the answer of a job that was put; done has room for it. Errors are the
// answer, ctx's cause, and [ErrStopped].
func (w *Writer) Await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.inbox.closed:
		select {
		case err := <-done:
			return err
		default:
			return ErrStopped
		}
	}
}

// Closed is closed by [Writer.Close]: nothing is going to be done any more. Any goroutine may
// wait for it.
func (w *Writer) Closed() <-chan struct{} { return w.inbox.closed }
