package p2p

import (
	"encoding/binary"
	"math/rand/v2"
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
	limits *Limits
	has    func(inter.EventID) bool // connected
	busy   func(*peer) bool         // nothing more should be asked of a peer
	ask    func(*peer, *request[[]byte])

	mu     sync.Mutex
	peers  map[*peer]int // how many streams of theirs brought nothing, since one that did
	epoch  inter.Epoch
	empty  bool // no event of the epoch was connected before its first stream
	try    uint32
	forced bool // somebody is far ahead
	ended  time.Time

	// The stream that goes on.
	from     *peer // nil: none
	judged   *peer // of the one before, until it is judged
	ahead    bool  // it said that it is in a later epoch, so there must be something
	kind     uint8
	session  uint32
	began    time.Time
	received time.Time       // the last chunk
	asked    int             // chunks
	open     []inter.EventID // last events of chunks that came and are not connected
	finished int             // chunks that are
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

func (l *leecher) gone(p *peer, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from == p {
		l.end(now)
	}
	delete(l.peers, p)
}

// force has the next stream begin even if no peer is in a later epoch.
func (l *leecher) force() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forced = true
}

func (l *leecher) end(now time.Time) { l.judged, l.from, l.ended = l.from, nil, now }

// judge notes what the last stream was worth. Before the next one begins there was time to
// connect what came last.
func (l *leecher) judge() {
	l.sweep()
	if vain, here := l.peers[l.judged]; here && l.finished > 0 {
		l.peers[l.judged] = 0
	} else if here && l.ahead {
		l.peers[l.judged] = vain + 1
	}
	l.judged = nil
}

// tick begins, goes on with, and ends streams. It is called often.
func (l *leecher) tick(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from != nil {
		patience := time.Duration(l.try + 5)
		if now.Sub(l.received) >= l.limits.ChunkWait*patience/5 || now.Sub(l.began) >= l.limits.SessionWait*patience/5 {
			l.end(now)
		}
	}
	if l.from == nil {
		l.begin(now)
	}
	l.goOn()
}

// begin begins a stream, if there is somebody to ask.
func (l *leecher) begin(now time.Time) {
	var ahead, beside []*peer
	for p := range l.peers {
		switch e := p.progressed().Epoch; {
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
	l.judge()
	ahead, vain := l.best(ahead)
	if len(beside) > 0 && (len(ahead) == 0 || l.try%5 == 4 || vain > 0 && l.try%2 == 1) {
		ahead, _ = l.best(beside)
	}
	if len(ahead) == 0 {
		return
	}
	l.from, l.kind = ahead[rand.IntN(len(ahead))], typeIDs
	l.ahead = l.from.progressed().Epoch > l.epoch
	if l.empty && l.try == 0 {
		l.kind = typeEvents
	}
	l.session = uint32(l.epoch)<<12 ^ l.try
	l.try++
	l.began, l.received, l.forced = now, now, false
	l.asked, l.open, l.finished = 0, nil, 0
}

// best returns those whose streams brought nothing the fewest times, and how often.
func (l *leecher) best(peers []*peer) (best []*peer, vain int) {
	for _, p := range peers {
		switch n := l.peers[p]; {
		case len(best) == 0 || n < vain:
			best, vain = []*peer{p}, n
		case n == vain:
			best = append(best, p)
		}
	}
	return best, vain
}

// sweep counts the chunks that are connected.
func (l *leecher) sweep() {
	kept := l.open[:0]
	for _, id := range l.open {
		if l.has(id) {
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
	more := l.finished + l.limits.StreamAhead - l.asked
	if more <= 0 {
		return
	}
	l.asked += more
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
