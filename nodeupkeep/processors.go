package nodeupkeep

import (
	"os"
	"runtime"
	"sync"
)

// Processors is how many processors Go's scheduler is told that there are: those that the process has, and those that
// are lent to it. A goroutine in a page fault or in a C function holds one without using it, and then the others wait
// though the machine has nothing to do. Where an operator's GOMAXPROCS says how many there are, none are lent.
//
// A process has one Processors, and nobody else changes the number. Any goroutine may call its methods.
type Processors struct {
	mu        sync.Mutex
	own, lent int
}

// Lend adds n processors until back is called, which is called once. A container's new limit counts when none are lent.
func (p *Processors) Lend(n int) (back func()) {
	if !p.Lends() {
		return func() {}
	}
	p.add(n)
	return func() { p.add(-n) }
}

// Lends tells whether processors are lent.
func (*Processors) Lends() bool { return os.Getenv("GOMAXPROCS") == "" }

func (p *Processors) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lent == 0 {
		p.own = runtime.GOMAXPROCS(0)
	}
	if p.lent += n; p.lent == 0 {
		runtime.SetDefaultGOMAXPROCS()
		return
	}
	runtime.GOMAXPROCS(p.own + p.lent)
}
