package httpserver

import (
	"context"
	"fmt"
	"sync"
)

// Turns let few of those work at once who ask for it, and let clients take turns: who has many
// requests waits behind who has one. Any goroutine may call the methods.
type Turns struct {
	atOnce, each int // that work; each of one client's
	waits        int // that wait, of all; a client's share is a part of it

	mu      sync.Mutex
	working int
	waiting int
	clients map[Client]*line
	order   []*line // those with somebody who waits; the first has the next turn
}

// line is what a client has in turns.
type line struct {
	of      Client
	working int
	queue   []chan struct{} // closed when it is its turn
}

// waitShare is which part of all that may wait may be one client's.
const waitShare = 4

// NewTurns lets so many work at once, of one client at most each, and so many more wait.
func NewTurns(atOnce, each, waits int) *Turns {
	return &Turns{atOnce: atOnce, each: each, waits: waits, clients: map[Client]*line{}}
}

// Crowded is why somebody may not even wait for a turn: so many do.
type Crowded struct{ Waiting int }

// Error implements error.
func (c *Crowded) Error() string {
	return fmt.Sprintf("too many requests wait for their turn: %d", c.Waiting)
}

// Take waits for a client's turn. Its error is of type [*Crowded] if too many wait, or the
// context's. The caller calls end.
func (t *Turns) Take(ctx context.Context, of Client) (end func(), err error) {
	t.mu.Lock()
	l := t.clients[of]
	if l == nil {
		l = &line{of: of}
		t.clients[of] = l
	}
	end = func() { t.end(l) }
	if t.working < t.atOnce && t.may(l) && len(l.queue) == 0 {
		t.working++
		l.working++
		t.mu.Unlock()
		return end, nil
	}
	if t.waiting >= t.waits || !of.Local() && len(l.queue) >= t.waits/waitShare {
		err := &Crowded{t.waiting}
		t.forget(l)
		t.mu.Unlock()
		return nil, err
	}
	turn := make(chan struct{})
	if l.queue = append(l.queue, turn); len(l.queue) == 1 {
		t.order = append(t.order, l)
	}
	t.waiting++
	t.mu.Unlock()
	select {
	case <-turn:
		return end, nil
	case <-ctx.Done():
	}
	if t.leave(l, turn) {
		return nil, context.Cause(ctx)
	}
	end() // its turn came at the same moment
	return nil, context.Cause(ctx)
}

// may tells whether a client may have one more turn at the same time.
func (t *Turns) may(l *line) bool { return l.of.Local() || l.working < t.each }

// leave takes somebody who waits out of a line, and tells whether it waited still.
func (t *Turns) leave(l *line, turn chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range l.queue {
		if c == turn {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			t.waiting--
			if len(l.queue) == 0 {
				t.unline(l)
				t.forget(l)
			}
			return true
		}
	}
	return false
}

func (t *Turns) unline(l *line) {
	for i, o := range t.order {
		if o == l {
			t.order = append(t.order[:i], t.order[i+1:]...)
			return
		}
	}
}

// forget forgets a client that has nothing here. The caller holds the lock.
func (t *Turns) forget(l *line) {
	if l.working == 0 && len(l.queue) == 0 {
		delete(t.clients, l.of)
	}
}

// end ends a turn, and gives it to the next client that may have one.
func (t *Turns) end(l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.working--
	l.working--
	t.forget(l)
	for t.working < t.atOnce && t.next() {
		continue
	}
}

// next gives a turn to somebody, and tells whether it has. The client goes behind the others.
func (t *Turns) next() bool {
	for i, l := range t.order {
		if !t.may(l) {
			continue
		}
		turn := l.queue[0]
		l.queue = l.queue[1:]
		t.order = append(t.order[:i], t.order[i+1:]...)
		if len(l.queue) > 0 {
			t.order = append(t.order, l)
		}
		t.waiting--
		t.working++
		l.working++
		close(turn)
		return true
	}
	return false
}
