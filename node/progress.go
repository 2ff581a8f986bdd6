package node

import (
	"fmt"
	"log/slog"
	"time"
)

// Progress says every few seconds how far a long piece of work is, how fast it goes, and how
// long it will take. One goroutine may use it.
type Progress struct {
	log   *slog.Logger
	what  string
	every time.Duration
	start time.Time
	said  time.Time
	count int // calls since the clock was read
}

// skipped is how many calls cost no look at the clock.
const skipped = 15

// NewProgress begins to watch a piece of work, of which there is a line each so often; 0 is a
// line for each report.
func NewProgress(log *slog.Logger, what string, every time.Duration) *Progress {
	now := time.Now()
	return &Progress{log: log, what: what, every: every, start: now, said: now}
}

// Items reports how many items are done, of how many; total is 0 where that is not known.
// What else is to be said follows, as for slog. It is for many calls: most of them only count.
// It tells whether there was a line.
func (p *Progress) Items(done, total uint64, args ...any) bool {
	return p.looks() && p.say(done, total, func(rate float64) string { return fmt.Sprintf("%.0f/s", rate) }, args)
}

// Bytes is Items for bytes.
func (p *Progress) Bytes(done, total uint64, args ...any) bool {
	return p.looks() && p.say(done, total, func(rate float64) string { return fmt.Sprintf("%.1f MB/s", rate/1e6) }, args)
}

// looks counts a call, and tells whether it looks at the clock.
func (p *Progress) looks() bool {
	p.count++
	return p.count > skipped || p.every == 0
}

func (p *Progress) say(done, total uint64, rate func(float64) string, args []any) bool {
	p.count = 0
	now := time.Now()
	if now.Sub(p.said) < p.every {
		return false
	}
	p.said = now
	speed := float64(done) / now.Sub(p.start).Seconds()
	all := append([]any{}, args...)
	if total > 0 {
		left := time.Duration(float64(total-min(done, total)) / max(speed, 1e-9) * float64(time.Second))
		all = append(all, "percent", fmt.Sprintf("%.1f", 100*float64(done)/float64(total)), "left", left.Round(time.Second))
	}
	p.log.Info(p.what, append(all, "rate", rate(speed))...)
	return true
}

// Done says that the work is done.
func (p *Progress) Done(what string, args ...any) {
	p.log.Info(what, append(args, "took", time.Since(p.start).Round(time.Millisecond))...)
}
