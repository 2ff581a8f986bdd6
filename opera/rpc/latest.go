package rpc

import (
	"context"
	"errors"
	"sync"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// latest holds the view that requests read: the chain after the newest block that is whole. A
// block's root is computed beside the blocks after it, and go-opera shows no block without its
// root. So a block is shown when its root is there, and no request waits for the next one: of
// blocks that came meanwhile the newest is looked at when the one before it is whole. At most two
// views are held.
type latest struct {
	chain Chain
	told  func(first, last inter.BlockNumber) // of blocks that are shown from now on; may not wait
	wake  chan struct{}                       // holds one
	end   context.CancelFunc
	ended chan struct{}
	begun chan struct{} // closed when there is a view, or none to be had

	mu     sync.Mutex
	shown  *sharedView // nil before the first one, and after the end
	failed error       // why there is none, or was no newer one
}

// sharedView is a view with its users, of whom latest is one while it shows the view.
type sharedView struct {
	*chain.View
	users int
}

var errServiceClosed = errors.New("requests are not answered any more")

// newLatest begins to follow a chain. Close ends it.
func newLatest(c Chain, told func(first, last inter.BlockNumber)) *latest {
	ctx, end := context.WithCancel(context.Background())
	l := &latest{chain: c, told: told, wake: make(chan struct{}, 1), end: end, ended: make(chan struct{}),
		begun: make(chan struct{})}
	go l.run(ctx)
	return l
}

// follow has the newest block looked at. It never waits.
func (l *latest) follow() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *latest) run(ctx context.Context) {
	defer close(l.ended)
	l.advance(ctx)
	close(l.begun)
	for {
		select {
		case <-l.wake:
			l.advance(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// advance shows the newest block when it is whole.
func (l *latest) advance(ctx context.Context) {
	v, err := l.chain.View()
	if err == nil {
		if err = v.Whole(ctx); err != nil {
			err = errors.Join(err, v.Close())
		}
	}
	if err != nil { // the chain has failed, or ends: what is shown stays
		l.mu.Lock()
		l.failed = err
		l.mu.Unlock()
		return
	}
	l.show(&sharedView{View: v, users: 1})
}

// show shows another view instead of the one before, and tells of the blocks that are new in it.
func (l *latest) show(v *sharedView) {
	l.mu.Lock()
	was := l.shown
	l.shown = v
	l.mu.Unlock()
	if was == nil {
		return
	}
	first, last := was.Head().Number+1, v.Head().Number
	_ = l.give(was) // what was read through the view is unharmed
	if first <= last {
		l.told(first, last)
	}
}

// take returns the view that is shown, which must be given back. It waits for the first one.
func (l *latest) take() (*sharedView, error) {
	<-l.begun
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown == nil {
		return nil, l.failed
	}
	l.shown.users++
	return l.shown, nil
}

// give gives a view back; the last user closes it.
func (l *latest) give(v *sharedView) error {
	l.mu.Lock()
	v.users--
	last := v.users == 0
	l.mu.Unlock()
	if !last {
		return nil
	}
	return v.Close()
}

// close ends it. Who has a view may go on to read it.
func (l *latest) close() error {
	l.end()
	<-l.ended
	l.mu.Lock()
	v := l.shown
	l.shown, l.failed = nil, errServiceClosed
	l.mu.Unlock()
	if v == nil {
		return nil
	}
	return l.give(v)
}
