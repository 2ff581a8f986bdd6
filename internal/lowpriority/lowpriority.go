// Package lowpriority runs work that nobody waits for in particular beside work that somebody
// does: what makes a chain's blocks faster beside the answers to requests.
//
// It knows nothing of what the work is, and never makes it wait where a processor is free.
package lowpriority

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness is by how much less the work counts: a third of what has the usual priority, so that
// many requests slow it down and never stop it (sched(7), "the nice value").
const niceness = 5

// Run does some work on the calling goroutine, on a thread of its own, which ends with that
// goroutine. The goroutine must end after it: the kernel lets nobody raise a thread's priority again.
func Run(work func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		onOwnThread(work)
		return
	}
	// No unlocking: the thread is of no use to others.
	_ = lower() // with the usual priority the work is done as well
	work()
}

// onOwnThread does some work on another thread than the process's first, which never ends, and whose
// priority is told for that of the process. The caller is locked to it.
func onOwnThread(work func()) {
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(work)
	}()
	<-done
}

// lower lowers the priority of the calling thread, unless that of the process is lower.
func lower() error {
	now, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil || mostNice-now >= niceness {
		return err
	}
	return unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
}

// mostNice less a niceness is what the kernel tells of a priority, which has no negative numbers.
const mostNice = 20
