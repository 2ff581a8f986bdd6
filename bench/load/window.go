package load

import (
	"sync"
	"time"

	"tarn/internal/figuretable"
)

// Span is the time of a [Window].
const Span = 10 * time.Second

// Window is what requests that were due, or sent, in a part of the time waited for their
// answers. Without any it is zero.
type Window struct{ NearAll, Longest time.Duration } // 99 % of them; the longest

// windows collects answers by when they were due. Any goroutine adds.
type windows struct {
	mu    sync.Mutex
	begin time.Time
	all   []window
}

type window struct {
	latencies figuretable.Latencies
	longest   time.Duration
}

func (w *windows) add(since time.Time, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := max(0, int(since.Sub(w.begin)/Span))
	for len(w.all) <= at {
		w.all = append(w.all, window{})
	}
	one := &w.all[at]
	one.latencies.Add(took)
	one.longest = max(one.longest, took)
}

func (w *windows) found() (all []Window) {
	for i := range w.all {
		one := &w.all[i]
		all = append(all,
			Window{NearAll: min(time.Duration(one.latencies.Quantile(0.99)), one.longest), Longest: one.longest})
	}
	return all
}
