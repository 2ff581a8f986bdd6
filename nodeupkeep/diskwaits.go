package nodeupkeep

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// DiskWaits notices that the process waits for pages that are on the disk only, because its state is larger than its
// memory or nothing of it has been read since the start. While that is so it lends the scheduler processors: a
// goroutine that touches such a page holds one until the disk has read it, so the disk would get no more requests at a
// time than there are processors.
type DiskWaits struct {
	Processors *Processors
	Log        *slog.Logger

	many   atomic.Bool
	faults func() int64 // so far; nil: the process's
}

const (
	waitsLook  = 100 * time.Millisecond // between two looks
	waitsMany  = 20                     // page faults of a look from which on there are many: some 2 % of the time
	waitsFew   = 5                      // and at most so many in each look of waitsCalm
	waitsCalm  = 5 * time.Second
	waitsDepth = 8 // processors that are lent: most of what a disk can do comes with so many requests at a time
)

// Many tells whether there are many. Any goroutine may ask; it costs nothing.
func (d *DiskWaits) Many() bool { return d.many.Load() }

// Watch looks until ctx ends.
func (d *DiskWaits) Watch(ctx context.Context) {
	back := func() {}
	defer func() { back() }()
	tick := time.NewTicker(waitsLook)
	defer tick.Stop()
	if d.faults == nil {
		d.faults = majorFaults
	}
	before, calm := d.faults(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			d.many.Store(false)
			return
		case <-tick.C:
		}
		now := d.faults()
		faults := now - before
		before = now
		switch many := d.many.Load(); {
		case !many && faults >= waitsMany:
			back = d.Processors.Lend(waitsDepth)
			d.many.Store(true)
			d.Log.Debug("Many pages of the state are read from the disk", "faults", faults, "within", waitsLook)
		case faults > waitsFew:
			calm = 0
		case many:
			if calm += waitsLook; calm >= waitsCalm {
				calm = 0
				d.many.Store(false)
				back()
				back = func() {}
				d.Log.Debug("Few pages of the state are read from the disk")
			}
		}
	}
}

// majorFaults is how often the process has waited for a page of a file. Where the kernel does not say, never.
func majorFaults() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Majflt
}
