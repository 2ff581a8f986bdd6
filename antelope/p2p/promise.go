package p2p

import (
	"sync"
	"time"

	"tarn/antelope/types"
)

// promise is up to which block a peer has said that it sends blocks.
type promise struct {
	limits *Limits

	mu    sync.Mutex
	head  types.Checksum256 // zero for nothing
	num   uint32
	since time.Time // it was given then, or some of it was sent
}

func (p *promise) set(head types.Checksum256, num uint32) {
	p.mu.Lock()
	p.head, p.num, p.since = head, num, time.Now()
	p.mu.Unlock()
}

// keep notes that the peer has sent a block that is good, and news.
func (p *promise) keep() {
	p.mu.Lock()
	p.since = time.Now()
	p.mu.Unlock()
}

// dueLocked tells whether the peer is to be expected to send blocks.
func (p *promise) dueLocked(now time.Time) bool {
	return !p.head.IsZero() && now.Sub(p.since) <= p.limits.Response
}

// covers tells whether a block is among those that are to be expected.
func (p *promise) covers(num uint32, id types.Checksum256, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dueLocked(now) && (p.num > num || p.head == id)
}

// open notes a block that has come, from whomever, and tells whether there are still blocks
// to be expected. The promise ends with its head, or with a later block.
func (p *promise) open(num uint32, id types.Checksum256, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dueLocked(now) {
		return false
	}
	if p.num < num || p.head == id {
		p.head, p.num = types.Checksum256{}, 0
		return false
	}
	return true
}
