package lowpriority

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// nice is the niceness of the calling thread.
func nice(t *testing.T) int {
	p, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Error(err)
	}
	return mostNice - p
}

func TestTheWorkAloneHasALowerPriority(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	usual := nice(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			Run(func() {
				if got, want := nice(t), max(usual, niceness); got != want {
					t.Errorf("the work has niceness %d, and should have %d", got, want)
				}
				all.Go(func() { // some of these begin on threads that the kernel copies
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					if got := nice(t); got != usual {
						t.Errorf("what the work has begun has niceness %d, and not %d", got, usual)
					}
				})
			})
		})
	}
	all.Wait()
	if p, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Getpid()); err != nil || mostNice-p != usual {
		t.Errorf("the process's first thread has niceness %d, and not %d: %v", mostNice-p, usual, err)
	}
	for range 100 {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if got := nice(t); got != usual {
				t.Errorf("after the work a goroutine has niceness %d, and not %d", got, usual)
			}
		})
	}
	all.Wait()
}
