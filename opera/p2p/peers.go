package p2p

import (
	"sync"

	"github.com/ethereum/go-ethereum/p2p/enode"

	"tarn/opera/inter"
)

// peers are those that shook hands and have not gone. Any goroutine may call its methods.
type peers struct {
	mu   sync.Mutex
	byID map[enode.ID]*peer
}

// add makes a peer one of them, if there is none of its id.
func (l *peers) add(p *peer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID[p.id] != nil {
		return false
	}
	l.byID[p.id] = p
	return true
}

func (l *peers) remove(p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, p.id)
}

func (l *peers) list() []*peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*peer, 0, len(l.byID))
	for _, p := range l.byID {
		list = append(list, p)
	}
	return list
}

func (l *peers) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byID)
}

// useless is how many of them are.
func (l *peers) useless() (count int) {
	for _, p := range l.list() {
		if p.useless {
			count++
		}
	}
	return count
}

// latestEpoch is the latest that one of them says it is in.
func (l *peers) latestEpoch() (e inter.Epoch) {
	for _, p := range l.list() {
		e = max(e, p.latestProgress().Epoch)
	}
	return e
}

// farthest is how far the peer is that says that it is the farthest, or this node if it is
// farther.
func (l *peers) farthest(own Progress) Progress {
	most := own
	for _, p := range l.list() {
		if at := p.latestProgress(); at.Block > most.Block {
			most = at
		}
	}
	return most
}
