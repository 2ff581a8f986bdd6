package node

import (
	"fmt"
	"log/slog"
	"time"
)

// progress says every few seconds how far a long piece of work is, how fast it goes, and
// how long it will take. One goroutine may use it.
type progress struct {
	log   *slog.Logger
	what  string
	every time.Duration
	start time.Time
	said  time.Time
	count int // calls since the clock was read
}

// progressEvery is the time between two lines.
const progressEvery = 8 * time.Second

func newProgress(log *slog.Logger, what string) *progress {
	now := time.Now()
	return &progress{log: log, what: what, every: progressEvery, start: now, said: now}
}

// items reports how many of the items are done; total is 0 where that is not known. It
// reads the clock only now and then.
func (p *progress) items(done, total uint64, args ...any) {
	if p.count++; p.count >= 16 {
		p.count = 0
		p.say(done, total, func(rate float64) string { return fmt.Sprintf("%.0f/s", rate) }, args)
	}
}

// bytes reports how many of the bytes are done.
func (p *progress) bytes(done, total uint64, args ...any) {
	if p.count++; p.count >= 16 {
		p.count = 0
		p.say(done, total, func(rate float64) string { return fmt.Sprintf("%.1f MB/s", rate/1e6) }, args)
	}
}

func (p *progress) say(done, total uint64, rate func(float64) string, args []any) {
	now := time.Now()
	if now.Sub(p.said) < p.every {
		return
	}
	p.said = now
	speed := float64(done) / now.Sub(p.start).Seconds()
	all := append([]any{}, args...)
	if total > 0 {
		left := time.Duration(float64(total-min(done, total)) / max(speed, 1e-9) * float64(time.Second))
		all = append(all, "percent", fmt.Sprintf("%.1f", 100*float64(done)/float64(total)), "left", left.Round(time.Second))
	}
	p.log.Info(p.what, append(all, "rate", rate(speed))...)
}

// done says that the work is done.
func (p *progress) done(what string, args ...any) {
	p.log.Info(what, append(args, "elapsed", time.Since(p.start).Round(time.Millisecond))...)
}
