package p2p

import (
	"sync"
	"time"
)

// recordLeecher asks one peer at a time for a stream of votes or records, chunk after chunk, no
// faster than they are worked through. Any goroutine may use it.
//
// It follows go-opera's (bvstreamleecher, brstreamleecher, epstreamleecher), but a chunk counts
// when it was worked through, whatever came of it: there what was not taken holds up the stream
// until its time is over. And it remembers whose streams brought nothing.
type recordLeecher struct {
	wanted  func() bool                      // a stream may go on
	lowest  func() uint64                    // the number from which on something is missing
	reaches func(Progress) uint64            // up to which number a peer has everything
	stretch func() (ask inquiry, wants bool) // what to ask for now
	busy    func() bool                      // nothing more should be asked for

	mu sync.Mutex
	asker
	accounts map[*peer]*account

	// The stream that goes on.
	ask     inquiry
	first   uint64 // the lowest number when the stream began
	took    int    // votes and records of it
	checked time.Time
}

// account is the chunks of a peer.
type account struct {
	owed int // that it was asked for
	idle int // that it was not asked for, since one of which something was taken
}

func newRecordLeecher(limits *Limits) *recordLeecher {
	return &recordLeecher{asker: newAsker(limits), accounts: map[*peer]*account{}}
}

// inquiry asks a peer for the next chunks of a stretch of votes or records.
type inquiry func(p *peer, session, chunks uint32)

func (l *recordLeecher) add(p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peers[p], l.accounts[p] = 0, &account{}
}

func (l *recordLeecher) forgetPeer(p *peer, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asker.forgetPeer(p, now)
	delete(l.accounts, p)
}

// tick begins, goes on with, and ends streams. It is called often.
func (l *recordLeecher) tick(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from != nil && (l.late(now) || !l.wanted()) {
		l.stop(now)
	}
	if l.from == nil && now.Sub(l.checked) >= l.limits.Restart/5 && l.wanted() {
		l.checked = now
		l.start(now)
	}
	if l.from == nil || l.busy() {
		return
	}
	if more := l.more(); more > 0 {
		l.accounts[l.from].owed += more
		l.ask(l.from, l.session, uint32(more))
	}
}

// stop ends the stream. Who got on waits no more before the next one.
func (l *recordLeecher) stop(now time.Time) {
	l.end(now)
	if l.lowest() >= l.first+uint64(l.limits.StreamItems) {
		l.try = 0
	}
}

// start begins a stream, if something is missing and there is somebody to ask.
func (l *recordLeecher) start(now time.Time) {
	first := l.lowest()
	var beyond, all []*peer
	for p := range l.peers {
		if !p.useless && l.reaches(p.latestProgress()) >= first {
			beyond = append(beyond, p)
		}
		all = append(all, p)
	}
	idle := now.Sub(l.ended)
	if l.try > 0 && (idle <= l.limits.Restart || len(beyond) == 0 && idle < l.limits.IdleFill) {
		return
	}
	if len(beyond) == 0 || l.try%5 == 4 {
		beyond = all
	}
	ask, wants := l.stretch()
	if !wants || len(beyond) == 0 {
		return
	}
	l.judge(l.took > 0)
	best, _ := l.best(beyond)
	l.begin(best, uint32(first)<<12^l.try, now)
	l.ask, l.first, l.took = ask, first, 0
}

// chunk notes that a part of a stream came, and tells whether it may be taken. One that was not asked
// for may, as long as such ones are of use: an honest peer sends none, and to look at one costs
// more than to send it.
func (l *recordLeecher) chunk(p *peer, session uint32, done bool, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[p]
	switch {
	case a == nil:
		return false
	case a.owed > 0:
		a.owed--
	case a.idle >= 2*l.limits.StreamAhead:
		return false
	default:
		a.idle++
	}
	if p == l.from && session == l.session {
		if l.received = now; done {
			l.stop(now)
		}
	}
	return true
}

// noteWorked notes that a part of a stream is worked through, of which so much was taken.
func (l *recordLeecher) noteWorked(p *peer, session uint32, took int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[p]; a != nil && took > 0 {
		a.idle = 0
	}
	if session != l.session || p != l.from && p != l.judged {
		return
	}
	l.finished++
	l.took += took
}
