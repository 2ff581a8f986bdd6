// Package writebehind writes a history of a chain beside it: what the chain tells waits in memory,
// and one goroutine packs and writes it.
//
// It owns the queue with its bound, that goroutine, and the first error, after which nothing
// more is written. What a job is and where it goes is the history's; it opens no files.
package writebehind

import (
	"errors"
	"sync"
)

// ErrClosed means that the recorder was closed.
var ErrClosed = errors.New("the history is closed")

// defaultBytes bounds what waits where nobody says how much.
const defaultBytes = 64 << 20

// Options are what a recorder does with jobs.
type Options[J any] struct {
	// Bytes bounds the memory of the jobs that wait, about; 0 is 64 MiB. One job always fits.
	Bytes int64
	// Do writes a job, Sync makes everything durable that was written. Both run on the
	// recorder's goroutine; an error of either is the recorder's end.
	Do   func(J) error
	Sync func() error
	// Failed is told the first error.
	Failed func(error)
}

// Queue is a queue of jobs and the goroutine that does them. Its methods may be called by
// any goroutine.
type Queue[J any] struct {
	o Options[J]

	mu     sync.Mutex
	change sync.Cond
	list   []job[J]
	bytes  int64 // of those that wait, and of the one that is being done
	closed bool
	failed error
	ended  chan struct{} // closed when the goroutine has ended
}

type job[J any] struct {
	what J
	size int64
	done chan error // to make everything durable instead
}

// Start begins to record; Close follows.
func Start[J any](o Options[J]) *Queue[J] {
	if o.Bytes == 0 {
		o.Bytes = defaultBytes
	}
	r := &Queue[J]{o: o, ended: make(chan struct{})}
	r.change.L = &r.mu
	go r.run()
	return r
}

// Put lets a job wait that takes about so many bytes of memory, as soon as there is room: the
// caller waits for those before it. The error is the one that has ended the recorder, or
// ErrClosed.
func (r *Queue[J]) Put(what J, size int64) error {
	if err := r.Err(); err != nil {
		return err
	}
	return r.put(job[J]{what: what, size: size})
}

// Sync waits until all jobs before are done, and makes everything durable.
func (r *Queue[J]) Sync() error {
	done := make(chan error, 1)
	if err := r.put(job[J]{done: done}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-r.ended:
		return ErrClosed
	}
}

// Close does the jobs that wait, and returns the error that has ended the recorder, if one has.
func (r *Queue[J]) Close() error {
	r.mu.Lock()
	r.closed = true
	r.change.Broadcast()
	r.mu.Unlock()
	<-r.ended
	return r.Err()
}

// Err is the error that has ended the recorder; nil while it goes on.
func (r *Queue[J]) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Fail ends the recorder with an error, as one of a job does: nothing more is written. The
// first one counts.
func (r *Queue[J]) Fail(err error) {
	r.mu.Lock()
	first := r.failed == nil
	if first {
		r.failed = err
	}
	r.mu.Unlock()
	if first && r.o.Failed != nil {
		r.o.Failed(err)
	}
}

// Waiting is the memory of the jobs that wait, or are being done, about, in bytes.
func (r *Queue[J]) Waiting() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

func (r *Queue[J]) put(j job[J]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.bytes > 0 && r.bytes+j.size > r.o.Bytes && !r.closed {
		r.change.Wait()
	}
	if r.closed {
		return ErrClosed
	}
	r.list, r.bytes = append(r.list, j), r.bytes+j.size
	r.change.Broadcast()
	return nil
}

// next waits for a job; false once the recorder is closed and none waits.
func (r *Queue[J]) next() (job[J], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.list) == 0 && !r.closed {
		r.change.Wait()
	}
	if len(r.list) == 0 {
		return job[J]{}, false
	}
	j := r.list[0]
	r.list[0] = job[J]{}
	r.list = r.list[1:]
	return j, true
}

func (r *Queue[J]) run() {
	defer close(r.ended)
	for {
		j, ok := r.next()
		if !ok {
			return
		}
		err := r.Err()
		switch {
		case err != nil:
		case j.done != nil:
			err = r.o.Sync()
		default:
			err = r.o.Do(j.what)
		}
		if err != nil {
			r.Fail(err)
		}
		if j.done != nil {
			j.done <- err
		}
		r.release(j.size)
	}
}

// release gives a job's room back.
func (r *Queue[J]) release(size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes -= size
	r.change.Broadcast()
}
