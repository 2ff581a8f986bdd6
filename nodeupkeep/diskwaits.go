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
	waitsMany  = 100                    // page faults of a look from which on there are many: a tenth of its time
	waitsLooks = 5                      // such looks on end, for a start has many page faults for a moment
	waitsFew   = 50                     // page faults of a look up to which there are few
	waitsCalm  = 10                     // such looks on end
	waitsDepth = 8                      // processors that are lent: with so many requests at a time a disk does most of what it can
)

// Many tells whether there are many. Any goroutine may ask; it costs nothing.
func (d *DiskWaits) Many() bool { return d.many.Load() }

// Watch looks until ctx ends. Where an operator says how many processors there are, it notices nothing: what others
// would do beside the writer would take its processor.
func (d *DiskWaits) Watch(ctx context.Context) {
	if !d.Processors.Lends() {
		return
	}
	back := func() {}
	defer func() { back() }()
	tick := time.NewTicker(waitsLook)
	defer tick.Stop()
	if d.faults == nil {
		d.faults = majorFaults
	}
	before, looks := d.faults(), 0 // that speak for a change
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
		many := d.many.Load()
		if looks++; many && faults > waitsFew || !many && faults < waitsMany {
			looks = 0
		}
		switch {
		case many && looks == waitsCalm:
			d.many.Store(false)
			back()
			back = func() {}
			d.Log.Debug("Few pages of the state are read from the disk")
		case !many && looks == waitsLooks:
			back = d.Processors.Lend(waitsDepth)
			d.many.Store(true)
			d.Log.Debug("Many pages of the state are read from the disk", "faults", faults, "within", waitsLook)
		default:
			continue
		}
		looks = 0
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
