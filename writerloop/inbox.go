package writerloop

import (
	"sync"
	"sync/atomic"
)

// Lane is one of the lists in which jobs wait. Jobs of a lane are done in their order, and
// only when none waits in a lane before it.
type Lane int

// The lanes.
const (
	Calls Lane = iota // somebody waits, and it is soon done
	Few               // large work, which goes before the many
	Many              // small work of which there is much: taken many at a time, so that one costs no lock
)

// Job is something that the writer does.
type Job struct {
	Do   func()
	Drop func() // instead of Do, when the writer ends before; nil if whoever waits uses Await
}

// inbox is what waits for the writer.
type inbox struct {
	bell   chan struct{} // has one in it when there may be something
	closed chan struct{}

	mu     sync.Mutex
	lanes  [Many + 1][]Job
	urgent atomic.Int32 // jobs that are not of Many
	shut   bool

	batch []Job // of Many; the writer's
}

// Put lets a job wait; false if nobody is going to do it, nor to drop it. The lanes have no
// bound of their own: whoever lets strangers in counts what waits.
func (w *Writer) Put(to Lane, j Job) bool {
	i := &w.inbox
	i.mu.Lock()
	if i.shut {
		i.mu.Unlock()
		return false
	}
	i.lanes[to] = append(i.lanes[to], j)
	if to != Many {
		i.urgent.Add(1)
	}
	i.mu.Unlock()
	select {
	case i.bell <- struct{}{}:
	default:
	}
	return true
}

// Waiting is how many jobs wait in a lane. Any goroutine may ask.
func (w *Writer) Waiting(in Lane) int {
	w.inbox.mu.Lock()
	defer w.inbox.mu.Unlock()
	return len(w.inbox.lanes[in])
}

// take returns what is to be done next, if there is anything.
func (i *inbox) take() (Job, bool) {
	if i.urgent.Load() > 0 {
		i.mu.Lock()
		defer i.mu.Unlock()
		for lane := range Many {
			list := &i.lanes[lane]
			if len(*list) > 0 {
				j := (*list)[0]
				(*list)[0] = Job{}
				if *list = (*list)[1:]; len(*list) == 0 {
					*list = nil
				}
				i.urgent.Add(-1)
				return j, true
			}
		}
	}
	if len(i.batch) == 0 {
		i.mu.Lock()
		i.batch, i.lanes[Many] = i.lanes[Many], nil
		i.mu.Unlock()
		if len(i.batch) == 0 {
			return Job{}, false
		}
	}
	j := i.batch[0]
	i.batch[0] = Job{}
	i.batch = i.batch[1:]
	return j, true
}

// close lets nobody in any more, and drops what is left.
func (i *inbox) close() {
	i.mu.Lock()
	if i.shut {
		i.mu.Unlock()
		return
	}
	i.shut = true
	left := i.batch
	for lane := range i.lanes {
		left = append(left, i.lanes[lane]...)
		i.lanes[lane] = nil
	}
	i.batch = nil
	close(i.closed)
	i.mu.Unlock()
	for _, j := range left {
		if j.Drop != nil {
			j.Drop()
		}
	}
}
