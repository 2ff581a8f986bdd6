package dbtool

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"tarn/internal/progress"
	"tarn/internal/tty"
)

const (
	progressAfter = 2 * time.Second // what is faster needs none
	terminalEvery = 200 * time.Millisecond
	logEvery      = 10 * time.Second
)

// display tells how far a long piece of work is, with its rate and the time
// left. It says nothing about work that is done within two seconds. One
// goroutine uses it.
type display struct {
	out      io.Writer
	now      func() time.Time
	terminal bool // lines may be overwritten

	what  string
	unit  string // of what is counted
	total int64  // below 0 if unknown
	done  int64
	work  progress.Work
	shown bool
}

// newDisplay reports to out, in place if that is a terminal.
func newDisplay(out io.Writer) *display {
	return &display{out: out, now: time.Now, terminal: tty.Is(out)}
}

// begin starts a piece of work of which base of total rows are done.
func (p *display) begin(what string, base, total int64) {
	p.what, p.unit, p.done, p.total = what, "rows", base, total
	p.work, p.shown = progress.Begin(p.now, uint64(base), progressAfter), false
}

// add counts what is done. It looks at the clock every 256 units only.
func (p *display) add(n int64) {
	before := p.done
	p.done += n
	if before>>8 != p.done>>8 {
		p.tick()
	}
}

// tick speaks if it is time to.
func (p *display) tick() {
	every := logEvery
	if p.terminal {
		every = terminalEvery
	}
	if !p.work.Due(every) {
		return
	}
	if line := p.line(); p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.out, line)
	}
	p.shown = true
}

// end closes the line on a terminal.
func (p *display) end() {
	if p.shown && p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s\n", p.line())
	}
	p.shown = false
}

func (p *display) line() string {
	took := p.work.Took()
	var s strings.Builder
	if p.total < 0 && p.done == 0 {
		fmt.Fprintf(&s, "%s: %v so far", p.what, took.Round(time.Second))
		return s.String()
	}
	rate := p.work.Rate(uint64(p.done))
	fmt.Fprintf(&s, "%s: %s", p.what, formatGrouped(p.done))
	if p.total > 0 {
		fmt.Fprintf(&s, " of %s %s (%.1f %%)", formatGrouped(p.total), p.unit, 100*float64(p.done)/float64(p.total))
	} else {
		s.WriteString(" " + p.unit)
	}
	fmt.Fprintf(&s, ", %s %s/s", formatGrouped(int64(rate)), p.unit)
	if p.total > p.done && rate >= 1 {
		left := p.work.Left(uint64(p.done), uint64(p.total))
		fmt.Fprintf(&s, ", %v left", time.Duration(math.Ceil(left))*time.Second)
	}
	return s.String()
}
