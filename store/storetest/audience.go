package storetest

import (
	"fmt"
	"sync"
	"time"

	"tarn/store"
)

// audience is a reader on a goroutine of its own that takes views while the
// writer works, and checks that each is one of the states that were published
// while it was taken.
type audience struct {
	mu     sync.Mutex
	shown  version
	next   *version  // being published
	window []version // may be what the view under way shows
	err    error

	stop chan struct{}
	gone chan struct{}
	seen int // views checked since enter; read it after leave
}

// pause keeps the reader from taking all of the machine.
const pause = 3 * time.Millisecond

func (a *audience) enter(s store.Store, shown version) {
	a.shown, a.next, a.seen = shown, nil, 0
	stop, gone := make(chan struct{}), make(chan struct{})
	a.stop, a.gone = stop, gone
	go func() {
		defer close(gone)
		for {
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
			if err := a.look(s); err != nil {
				a.mu.Lock()
				a.err = err
				a.mu.Unlock()
				return
			}
			a.seen++
		}
	}()
}

// leave ends the reader and waits for it.
func (a *audience) leave() {
	if a.stop == nil {
		return
	}
	close(a.stop)
	<-a.gone
	a.stop = nil
}

func (a *audience) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// announce and announced surround a Publish.
func (a *audience) announce(v version) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = &v
	a.window = append(a.window, v)
}

func (a *audience) noteShown() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shown, a.next = *a.next, nil
}

func (a *audience) look(s store.Store) (err error) {
	a.mu.Lock()
	a.window = []version{a.shown}
	if a.next != nil {
		a.window = append(a.window, *a.next)
	}
	a.mu.Unlock()

	v, err := s.View()
	if err != nil {
		return err
	}
	defer func() {
		if e := v.Close(); err == nil {
			err = e
		}
	}()
	a.mu.Lock()
	window := a.window
	a.window = nil
	a.mu.Unlock()
	s.Stats()
	s.Durable()

	err = fmt.Errorf("view shows revision %d, which is not published", v.Revision())
	for _, want := range window {
		if want.revision != v.Revision() {
			continue
		}
		if err = compare(v, handles(v.Tables()), want.state, false); err == nil {
			return nil
		}
	}
	return err
}
