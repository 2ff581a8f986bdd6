package network

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Condition is what a [Link] does to what passes.
type Condition struct {
	Cut   bool          // connections are closed, and new ones refused
	Stall bool          // nothing passes, though connections stay open
	Delay time.Duration // until what is sent arrives, each way
	Rate  int           // bytes a second, each way; 0 for no limit
}

// Link is a way to a node that others connect to in the node's place. Its methods
// may be called by any goroutine.
type Link struct {
	listener net.Listener
	target   atomic.Pointer[string]

	mu      sync.Mutex
	now     Condition
	changed chan struct{} // closed when now changes
	open    map[net.Conn]bool
	tasks   sync.WaitGroup
}

// NewLink listens on a free port of loopback, until Close. It leads nowhere before
// [Link.To].
func NewLink() (*Link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &Link{listener: l, changed: make(chan struct{}), open: map[net.Conn]bool{}}
	k.tasks.Go(k.accept)
	return k, nil
}

// Address is where the link is connected to.
func (k *Link) Address() string { return k.listener.Addr().String() }

// To makes the link lead to an address, from the next connection on.
func (k *Link) To(address string) { k.target.Store(&address) }

// Set changes what happens to what passes, from the next bytes on.
func (k *Link) Set(c Condition) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = c
	close(k.changed)
	k.changed = make(chan struct{})
	if c.Cut {
		for s := range k.open {
			s.Close()
		}
	}
}

// Close ends the link and its connections.
func (k *Link) Close() error {
	err := k.listener.Close()
	k.Set(Condition{Cut: true})
	k.tasks.Wait()
	return err
}

func (k *Link) condition() (Condition, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now, k.changed
}

func (k *Link) accept() {
	for {
		from, err := k.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			k.tasks.Go(func() { k.join(from) })
		}
	}
}

// enter makes a connection one of the open ones; false if the link is cut.
func (k *Link) enter(s net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now.Cut {
		s.Close()
		return false
	}
	k.open[s] = true
	return true
}

func (k *Link) leave(s net.Conn) {
	s.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, s)
}

// join connects the two ends until one closes.
func (k *Link) join(from net.Conn) {
	if !k.enter(from) {
		return
	}
	defer k.leave(from)
	address := k.target.Load()
	if address == nil {
		return
	}
	to, err := net.Dial("tcp", *address)
	if err != nil || !k.enter(to) {
		return
	}
	defer k.leave(to)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var both sync.WaitGroup
	for _, way := range [2][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			k.pass(ctx, way[0], way[1])
			cancel()
			from.Close()
			to.Close()
		})
	}
	both.Wait()
}

// parcel is data on its way.
type parcel struct {
	data []byte
	sent time.Time
}

// pass carries data one way. What is on its way is bounded, so that a slow link
// makes the sender wait as a slow network does.
func (k *Link) pass(ctx context.Context, from, to net.Conn) {
	const size, most = 16 << 10, 256
	way := make(chan parcel, most)
	go func() {
		defer close(way)
		for {
			b := make([]byte, size)
			n, err := from.Read(b)
			if n > 0 {
				select {
				case way <- parcel{b[:n], time.Now()}:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range way {
		if !k.hold(ctx, p) {
			return
		}
		if _, err := to.Write(p.data); err != nil {
			return
		}
	}
}

// hold waits as long as the condition makes a parcel wait. It returns false if the
// connection ends before.
func (k *Link) hold(ctx context.Context, p parcel) bool {
	arrived := time.Now()
	for {
		c, changed := k.condition()
		due := p.sent.Add(c.Delay)
		if c.Rate > 0 {
			if slow := arrived.Add(time.Duration(len(p.data)) * time.Second / time.Duration(c.Rate)); slow.After(due) {
				due = slow
			}
		}
		wait := time.Until(due)
		if !c.Stall && wait <= 0 {
			return true
		}
		if c.Stall {
			wait = time.Hour // until it changes
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return false
		case <-changed:
		case <-t.C:
		}
		t.Stop()
	}
}
