package p2p

import (
	"math/rand/v2"
	"time"
)

// asker is who is asked for streams of one kind, one peer at a time: somebody else when nothing
// comes, and those last whose streams brought nothing. Its owner guards it.
type asker struct {
	limits *Limits
	peers  map[*peer]int // how many streams of theirs brought nothing, since one that did
	try    uint32        // streams since the last one that led on
	ended  time.Time     // when the last stream did

	// The stream that goes on.
	from     *peer // nil: none
	judged   *peer // of the one before, until it is judged
	session  uint32
	began    time.Time
	received time.Time // the last chunk
	asked    int       // chunks
	finished int       // chunks that are worked through
}

func newAsker(limits *Limits) asker { return asker{limits: limits, peers: map[*peer]int{}} }

// begin begins a stream with one of some peers.
func (a *asker) begin(from []*peer, session uint32, now time.Time) {
	a.from, a.session = from[rand.IntN(len(from))], session
	a.try++
	a.began, a.received = now, now
	a.asked, a.finished = 0, 0
}

// more is how many chunks may be asked for, and notes that they are.
func (a *asker) more() int {
	n := max(0, a.finished+a.limits.StreamAhead-a.asked)
	a.asked += n
	return n
}

// late tells whether a stream should be given up: longer each time.
func (a *asker) late(now time.Time) bool {
	patience := time.Duration(a.try + 5)
	return now.Sub(a.received) >= a.limits.ChunkWait*patience/5 || now.Sub(a.began) >= a.limits.SessionWait*patience/5
}

func (a *asker) end(now time.Time) { a.judged, a.from, a.ended = a.from, nil, now }

// forgetPeer forgets a peer.
func (a *asker) forgetPeer(p *peer, now time.Time) {
	if a.from == p {
		a.end(now)
	}
	delete(a.peers, p)
}

// judge notes whether the last stream was of use. Before the next one begins there was time to work
// through what came last. A stream that brought nothing counts even if there may have been nothing
// to bring: else somebody without a thing would be asked for ever, before one whose stream was once
// too slow.
func (a *asker) judge(useful bool) {
	if n, here := a.peers[a.judged]; here && useful {
		a.peers[a.judged] = 0
	} else if here {
		a.peers[a.judged] = n + 1
	}
	a.judged = nil
}

// best returns those whose streams brought nothing the fewest times, and how often.
func (a *asker) best(peers []*peer) (best []*peer, vain int) {
	for _, p := range peers {
		switch n := a.peers[p]; {
		case len(best) == 0 || n < vain:
			best, vain = []*peer{p}, n
		case n == vain:
			best = append(best, p)
		}
	}
	return best, vain
}
