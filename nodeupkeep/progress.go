package nodeupkeep

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tarn/internal/progress"
)

// Progress says every few seconds how far a long piece of work is, how fast it goes, and how
// long it will take. Where the log is written through a [Live], that is shown in one line which
// changes in its place, until End or Done. One goroutine may use it.
type Progress struct {
	log   *slog.Logger
	live  *Live // nil where there is none
	what  string
	every time.Duration // between two lines
	work  progress.Work
	count int // calls since the clock was read
}

const (
	// skipped is how many calls cost no look at the clock.
	skipped = 15
	// firstAfter is how long work takes of which there is a line at all.
	firstAfter = 2 * time.Second
	// liveEvery is between two changes of a line in its place.
	liveEvery = 200 * time.Millisecond
)

// NewProgress begins to watch a piece of work, of which there is a line each so often, the
// first after two seconds; 0 is a line for each report.
func NewProgress(log *slog.Logger, what string, every time.Duration) *Progress {
	p := &Progress{log: log, what: what, every: every, work: progress.Begin(nil, 0, min(every, firstAfter))}
	if h, ok := log.Handler().(liveHandler); ok && log.Enabled(context.Background(), slog.LevelInfo) {
		p.live = h.live
	}
	return p
}

// Items reports how many items are done, of how many; total is 0 where that is not known.
// What else is to be said follows, as for slog. It is for many calls: most of them only count.
// It tells whether there was a line.
func (p *Progress) Items(done, total uint64, args ...any) bool {
	return p.looks() && p.say(done, total, func(rate float64) string { return fmt.Sprintf("%.0f/s", rate) }, args)
}

// Bytes is Items for bytes.
func (p *Progress) Bytes(done, total uint64, args ...any) bool {
	return p.looks() &&
		p.say(done, total, func(rate float64) string { return fmt.Sprintf("%.1f MB/s", rate/1e6) }, args)
}

// looks counts a call, and tells whether it looks at the clock.
func (p *Progress) looks() bool {
	p.count++
	return p.count > skipped || p.every == 0
}

func (p *Progress) say(done, total uint64, rate func(float64) string, args []any) bool {
	p.count = 0
	every := p.every
	if p.live != nil {
		every = liveEvery
	}
	if !p.work.Due(every) {
		return false
	}
	all := append([]any{}, args...)
	if total > 0 {
		left := time.Duration(p.work.Left(done, total) * float64(time.Second))
		all = append(all, "percent", fmt.Sprintf("%.1f", 100*float64(min(done, total))/float64(total)),
			"left", left.Round(time.Second))
	}
	all = append(all, "rate", rate(p.work.Rate(done)))
	if p.live == nil {
		p.log.Info(p.what, all...)
		return true
	}
	p.live.Show(lineOf(p.what, all))
	return true
}

// lineOf is a line in its place: what matters first, since a narrow terminal cuts the rest off.
func lineOf(what string, args []any) string {
	first := map[string]int{"percent": 0, "left": 1, "rate": 2}
	head, rest := make([]string, len(first)), []string{}
	for i := 0; i+1 < len(args); i += 2 {
		name := fmt.Sprint(args[i])
		switch at, ok := first[name]; {
		case !ok:
			rest = append(rest, fmt.Sprintf("%s=%v", name, args[i+1]))
		case name == "percent":
			head[at] = fmt.Sprintf(" %v %%", args[i+1])
		case name == "left":
			head[at] = fmt.Sprintf(" %v left", args[i+1])
		default:
			head[at] = fmt.Sprintf(" %v", args[i+1])
		}
	}
	return strings.TrimSpace(what + strings.Join(head, "") + "  " + strings.Join(rest, " "))
}

// End takes the line in its place away, if there is one: the work has ended, whichever way.
func (p *Progress) End() {
	if p.live != nil {
		p.live.Show("")
	}
}

// Done says that the work is done.
func (p *Progress) Done(what string, args ...any) {
	p.End()
	p.log.Info(what, append(args, "took", p.work.Took().Round(time.Millisecond))...)
}
