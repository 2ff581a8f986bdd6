package crypto

import (
	"runtime"
	"slices"
	"sync"
)

// queue lets one goroutine look at the signatures of several that came while others were
// looked at. Who finds nobody at work works for himself; who comes meanwhile waits, and
// the first of those works for all of them. Before they begin they let those run who are
// ready to: they are likely to bring signatures, and looking at more together is cheaper.
type queue struct {
	mu      sync.Mutex
	working int
	waiting []*waiter
}

type waiter struct {
	list []Signed
	wake chan bool // whether somebody has done it; else it is this one's turn to work
}

// crowd is how many wait before another begins to work beside those who do.
const crowd = 2 * few

func (q *queue) recover(s *Signers, list []Signed) {
	if q.wait(list) {
		return
	}
	runtime.Gosched()
	q.work(s, list)
}

// wait waits for a turn to work, unless another has looked at the list meanwhile.
func (q *queue) wait(list []Signed) (done bool) {
	q.mu.Lock()
	if q.working == 0 || len(q.waiting) >= crowd && q.working < runtime.GOMAXPROCS(0) {
		q.working++
		q.mu.Unlock()
		return false
	}
	w := &waiter{list, make(chan bool, 1)}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	return <-w.wake
}

// work looks at a list and at what waits, and passes the turn on.
func (q *queue) work(s *Signers, list []Signed) {
	q.mu.Lock()
	var others [Together]*waiter
	n, signatures := 0, len(list)
	for n < len(q.waiting) && signatures+len(q.waiting[n].list) <= Together {
		signatures += len(q.waiting[n].list)
		n++
	}
	taken := others[:copy(others[:n], q.waiting)]
	q.waiting = slices.Delete(q.waiting, 0, n)
	q.mu.Unlock()

	groups := make([][]Signed, 1, Together)
	groups[0] = list
	for _, w := range taken {
		groups = append(groups, w.list)
	}
	s.recoverNow(groups...)
	for _, w := range taken {
		w.wake <- true
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.working--
		return
	}
	q.waiting[0].wake <- false
	q.waiting = slices.Delete(q.waiting, 0, 1)
}
