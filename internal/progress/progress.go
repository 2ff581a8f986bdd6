// Package progress says of a long piece of work when there is something to tell, how fast the
// work goes, and how long the rest will take. It owns no words: whoever watches the work puts
// them into a log or on a terminal.
package progress

import "time"

// Work is a long piece of work, whose units its user counts. One goroutine uses it.
type Work struct {
	now  func() time.Time
	base uint64 // units that were done before the start

	start, next time.Time // next is when there is something to tell
	last        time.Time // when the clock was read
}

// Begin begins a piece of work of which base units are done, and of which there is something
// to tell once it has taken a while. A nil now is the clock.
func Begin(now func() time.Time, base uint64, first time.Duration) Work {
	if now == nil {
		now = time.Now
	}
	start := now()
	return Work{now: now, base: base, start: start, next: start.Add(first), last: start}
}

// Due reads the clock, and tells whether there is something to tell now; the next time is
// every later.
func (w *Work) Due(every time.Duration) bool {
	if w.Took(); w.last.Before(w.next) {
		return false
	}
	w.next = w.last.Add(every)
	return true
}

// Took reads the clock, and returns how long the work has taken.
func (w *Work) Took() time.Duration {
	w.last = w.now()
	return w.last.Sub(w.start)
}

// Rate is how many units a second were done until the clock was last read, if done are.
func (w *Work) Rate(done uint64) float64 {
	return float64(done-w.base) / w.last.Sub(w.start).Seconds()
}

// Left is how many seconds the rest takes at that rate.
func (w *Work) Left(done, total uint64) float64 {
	return float64(total-min(done, total)) / max(w.Rate(done), 1e-9)
}
