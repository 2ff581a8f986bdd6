package dbtool

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
)

const (
	progressAfter = 2 * time.Second // what is faster needs none
	terminalEvery = 200 * time.Millisecond
	logEvery      = 10 * time.Second
)

// progress tells how far a long piece of work is, with its rate and the time
// left. It says nothing about work that is done within two seconds. One
// goroutine uses it.
type progress struct {
	out      io.Writer
	now      func() time.Time
	terminal bool // lines may be overwritten

	what  string
	unit  string // of what is counted; rows if it is empty
	total int64  // below 0 if unknown
	base  int64  // done before it started
	done  int64
	start time.Time
	next  time.Time // when to speak again
	shown bool
}

// newProgress reports to out, in place if that is a terminal.
func newProgress(out io.Writer) *progress {
	p := &progress{out: out, now: time.Now}
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			p.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	return p
}

// begin starts a piece of work of which base of total rows are done.
func (p *progress) begin(what string, base, total int64) {
	p.what, p.unit, p.base, p.done, p.total = what, "rows", base, base, total
	p.start = p.now()
	p.next = p.start.Add(progressAfter)
	p.shown = false
}

// add counts what is done. It looks at the clock every 256 units only.
func (p *progress) add(n int64) {
	before := p.done
	p.done += n
	if before>>8 != p.done>>8 {
		p.tick()
	}
}

// tick speaks if it is time to.
func (p *progress) tick() {
	now := p.now()
	if now.Before(p.next) {
		return
	}
	line := p.line(now.Sub(p.start))
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		p.next = now.Add(terminalEvery)
	} else {
		fmt.Fprintln(p.out, line)
		p.next = now.Add(logEvery)
	}
	p.shown = true
}

// end closes the line on a terminal.
func (p *progress) end() {
	if p.shown && p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s\n", p.line(p.now().Sub(p.start)))
	}
	p.shown = false
}

func (p *progress) line(elapsed time.Duration) string {
	var s strings.Builder
	if p.total < 0 && p.done == 0 {
		fmt.Fprintf(&s, "%s: %v so far", p.what, elapsed.Round(time.Second))
		return s.String()
	}
	rate := float64(p.done-p.base) / elapsed.Seconds()
	fmt.Fprintf(&s, "%s: %s", p.what, grouped(p.done))
	if p.total > 0 {
		fmt.Fprintf(&s, " of %s %s (%.1f %%)", grouped(p.total), p.unit, 100*float64(p.done)/float64(p.total))
	} else {
		s.WriteString(" " + p.unit)
	}
	fmt.Fprintf(&s, ", %s %s/s", grouped(int64(rate)), p.unit)
	if left := p.total - p.done; left > 0 && rate >= 1 {
		fmt.Fprintf(&s, ", %v left", time.Duration(math.Ceil(float64(left)/rate))*time.Second)
	}
	return s.String()
}
