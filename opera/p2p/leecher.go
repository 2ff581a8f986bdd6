package p2p

import (
	"encoding/binary"
	"sync"
	"time"

	"tarn/opera/inter"
)

// leecher asks one peer at a time for the events of the present epoch, chunk after chunk,
// no faster than they are connected. Any goroutine may use it.
//
// It follows go-opera's (dagstreamleecher), but asks for whole events whenever it has none
// of the epoch: go-opera does so only when the peer is in a later epoch, and otherwise
// fetches each by its id. And it remembers whose streams brought nothing.
type leecher struct {
	settled func(inter.EventID) bool // connected, or left out
	busy    func(*peer) bool         // nothing more should be asked of a peer
	ask     func(*peer, *request[[]byte])

	mu sync.Mutex
	asker
	epoch  inter.Epoch
	empty  bool // no event of the epoch was connected before its first stream
	forced bool // somebody is far ahead

	// The stream that goes on.
	kind uint8
	open []inter.EventID // last events of chunks that came and are not connected
}

// enter begins with an epoch, of which there may be events. The stream of the one before
// ends.
func (l *leecher) enter(epoch inter.Epoch, empty bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from != nil {
		l.peers[l.from] = 0 // it led here
	}
	l.from, l.judged, l.epoch, l.empty, l.try = nil, nil, epoch, empty, 0
}

func (l *leecher) add(p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peers[p] = 0
}

func (l *leecher) forgetPeer(p *peer, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asker.forgetPeer(p, now)
}

// force has the next stream begin even if no peer is in a later epoch.
func (l *leecher) force() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forced = true
}

// pause ends the stream, until the next tick.
func (l *leecher) pause(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from != nil {
		l.end(now)
	}
}

// tick begins, goes on with, and ends streams. It is called often.
func (l *leecher) tick(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from != nil && l.late(now) {
		l.end(now)
	}
	if l.from == nil {
		l.start(now)
	}
	l.goOn()
}

// start begins a stream, if there is somebody to ask.
func (l *leecher) start(now time.Time) {
	var ahead, beside []*peer
	for p := range l.peers {
		switch e := p.latestProgress().Epoch; {
		case p.useless || e < l.epoch:
		case e > l.epoch:
			ahead = append(ahead, p)
		default:
			beside = append(beside, p)
		}
	}
	idle := now.Sub(l.ended)
	if l.try > 0 && (idle <= l.limits.Restart || len(ahead) == 0 && !l.forced && idle < l.limits.IdleRestart) {
		return
	}
	l.sweep()
	l.judge(l.finished > 0)
	ahead, vain := l.best(ahead)
	beside, usual := l.best(beside)
	if len(beside) > 0 && (len(ahead) == 0 || l.try%5 == 4 || vain > usual && l.try%2 == 1) {
		ahead = beside
	}
	if len(ahead) == 0 {
		return
	}
	l.kind = typeIDs
	if l.empty && l.try == 0 {
		l.kind = typeEvents
	}
	l.begin(ahead, uint32(l.epoch)<<12^l.try, now)
	l.forced, l.open = false, nil
}

// sweep counts the chunks that are connected.
func (l *leecher) sweep() {
	kept := l.open[:0]
	for _, id := range l.open {
		if l.settled(id) {
			l.finished++
		} else {
			kept = append(kept, id)
		}
	}
	l.open = kept
}

// goOn asks for as many chunks as are connected.
func (l *leecher) goOn() {
	if l.from == nil || l.busy(l.from) {
		return
	}
	l.sweep()
	more := l.more()
	if more == 0 {
		return
	}
	l.ask(l.from, &request[[]byte]{
		Session:   session[[]byte]{l.session, epochKey(l.epoch), epochKey(l.epoch + 1)},
		Limit:     limit{uint32(l.limits.StreamItems), uint64(l.limits.StreamBytes)},
		Type:      l.kind,
		MaxChunks: uint32(more),
	})
}

func epochKey(e inter.Epoch) []byte { return binary.BigEndian.AppendUint32(nil, uint32(e)) }

// chunk notes that a part of a stream came, with that last event if it has any.
func (l *leecher) chunk(p *peer, session uint32, last inter.EventID, done bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p != l.from || session != l.session {
		return
	}
	l.received = now
	switch {
	case done:
		if !last.IsZero() {
			l.open = append(l.open, last)
		}
		l.end(now)
	case last.IsZero():
		l.asked-- // a part of nothing; the next one is due
	case len(l.open) < 2*l.limits.StreamAhead:
		l.open = append(l.open, last)
	}
}
