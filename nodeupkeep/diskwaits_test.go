package nodeupkeep

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Processors are lent while there are many page faults, and for a while after.
func TestProcessorsAreLentWhileThereAreManyDiskWaits(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	usual := runtime.GOMAXPROCS(0)
	synctest.Test(t, func(t *testing.T) {
		var faults, each atomic.Int64
		d := &DiskWaits{Processors: new(Processors), Log: slog.New(slog.DiscardHandler),
			faults: func() int64 { return faults.Add(each.Load()) }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); d.Watch(ctx) }()
		for i, x := range []struct {
			each int64 // faults of a look
			rest time.Duration
			many bool
		}{
			{0, time.Minute, false}, {waitsMany - 1, time.Minute, false},
			{waitsMany, (waitsLooks - 1) * waitsLook, false}, {0, waitsLook, false}, // as in a start
			{waitsMany, (waitsLooks - 1) * waitsLook, false}, {waitsMany, waitsLook, true},
			{waitsFew, (waitsCalm - 1) * waitsLook, true}, {waitsFew + 1, waitsLook, true},
			{0, (waitsCalm - 1) * waitsLook, true}, {0, waitsLook, false}, {1000, waitsLooks * waitsLook, true},
		} {
			each.Store(x.each)
			time.Sleep(x.rest)
			synctest.Wait()
			lent := runtime.GOMAXPROCS(0) - usual
			if d.Many() != x.many || (lent == waitsDepth) != x.many || lent != 0 && !x.many {
				t.Errorf("step %d: many is %v, %d processors are lent", i, d.Many(), lent)
			}
		}
		cancel()
		<-ended
		if d.Many() || runtime.GOMAXPROCS(0) != usual {
			t.Errorf("after the end: many is %v, %d processors instead of %d", d.Many(), runtime.GOMAXPROCS(0), usual)
		}
	})
}

// Several may lend at a time, and an operator's number stays.
func TestProcessorsAreLentByEach(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	usual := runtime.GOMAXPROCS(0)
	var p Processors
	first := p.Lend(2)
	second := p.Lend(3)
	if n := runtime.GOMAXPROCS(0); n != usual+5 {
		t.Errorf("%d processors, should be %d", n, usual+5)
	}
	first()
	if n := runtime.GOMAXPROCS(0); n != usual+3 {
		t.Errorf("%d processors, should be %d", n, usual+3)
	}
	second()
	if n := runtime.GOMAXPROCS(0); n != usual {
		t.Errorf("%d processors, should be %d", n, usual)
	}
	t.Setenv("GOMAXPROCS", "1")
	defer p.Lend(4)()
	if n := runtime.GOMAXPROCS(0); n != usual {
		t.Errorf("%d processors beside an operator's number", n)
	}
}
